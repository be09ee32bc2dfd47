/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.c - asks the port's processes, and writes a file of the tree anew. */
#include "shim/counters.h"

#include "host/stats_ask.h"
#include "shim/paths.h"
#include "shim/real.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 1000 };

/* The place in the tree of a file of NIC nic's port; false: it is too long. */
static bool place_of(const struct soft_nic *nic, const char *folder, const char *name,
		     char place[static PATH_MAX])
{
	char path[256];
	int len = snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s/%s", nic->name,
			   folder, name);

	return len < (int)sizeof(path) && shim_path(path, place) == place;
}

/* "0000:0000:0000:0000:0000:ffff:7f00:0001" */
static bool gid_of(const struct soft_nic *nic, uint8_t gid[static 16])
{
	char place[PATH_MAX], text[64] = "";
	unsigned int part[8];
	int fd =
	    place_of(nic, "gids", "0", place) ? shim_real()->open(place, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return false;
	(void)!read(fd, text, sizeof(text) - 1);
	shim_real()->close(fd);
	if (sscanf(text, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x", &part[0], &part[1], &part[2], &part[3],
		   &part[4], &part[5], &part[6], &part[7]) != 8)
		return false;
	for (unsigned int i = 0; i < 16; i++)
		gid[i] = (uint8_t)(part[i / 2] >> (i % 2 ? 0 : 8));
	return true;
}

/* Whoever reads the old file goes on reading the old value. */
static void file_replace(const char *place, uint64_t value)
{
	char fresh[PATH_MAX], text[32];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	int fd;

	if (snprintf(fresh, sizeof(fresh), "%s/counter.XXXXXX", shim_tree_path()) >= PATH_MAX)
		return;
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, text, (size_t)len) != len || fchmod(fd, 0444) != 0 ||
	    rename(fresh, place) != 0)
		unlink(fresh);
	shim_real()->close(fd);
}

static void refresh(const struct soft_nic *nic, enum stats_counter which)
{
	const char *folder = which < STATS_HW_COUNT ? "hw_counters" : "counters";
	uint64_t total[STATS_COUNT];
	char place[PATH_MAX];
	uint8_t gid[16];

	if (place_of(nic, folder, stats_names[which], place) && gid_of(nic, gid) &&
	    host_stats_total(gid, PATIENCE_MS, total) == 0)
		file_replace(place, total[which]);
}

void shim_counters_refresh(const char *path)
{
	const char *slash = path && shim_active() ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;
	enum stats_counter which = name && shim_active() ? stats_find(name) : STATS_COUNT;
	const struct shim_nics *nics = which != STATS_COUNT ? shim_nics() : NULL;
	int error = errno;

	for (unsigned int i = 0; nics && i < nics->config.count; i++)
		refresh(&nics->config.nics[i], which);
	errno = error;
}
