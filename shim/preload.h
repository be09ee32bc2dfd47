/* SPDX-License-Identifier: BSD-2-Clause */
/* shim/preload.h - what the files with exported names share. */
#ifndef SHIM_PRELOAD_H
#define SHIM_PRELOAD_H

#include <errno.h>

#define EXPORT __attribute__((visibility("default")))

/* What a system call returns for result: 0 or more, or -errno. */
static inline int shim_result(int result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

#endif
