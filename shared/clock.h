#ifndef SHARED_CLOCK_H
#define SHARED_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Time that only goes forward, from an arbitrary start. */
uint64_t clock_monotonic_us(void);
uint64_t clock_monotonic_ms(void);

/* Microseconds since the epoch, UTC. */
uint64_t clock_wall_us(void);

/* "2026-11-21T10:46:03Z" */
#define CLOCK_UTC_SIZE 21
void clock_format_utc(uint64_t wall_us, char text[CLOCK_UTC_SIZE]);

#endif
