/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c - which NICs this machine has: mlx5 devices in sysfs, then software NICs.
 *
 * A device counts if its driver speaks mlx5's verbs ABI version 1 and its modalias names the
 * vendor; what other adapters the machine has is no business of ours.
 */
#include "lib/lib.h"

#include <stdio.h>
#include <string.h>

#define VERBS_FOLDER "class/infiniband_verbs"
#define MODALIAS_MELLANOX "pci:v000015B3"

int lib_sysfs_line(const struct lib_os *os, const char *path, char *line, size_t size)
{
	ssize_t got = os->sysfs_read(os->ctx, path, line, size - 1);

	if (got < 0)
		return (int)got;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return 0;
}

static int line_of(const struct lib_os *os, const char *folder, const char *name, const char *file,
		   char *line, size_t size)
{
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file) >= sizeof(path))
		return -ENAMETOOLONG;
	return lib_sysfs_line(os, path, line, size);
}

/* mlx5_at - whether the verbs file called uverbs is an mlx5 device; then its name. */
static bool mlx5_at(const struct lib_os *os, const char *uverbs, char ibdev[static RIG_NAME_MAX])
{
	char line[128];

	if (line_of(os, VERBS_FOLDER, uverbs, "abi_version", line, sizeof(line)) ||
	    strcmp(line, "1") != 0)
		return false;
	if (line_of(os, VERBS_FOLDER, uverbs, "ibdev", line, sizeof(line)) ||
	    strlen(line) >= RIG_NAME_MAX)
		return false;
	snprintf(ibdev, RIG_NAME_MAX, "%.*s", RIG_NAME_MAX - 1, line);
	if (line_of(os, "class/infiniband", ibdev, "device/modalias", line, sizeof(line)))
		return false;
	return strncmp(line, MODALIAS_MELLANOX, strlen(MODALIAS_MELLANOX)) == 0;
}

/* hardware_at - the next mlx5 device at or after entry *index of sysfs, which then is behind it. */
static bool hardware_at(const struct lib_os *os, unsigned int *index,
			char ibdev[static RIG_NAME_MAX], char uverbs[static RIG_NAME_MAX])
{
	while (os->sysfs_list(os->ctx, VERBS_FOLDER, (*index)++, uverbs, RIG_NAME_MAX) == 0)
		if (mlx5_at(os, uverbs, ibdev))
			return true;
	return false;
}

int lib_hardware_find(const struct lib_os *os, const char *name, char ibdev[static RIG_NAME_MAX],
		      char uverbs[static RIG_NAME_MAX])
{
	unsigned int index = 0;

	while (hardware_at(os, &index, ibdev, uverbs))
		if (!name || strcmp(name, ibdev) == 0)
			return 0;
	return -ENODEV;
}

int rig_names(char (*names)[RIG_NAME_MAX], int max)
{
	const struct lib_os *os = lib_os_linux();
	char name[RIG_NAME_MAX], uverbs[RIG_NAME_MAX];
	unsigned int index = 0;
	int count = 0;

	if (max < 0 || (max > 0 && !names))
		return lib_fail(EINVAL, "rig_names: room for %d names at %p", max, (void *)names);
	while (hardware_at(os, &index, name, uverbs)) {
		if (count < max)
			memcpy(names[count], name, sizeof(name));
		count++;
	}
	for (index = 0; lib_os_soft_name(index, name, sizeof(name)) == 0; index++) {
		if (count < max)
			memcpy(names[count], name, sizeof(name));
		count++;
	}
	return count;
}
