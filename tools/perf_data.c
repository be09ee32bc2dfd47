/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_data.c - test data and statistics of `rig5 perf`. */
#include <stdlib.h>

#include "tools/perf_data.h"

/* Two messages in a row differ in every byte, and so do two places 1, 256 or 65,536 apart. */
static uint8_t byte_at(size_t place, uint32_t index)
{
	return (uint8_t)(place * 7 + (place >> 8) * 13 + (place >> 16) * 29 + index * 101 + 3);
}

void perf_fill(uint8_t *data, size_t len_bytes, uint32_t index)
{
	for (size_t i = 0; i + 1 < len_bytes; i++)
		data[i] = byte_at(i, index);
	if (len_bytes)
		data[len_bytes - 1] = perf_mark(index);
}

size_t perf_wrong_bytes(const uint8_t *data, size_t len_bytes, uint32_t index)
{
	size_t wrong = 0;

	for (size_t i = 0; i + 1 < len_bytes; i++)
		wrong += data[i] != byte_at(i, index);
	if (len_bytes)
		wrong += data[len_bytes - 1] != perf_mark(index);
	return wrong;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct perf_stats perf_stats(uint64_t *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), compare);
	return (struct perf_stats){
	    .min = samples[0],
	    .median = samples[count / 2],
	    /* The smallest sample that at least 99 % are not above. */
	    .p99 = samples[(count * 99 + 99) / 100 - 1],
	};
}
