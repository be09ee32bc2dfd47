/* SPDX-License-Identifier: BSD-2-Clause */
/* shim/preload.h - what the files with exported names share. */
#ifndef SHIM_PRELOAD_H
#define SHIM_PRELOAD_H

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

/* What a system call returns for result: 0 or more, or -errno. */
static inline int shim_result(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/* shim_mmap - mmap(2), and what a verbs file answers to it. Hidden, so not to be found by name. */
void *shim_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

#endif
