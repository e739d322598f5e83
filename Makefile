# octap: octap-proxy and octap.
#
#	make [V=1] [DEBUG=1] [SANITIZE=address,undefined] [CC=clang]
#
# `make help` lists the targets.  Everything built goes below build/.

PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
CFLAGS     ?= $(if $(STATIC),-O3 -flto=auto,-O2)

# The agent that demo and check run, from npm.
OPENCODE_VERSION := 1.18.33

SHARED_SRC     := $(wildcard shared/*.c)
PROXY_SRC      := $(wildcard proxy/*.c)
CONTROLLER_SRC := $(wildcard controller/*.c controller/*/*.c)
UNIT_SRC       := $(wildcard tests/unit/test_*.c)
FUZZ_SRC       := $(wildcard tests/fuzz/fuzz_*.c)
FAKE_SRC       := $(wildcard tests/fake/*.c)
BENCH_SRC      := $(wildcard tests/bench/*.c)

LIBS := libevent libcurl libcjson libzstd

# pkg-config is asked once, and only when something is compiled.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell $(PKG_CONFIG) --cflags $(LIBS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell $(PKG_CONFIG) --libs $(LIBS)))$(PKG_LIBS)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wformat=2 \
	-Wconversion -Wno-sign-conversion -Wstrict-prototypes \
	-Wmissing-prototypes -Wold-style-definition -Wpointer-arith \
	-Wwrite-strings -Wcast-qual -fno-common
HARDENING := -fstack-protector-strong -fPIE \
	$(if $(SANITIZE)$(DEBUG),,-D_FORTIFY_SOURCE=2)

# The static program: nothing is shared, what is not used is left out, and its
# bytes depend on the sources only.  The names it looks up need no modules of
# libc's (proxy/main.c), so ld's warnings of those say nothing.
STATIC_LIBS    := build/static/libs
STATIC_CFLAGS  := -DOCTAP_STATIC -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables
STATIC_LDFLAGS := -static-pie -s -Wl,--gc-sections -Wl,--build-id=none \
	-Wl,-z,pack-relative-relocs -Wl,--no-warnings -L$(STATIC_LIBS)/lib

ifdef STATIC
PKG_CFLAGS := -I$(STATIC_LIBS)/include $(STATIC_CFLAGS)
PKG_LIBS   := -lcurl -lssl -lcrypto -levent_extra -levent_core -lzstd
endif

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -include shared/banned.h \
	$(WARNINGS) $(HARDENING) \
	$(if $(DEBUG),-g3 -Og) \
	$(if $(SANITIZE),-g -fsanitize=$(SANITIZE) \
		-fno-sanitize-recover=all -fno-omit-frame-pointer) \
	$(if $(CI),-Werror) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(if $(STATIC),$(STATIC_LDFLAGS),-pie) \
	-Wl,-z,relro,-z,now -Wl,--as-needed \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)
ALL_LIBS    = $(PKG_LIBS) -pthread -lm $(LDLIBS)

# One tree of objects per flavour, so that a sanitizer build never mixes.
comma := ,
FLAVOUR := $(or $(subst $(comma),-,$(SANITIZE)),$(if $(STATIC),static),\
	$(if $(DEBUG),debug,release))
OUT   := build/$(FLAVOUR)
obj    = $(patsubst %.c,$(OUT)/%.o,$(1))

# What the tests link of the programs: everything but their mains.
TESTED_OBJ := $(call obj,$(filter-out %/main.c,$(SHARED_SRC) $(PROXY_SRC) \
	$(CONTROLLER_SRC)))

ifneq ($(V),1)
Q = @
say = @printf '  %-7s %s\n' $(1) $(2)
endif

.PHONY: all
all: $(OUT)/bin/octap-proxy $(OUT)/bin/octap ## Build both programs

$(OUT)/bin/octap-proxy: $(call obj,$(PROXY_SRC) $(SHARED_SRC))
$(OUT)/bin/octap: $(call obj,$(CONTROLLER_SRC) $(SHARED_SRC))
$(OUT)/bin/octap-proxy $(OUT)/bin/octap:
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(ALL_LIBS)

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The demo and the tests install what they need first.
DEPS := OPENCODE_VERSION=$(OPENCODE_VERSION) tests/tools/deps.sh

.PHONY: static
static: ## Build build/static/bin/octap-proxy, which needs no library
	$(Q)$(DEPS) build static
	$(Q)CC='$(CC)' proxy/static_libs.sh $(STATIC_LIBS)
	$(Q)$(MAKE) -s -j$$(nproc) STATIC=1 build/static/bin/octap-proxy

build/static/bin/octap-proxy: $(wildcard $(STATIC_LIBS)/recipe)

.PHONY: demo
demo: ## One rollout with the real opencode [ARGS="--base-url ... --model ..."]
	$(Q)$(DEPS) build run agent
	$(Q)$(MAKE) -s -j$$(nproc) all
	$(Q)BIN=$(OUT)/bin templates/demo/run.sh $(ARGS)

# Test programs: objects of the programs without their mains, and cmocka.
UNIT_BIN := $(patsubst tests/unit/%.c,$(OUT)/tests/unit/%,$(UNIT_SRC))
FAKE_BIN := $(addprefix $(OUT)/tests/fake/,upstream agent intruder)
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(OUT)/tests/fuzz/%,$(FUZZ_SRC))
BENCH_BIN := $(patsubst tests/bench/%.c,$(OUT)/tests/bench/%,$(BENCH_SRC))

LINK = $(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -o $@ \
	$(filter %.o,$^) $(1) $(ALL_LIBS)

$(UNIT_BIN): $(OUT)/tests/unit/%: $(OUT)/tests/unit/%.o \
		$(call obj,$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c))) \
		$(TESTED_OBJ)
	$(call say,LD,$@)
	$(call LINK,-lcmocka)

$(OUT)/tests/fake/upstream: $(call obj,$(wildcard tests/fake/upstream*.c) \
		$(SHARED_SRC))
	$(call say,LD,$@)
	$(call LINK)

$(OUT)/tests/fake/agent: $(call obj,$(wildcard tests/fake/agent*.c) \
		$(SHARED_SRC))
	$(call say,LD,$@)
	$(call LINK)

$(OUT)/tests/fake/intruder: $(call obj,tests/fake/intruder.c)
	$(call say,LD,$@)
	$(call LINK)

$(FUZZ_BIN): $(OUT)/tests/fuzz/%: $(OUT)/tests/fuzz/%.o \
		$(call obj,tests/fuzz/replay.c tests/unit/undo.c) $(TESTED_OBJ)
	$(call say,LD,$@)
	$(call LINK)

$(BENCH_BIN): $(OUT)/tests/bench/%: $(OUT)/tests/bench/%.o $(TESTED_OBJ)
	$(call say,LD,$@)
	$(call LINK)

.PHONY: tests
tests: $(UNIT_BIN) $(FAKE_BIN) $(FUZZ_BIN) ## Build the test programs

.PHONY: check
check: ## Install what is missing, build, run all tests (the CI's target)
	$(Q)$(DEPS) build run check agent
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all tests
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all tests \
		SANITIZE=address,undefined
	$(Q)$(MAKE) --no-print-directory static
	$(Q)tests/tools/check.sh

.PHONY: check-unit
check-unit: $(UNIT_BIN) ## Run the unit tests of this flavour
	$(Q)tests/tools/run.sh $(UNIT_BIN)

ECOSYSTEM_TESTS := $(filter-out %/prepare_llamacpp.sh,\
	$(wildcard tests/ecosystem/*.sh))

.PHONY: check-ecosystem
check-ecosystem: ## Tests with real servers and clients, built first (minutes)
	$(Q)$(DEPS) build run check ecosystem
	$(Q)$(MAKE) -s -j$$(nproc) all
	$(Q)tests/ecosystem/prepare_llamacpp.sh
	$(Q)tests/tools/run.sh -t 300 $(ECOSYSTEM_TESTS)

.PHONY: check-headers
check-headers: ## Compile every header on its own
	$(Q)for h in $$(find shared proxy controller tests -name '*.h'); do \
		$(CC) $(ALL_CFLAGS) -fsyntax-only -x c $$h || exit 1; done

.PHONY: bench
bench: ## Measure octap-proxy against nginx, and what octap adds
	$(Q)$(DEPS) build run bench check agent
	$(Q)$(MAKE) --no-print-directory all $(BENCH_BIN) static
	$(Q)OUT=$(OUT) tests/bench/load.sh
	$(Q)$(OUT)/tests/bench/bench_start $(OUT)/bin/octap-proxy
	$(Q)$(OUT)/tests/bench/bench_start build/static/bin/octap-proxy
	$(Q)OCTAP=$(OUT)/bin/octap tests/bench/rollout.sh

# Fuzzing: clang's libFuzzer, each target for FUZZ_SECONDS.
FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: ## Fuzz each target [FUZZ_SECONDS=60]
	$(Q)$(DEPS) build fuzz
	$(Q)$(MAKE) --no-print-directory CC=clang fuzz-programs \
		SANITIZE=fuzzer-no-link,address,undefined
	$(Q)tests/tools/fuzz.sh $(FUZZ_SECONDS)

.PHONY: fuzz-programs
fuzz-programs: $(patsubst tests/fuzz/%.c,$(OUT)/tests/libfuzzer/%,$(FUZZ_SRC))

$(OUT)/tests/libfuzzer/%: $(OUT)/tests/fuzz/%.o $(call obj,tests/unit/undo.c) \
		$(TESTED_OBJ)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ \
		$^ $(ALL_LIBS)

.PHONY: install
install: all ## Install both programs and their manual pages [PREFIX=, DESTDIR=]
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install $(OUT)/bin/octap $(OUT)/bin/octap-proxy $(DESTDIR)$(PREFIX)/bin
	install -m 644 controller/octap.1 proxy/octap-proxy.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1

.PHONY: uninstall
uninstall: ## Remove what install installed
	rm -f $(DESTDIR)$(PREFIX)/bin/octap $(DESTDIR)$(PREFIX)/bin/octap-proxy \
		$(DESTDIR)$(PREFIX)/share/man/man1/octap.1 \
		$(DESTDIR)$(PREFIX)/share/man/man1/octap-proxy.1

.PHONY: format
format: ## Format all C sources
	clang-format -i $$(git ls-files '*.c' '*.h')

.PHONY: format-check
format-check: ## Is every C source formatted?
	clang-format --dry-run -Werror $$(git ls-files '*.c' '*.h')

.PHONY: lint
lint: ## clang-tidy and shellcheck
	$(Q)$(DEPS) build lint
	clang-tidy --quiet $$(git ls-files 'shared/*.c' 'proxy/*.c' \
		'controller/*.c') -- $(filter-out -fno-common,$(ALL_CFLAGS))
	shellcheck $$(git ls-files '*.sh')

.PHONY: help
help: ## Show this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-18s %s\n", $$1, $$2}' \
		$(MAKEFILE_LIST)

.PHONY: clean
clean: ## Remove everything built
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
