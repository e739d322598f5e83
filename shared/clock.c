/* The two clocks. */
#include "shared/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
	return clock_monotonic_us() / 1000;
}

uint64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

void clock_format_utc(uint64_t wall_us, char text[CLOCK_UTC_SIZE])
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	/* A year above 9999 does not fit. */
	if (!strftime(text, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts))
		text[0] = '\0';
}
