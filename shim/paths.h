/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/paths.h - which paths are the software NIC's, and where they lead.
 *
 * `rig5 run` has written the sysfs files of its NICs into a folder, the tree (shim/tree.h), and
 * named it in the environment (RIG5_RUN). In it, sys/ and dev/infiniband/ hold what a program is to
 * find below /sys/class/infiniband*, our PCI devices and /dev/infiniband: also what of a real
 * device is to be seen. Everything else below /sys is the system's.
 *
 * Nothing here allocates, so that it may run at any time in any thread.
 */
#ifndef SHIM_PATHS_H
#define SHIM_PATHS_H

#include "shim/tree.h"
#include "soft/config.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The NICs of this run, as the tree's file "nics" has them: "<number of the first verbs file>
 * <words of RIG5_SOFT>". */
struct shim_nics {
	struct soft_config config;
	unsigned int uverbs_first;
};

/* shim_paths_init - reads the environment; called by whoever needs it first. */
void shim_paths_init(void);
/* shim_active - whether `rig5 run` started this process or an ancestor. */
bool shim_active(void);

/* shim_tree_path - the tree's folder, if it is active. */
const char *shim_tree_path(void);
/* shim_path - where path leads: a place in the tree, written to buf, or path itself. */
const char *shim_path(const char *path, char buf[static PATH_MAX]);
/* shim_path_device - the index of the NIC whose verbs file path names, or -1. */
int shim_path_device(const char *path);
/* shim_path_back - turns a path in the tree into what the program knows it as, in place. */
void shim_path_back(char *path);

/* shim_nics - NULL if the tree is gone. */
const struct shim_nics *shim_nics(void);
/* shim_node_find - the index of the NIC for which this inode stands in dev/infiniband, or -1. */
int shim_node_find(dev_t device, ino_t inode);

/* shim_nics_parse - the contents of the file "nics". 0 or -EINVAL. */
int shim_nics_parse(const char *text, struct shim_nics *nics);

#endif
