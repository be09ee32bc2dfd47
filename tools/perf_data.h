/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_data.h - the bytes that `rig5 perf --check` sends, and statistics. Pure. */
#ifndef TOOLS_PERF_DATA_H
#define TOOLS_PERF_DATA_H

#include <stddef.h>
#include <stdint.h>

/* The last byte of message `index`, never 0: an end that polls memory sees it change. */
static inline uint8_t perf_mark(uint32_t index)
{
	return (uint8_t)(index % 255 + 1);
}

/* perf_fill - the bytes of message `index`, each of which depends on the index and its place. */
void perf_fill(uint8_t *data, size_t len_bytes, uint32_t index);
/* perf_wrong_bytes - how many of them differ. */
size_t perf_wrong_bytes(const uint8_t *data, size_t len_bytes, uint32_t index);

struct perf_stats {
	uint64_t min, median, p99;
};

/* perf_stats - of count samples, at least 1, which are sorted. */
struct perf_stats perf_stats(uint64_t *samples, size_t count);

#endif
