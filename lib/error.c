/* SPDX-License-Identifier: BSD-2-Clause */
/* error.c - this thread's sentence about its last failed call. */
#include "lib/lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
