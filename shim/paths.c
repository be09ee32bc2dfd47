/* SPDX-License-Identifier: BSD-2-Clause */
/* paths.c - compares paths, and reads what `rig5 run` left in the tree. */
#include "shim/paths.h"

#include "kern/kern.h"
#include "shim/real.h"
#include "shim/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	atomic_int state; /* 0: not looked, 1: inactive, 2: active */
	char tree[PATH_MAX];
	char sysfs[PATH_MAX]; /* what SYSFS_PATH says; "": nothing else than /sys */
} run;

/* What is in the tree; read when a path of ours is first used. */
static struct {
	atomic_int state; /* 0: not read, 1: being read, 2: here, 3: not to be had */
	struct shim_nics nics;
	dev_t device[SHIM_NIC_MAX];
	ino_t inode[SHIM_NIC_MAX];
} known;

/* ---- the environment ---------------------------------------------------------------------------
 */

static void copy_path(char to[static PATH_MAX], const char *from)
{
	size_t len = from ? strlen(from) : 0;

	while (len > 1 && from[len - 1] == '/')
		len--;
	if (len >= PATH_MAX)
		len = 0;
	memcpy(to, from ? from : "", len);
	to[len] = '\0';
}

void shim_paths_init(void)
{
	const char *tree = getenv(SHIM_RUN_ENV);
	int fresh = 0;

	if (atomic_load(&run.state) != 0)
		return;
	copy_path(run.tree, tree && tree[0] == '/' ? tree : NULL);
	copy_path(run.sysfs, getenv("SYSFS_PATH"));
	if (strcmp(run.sysfs, "/sys") == 0)
		run.sysfs[0] = '\0';
	atomic_compare_exchange_strong(&run.state, &fresh, run.tree[0] ? 2 : 1);
}

bool shim_active(void)
{
	int state = atomic_load_explicit(&run.state, memory_order_acquire);

	if (state == 0) {
		shim_paths_init();
		state = atomic_load(&run.state);
	}
	return state == 2;
}

const char *shim_tree_path(void)
{
	return run.tree;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

/* What of path is behind prefix ("" or "/..."), a run of slashes counting as one; NULL if it does
 * not start with it. */
static const char *behind(const char *path, const char *prefix)
{
	while (*prefix) {
		if (*path != *prefix)
			return NULL;
		if (*path == '/')
			while (path[1] == '/')
				path++;
		path++;
		prefix++;
	}
	return *path == '\0' || *path == '/' ? path : NULL;
}

/* Whether the part of path after its slashes starts with word. */
static bool part_starts(const char *path, const char *word)
{
	if (*path != '/')
		return false;
	while (*path == '/')
		path++;
	return strncmp(path, word, strlen(word)) == 0;
}

static bool ours_below_sys(const char *path)
{
	const char *rest;

	if ((rest = behind(path, "/class")))
		return part_starts(rest, "infiniband");
	if ((rest = behind(path, "/devices")))
		return part_starts(rest, "pci" SHIM_PCI_DOMAIN ":");
	if ((rest = behind(path, "/bus/pci/devices")))
		return part_starts(rest, SHIM_PCI_DOMAIN ":");
	return false;
}

static const char *put(char buf[static PATH_MAX], const char *below, const char *rest,
		       const char *path)
{
	int len = snprintf(buf, PATH_MAX, "%s%s%s", run.tree, below, rest);

	return len < PATH_MAX ? buf : path;
}

const char *shim_path(const char *path, char buf[static PATH_MAX])
{
	const char *rest;

	if (!shim_active() || !path || path[0] != '/')
		return path;
	if ((rest = behind(path, "/sys")) && ours_below_sys(rest))
		return put(buf, "/sys", rest, path);
	if ((rest = behind(path, "/dev/infiniband")))
		return put(buf, "/dev/infiniband", rest, path);
	if (run.sysfs[0] && (rest = behind(path, run.sysfs)) && ours_below_sys(rest))
		return put(buf, "/sys", rest, path);
	return path;
}

void shim_path_back(char *path)
{
	const char *rest = shim_active() ? behind(path, run.tree) : NULL;
	const char *below = rest ? behind(rest, "/sys") : NULL;

	if (below && run.sysfs[0] && strlen(run.sysfs) <= strlen(run.tree)) {
		memmove(path + strlen(run.sysfs), below, strlen(below) + 1);
		memcpy(path, run.sysfs, strlen(run.sysfs));
	} else if (rest) {
		memmove(path, rest, strlen(rest) + 1);
	}
}

/* ---- the tree ----------------------------------------------------------------------------------
 */

int shim_nics_parse(const char *text, struct shim_nics *nics)
{
	char words[SHIM_NICS_BYTES], why[8];
	char *end;
	unsigned long first = strtoul(text, &end, 10);

	if (*end != ' ' || first > 255)
		return -EINVAL;
	snprintf(words, sizeof(words), "%.*s", (int)strcspn(end + 1, "\n"), end + 1);
	nics->uverbs_first = (unsigned int)first;
	if (soft_config_parse(words, &nics->config, why, sizeof(why)))
		return -EINVAL;
	return nics->config.count <= SHIM_NIC_MAX ? 0 : -EINVAL;
}

static bool read_nics(void)
{
	char path[PATH_MAX], text[SHIM_NICS_BYTES];
	ssize_t got;
	int fd;

	if (snprintf(path, sizeof(path), "%s/nics", run.tree) >= PATH_MAX)
		return false;
	fd = shim_real()->open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	shim_real()->close(fd);
	if (got <= 0)
		return false;
	text[got] = '\0';
	return shim_nics_parse(text, &known.nics) == 0;
}

static bool read_nodes(void)
{
	char path[PATH_MAX];
	struct stat stat;

	for (unsigned int i = 0; i < known.nics.config.count; i++) {
		if (snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs%u", run.tree,
			     known.nics.uverbs_first + i) >= PATH_MAX ||
		    shim_real()->stat(path, &stat) < 0)
			return false;
		known.device[i] = stat.st_dev;
		known.inode[i] = stat.st_ino;
	}
	return true;
}

/* Whoever finds another thread reading waits: it is two small files. */
static bool tree_read(void)
{
	int fresh = 0;

	if (atomic_compare_exchange_strong(&known.state, &fresh, 1))
		atomic_store(&known.state, read_nics() && read_nodes() ? 2 : 3);
	while (atomic_load(&known.state) == 1)
		sched_yield();
	return atomic_load(&known.state) == 2;
}

const struct shim_nics *shim_nics(void)
{
	return shim_active() && tree_read() ? &known.nics : NULL;
}

int shim_path_device(const char *path)
{
	const struct shim_nics *nics;
	unsigned int base = 0;
	const char *rest;
	char *end;
	unsigned long number;

	if (!shim_active() || !path || path[0] != '/')
		return -1;
	if ((rest = behind(path, "/dev/infiniband")) && part_starts(rest, "uverbs")) {
		rest = strstr(rest, "uverbs") + strlen("uverbs");
	} else if ((rest = behind(path, "/dev/char")) && part_starts(rest, "231:")) {
		rest = strstr(rest, "231:") + strlen("231:");
		base = KERN_UVERBS_MINOR;
	} else {
		return -1;
	}
	number = strtoul(rest, &end, 10);
	nics = shim_nics();
	if (end == rest || *end != '\0' || !nics || number < base + nics->uverbs_first ||
	    number - base - nics->uverbs_first >= nics->config.count)
		return -1;
	return (int)(number - base - nics->uverbs_first);
}

int shim_node_find(dev_t device, ino_t inode)
{
	if (!shim_nics())
		return -1;
	for (unsigned int i = 0; i < known.nics.config.count; i++)
		if (known.device[i] == device && known.inode[i] == inode)
			return (int)i;
	return -1;
}
