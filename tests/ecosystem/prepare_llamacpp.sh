#!/usr/bin/env bash
#
# Build what the llama.cpp tests need: tests/ecosystem/prepare_llamacpp.sh
#
#	build/ecosystem/llama/tree	llama.cpp's sources
#	build/ecosystem/llama/build	and its server, bin/llama-server
#	build/ecosystem/llama/*.*	the model and its vocabulary
#	build/ecosystem/venv		numpy, and what llama.cpp's gguf-py needs
#
# The sources come from PyPI, within those of llama-cpp-python.  What is there
# already is left alone, so a second run takes no time.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/../.."
version=0.3.36 # llama.cpp 0c1e57098
checksum=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
sources=llama_cpp_python-$version
requirements=tests/ecosystem/requirements.txt
model=tests/ecosystem/tiny_model.py

mkdir -p build/ecosystem
dir=$PWD/build/ecosystem
recipe=$(sha256sum "$0" "$requirements" "$model" | cut -d ' ' -f 1)
[[ $(cat "$dir/recipe" 2>/dev/null) != "$recipe" ]] || exit 0

echo 'Building llama-server, which takes minutes'
rm -rf "$dir/venv" "$dir/recipe"
python3 -m venv "$dir/venv"
pip=("$dir/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install -r "$requirements"

if [[ $(cat "$dir/llama/version" 2>/dev/null) != "$version" ]]; then
	rm -rf "$dir/llama"
	mkdir "$dir/llama"
	"${pip[@]}" download --no-deps --no-binary llama-cpp-python \
		-d "$dir/llama" "llama-cpp-python==$version"
	echo "$checksum $dir/llama/$sources.tar.gz" | sha256sum --quiet -c
	tar -xzf "$dir/llama/$sources.tar.gz" -C "$dir/llama" \
		"$sources/vendor/llama.cpp"
	mv "$dir/llama/$sources/vendor/llama.cpp" "$dir/llama/tree"
	rm -r "$dir/llama/$sources" "$dir/llama/$sources.tar.gz"
	echo "$version" >"$dir/llama/version"
fi

# The model is tiny: what counts is how long the compiler takes, not the code.
build()
{
	cmake -S "$dir/llama/tree" -B "$dir/llama/build" \
		-DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 \
		-DCMAKE_CXX_FLAGS=-O0 -DBUILD_SHARED_LIBS=OFF \
		-DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF \
		-DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF \
		-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
		-DLLAMA_BUILD_NUMBER=10000 -DLLAMA_BUILD_COMMIT=0c1e57098
	make -C "$dir/llama/build" -j"$(nproc)" llama-server
}

trap 'tail -n 20 "$dir/llama/log" >&2' ERR
build >"$dir/llama/log" 2>&1
PYTHONPATH=$dir/llama/tree/gguf-py "$dir/venv/bin/python" "$model" \
	"$dir/llama/tree" "$dir/llama/model.gguf" "$dir/llama/vocabulary.json"
printf '%s' "$recipe" >"$dir/recipe"
