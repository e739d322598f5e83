/* Ids from the clock and the kernel's random numbers. */
#include "shared/id.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

#include "shared/clock.h"

#define TIME_BYTES   6
#define RANDOM_BYTES 16

bool random_bytes(void *bytes, size_t len, struct error *err)
{
	char *at = bytes;

	while (len) {
		ssize_t got = getrandom(at, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set_errno(err, errno, "random numbers");
		at += got;
		len -= (size_t)got;
	}
	return true;
}

bool id_new(char id[ID_SIZE], struct error *err)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned char bytes[TIME_BYTES + RANDOM_BYTES];
	uint64_t ms = clock_wall_us() / 1000;
	uint32_t bits = 0;
	unsigned have = 0;
	size_t len = 0;

	for (size_t i = 0; i < TIME_BYTES; i++)
		bytes[i] = (unsigned char)(ms >> (8 * (TIME_BYTES - 1 - i)));
	if (!random_bytes(bytes + TIME_BYTES, RANDOM_BYTES, err))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bits = bits << 8 | bytes[i];
		for (have += 8; have >= 5; have -= 5)
			id[len++] = digits[bits >> (have - 5) & 31];
	}
	id[len++] = digits[bits << (5 - have) & 31];
	id[len] = '\0';
	return true;
}
