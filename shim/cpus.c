/* SPDX-License-Identifier: BSD-2-Clause */
/* cpus.c - reads the system's own lists of processors. */
#include "shim/cpus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_line(const char *path, char line[static SHIM_CPUS_BYTES])
{
	FILE *file = fopen(path, "re");
	bool good = file && fgets(line, SHIM_CPUS_BYTES, file);

	if (file)
		fclose(file);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

/* "3" or "0-3" at the start of *at; *at is then behind it and a comma. */
static bool range_take(const char **at, unsigned long *first, unsigned long *last)
{
	char *end;

	*first = *last = strtoul(*at, &end, 10);
	if (end == *at)
		return false;
	if (*end == '-') {
		*at = end + 1;
		*last = strtoul(*at, &end, 10);
		if (end == *at)
			return false;
	}
	if (*end != '\0' && *end != ',')
		return false;
	*at = *end ? end + 1 : end;
	return *first <= *last && *last < SHIM_CPUS_MAX;
}

int shim_cpus_mask(const char *list, char mask[static SHIM_CPUS_BYTES])
{
	uint32_t words[SHIM_CPUS_MAX / 32] = {0};
	unsigned long first, last, highest = 0;
	size_t len = 0;

	while (*list) {
		if (!range_take(&list, &first, &last))
			return -EINVAL;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			words[cpu / 32] |= UINT32_C(1) << cpu % 32;
		highest = last > highest ? last : highest;
	}
	for (size_t i = highest / 32 + 1; i-- > 0;)
		len +=
		    (size_t)snprintf(mask + len, SHIM_CPUS_BYTES - len,
				     i == highest / 32 ? "%x%s" : "%08x%s", words[i], i ? "," : "");
	return 0;
}

int shim_cpus_near(int numa_node, struct shim_cpus *cpus)
{
	char path[64];

	if (numa_node < 0)
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/online");
	else
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", numa_node);
	if (!read_line(path, cpus->list))
		return -ENODEV;
	return shim_cpus_mask(cpus->list, cpus->mask);
}
