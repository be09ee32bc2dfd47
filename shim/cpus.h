/* SPDX-License-Identifier: BSD-2-Clause */
/* shim/cpus.h - which processors are near a NIC, as the files of a PCI device say it. */
#ifndef SHIM_CPUS_H
#define SHIM_CPUS_H

#include <stddef.h>

enum { SHIM_CPUS_BYTES = 2048, SHIM_CPUS_MAX = 4096 };

struct shim_cpus {
	char mask[SHIM_CPUS_BYTES]; /* "ff,ffffffff" */
	char list[SHIM_CPUS_BYTES]; /* "0-39" */
};

/* shim_cpus_near - the processors of a NUMA node, or with -1 those that are online. 0, or -ENODEV:
 * this machine has no such node. */
int shim_cpus_near(int numa_node, struct shim_cpus *cpus);

/* shim_cpus_mask - the mask of a list, in words of 32 bits as the kernel prints it. 0 or -EINVAL.
 */
int shim_cpus_mask(const char *list, char mask[static SHIM_CPUS_BYTES]);

#endif
