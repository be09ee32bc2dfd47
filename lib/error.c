/* SPDX-License-Identifier: BSD-2-Clause */
/* error.c - this thread's sentence about its last failed call. */
#include "lib/lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static _Thread_local char message[320];

const char *rig_error(void)
{
	return message;
}

int lib_fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return -abs(err);
}

int lib_fail_reason(int err, const char *format, ...)
{
	char reason[64];
	va_list args;
	size_t len;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	len = strlen(message);
	snprintf(message + len, sizeof(message) - len, ": %s",
		 strerror_r(abs(err), reason, sizeof(reason)));
	return -abs(err);
}

int lib_fail_pin(int err, const char *call, uint64_t len_bytes)
{
	unsigned long long len = len_bytes;
	struct rlimit limit;

	if (err == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		return lib_fail(ENOMEM,
				"%s: %llu bytes cannot be pinned: RLIMIT_MEMLOCK allows this"
				" process %llu bytes in all (ulimit -l)",
				call, len, (unsigned long long)limit.rlim_cur);
	if (err == -ENOMEM)
		return lib_fail(ENOMEM, "%s: no memory to pin %llu bytes", call, len);
	if (err == -EFAULT)
		return lib_fail(EFAULT, "%s: not all of the %llu bytes are mapped and writable",
				call, len);
	return lib_fail_reason(err, "%s: %llu bytes", call, len);
}
