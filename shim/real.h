/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/real.h - libc's own functions, behind those that the shim exports.
 *
 * Only the shim's wrappers (preload_*.c) export libc's names. Everything else in the library is
 * linked so that it never meets a wrapper: its calls go to the functions in here.
 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

struct shim_real {
#define REAL(type, name, parameters) type(*name) parameters;
#include "shim/real.def"
#undef REAL
};

/* shim_real - the table; looked up on the first call, which may come before any constructor. */
const struct shim_real *shim_real(void);

/* shim_real_of - the function of that name behind ours, of a library that need not be in the global
 * scope: plugins are loaded for themselves alone. NULL: it is not loaded. */
void *shim_real_of(const char *library, const char *name);

#endif
