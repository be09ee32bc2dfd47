/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/tree.h - the folder that stands for /sys and /dev/infiniband in a run, and its life.
 *
 *   nics             for the shim: the number of the first verbs file, and the words of RIG5_SOFT
 *   lock             locked as long as the run lasts: a tree whose lock is free is a stale one
 *   sys/...          as below /sys: the files of kern's sysfs, and links to real devices
 *   dev/infiniband/  an empty file for each verbs file of ours, and links to real ones
 *
 * It lies in $XDG_RUNTIME_DIR, in /dev/shm or in /tmp, the first that can be written. A keeper, a
 * process of its own, removes it when the program and all that descend from it have ended, however
 * they did. What a killed keeper leaves behind is removed by the next run.
 *
 * For `rig5 run`; of the preloaded library only the constants are known to both.
 */
#ifndef SHIM_TREE_H
#define SHIM_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What `rig5 run` tells the shim: the tree's path. */
#define SHIM_RUN_ENV "RIG5_RUN"
/* And of --trace: "<when the run began, in nanoseconds of CLOCK_MONOTONIC> <file>", the file's path
 * from the root, or nothing: standard error. */
#define SHIM_TRACE_ENV "RIG5_TRACE"
/* A domain that no firmware has; each NIC is a device in it. */
#define SHIM_PCI_DOMAIN "7269"

enum {
	SHIM_NIC_MAX = 8,
	SHIM_NICS_BYTES = 4096, /* of the file "nics" */
};

struct shim_tree {
	char path[PATH_MAX];
	int lock;
	bool deaf; /* the system refuses what notices a bare store to a register (host/bell.h) */
};

/*
 * shim_tree_make - brings every NIC of words (as RIG5_SOFT has them) up once, to see that it can
 * be, and writes its files. hide_real: nothing of real devices.
 * 0 and *tree; or -errno, and a sentence in why.
 */
int shim_tree_make(const char *words, bool hide_real, struct shim_tree *tree, char *why,
		   size_t why_size);
/* shim_tree_remove - and all below it. */
void shim_tree_remove(const char *path);
/* shim_tree_sweep - removes the trees of this user whose run is over. */
void shim_tree_sweep(void);

/*
 * shim_keeper_start - starts the process that removes the tree after this one, and what it will
 * have started, has ended. One descriptor stays open for that and is inherited. 0 or -errno.
 */
int shim_keeper_start(const struct shim_tree *tree);

#endif
