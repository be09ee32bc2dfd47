/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/ticks.h - a clock that costs as little as the machine allows, for single round trips. */
#ifndef TOOLS_TICKS_H
#define TOOLS_TICKS_H

#include <stdint.h>

/* ticks_start - chooses the clock and measures its speed: 10 ms the first time, then nothing. */
void ticks_start(void);
uint64_t ticks_now(void);
double ticks_to_us(uint64_t ticks);

#endif
