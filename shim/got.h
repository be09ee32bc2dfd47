/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/got.h - the mlx5 driver's calls of mmap, past those who change the function itself.
 *
 * UCX's memory hooks write a jump to their own code over the first instruction of mmap, which is
 * the shim's, and map with a system call from there [observed on UCX 1.13, UCX_MEM_MMAP_HOOK_MODE
 * bistro]: register pages would come from an empty file. So the driver's own pointer to mmap, in
 * its global offset table, is made to name a function that nobody finds by that name.
 */
#ifndef SHIM_GOT_H
#define SHIM_GOT_H

/* got_take - for each libmlx5 that is loaded; once done it costs a walk over the loaded objects. A
 * library that cannot be changed is left as it is. */
void got_take(void *mmap_instead);

#endif
