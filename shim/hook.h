/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/hook.h - lends the application's own thread to the NIC when it posts, polls or arms.
 *
 * A program on libibverbs only stores to its registers and looks at its completion queue; while it
 * spins, the engine thread would have to wait for a processor [uverbs.md 6.1]. So the functions
 * that libibverbs' inline calls go through are replaced by ones that call the same function of
 * libmlx5 and then run a pass of the NIC. All posting and polling is still libmlx5's.
 *
 * Where they lie in libibverbs' structures is what <infiniband/verbs.h> says, which is part of
 * every program that calls them and so does not change. Nothing is replaced unless the structure is
 * seen to be one of libibverbs for this very descriptor, and the function to be one of libmlx5.
 */
#ifndef SHIM_HOOK_H
#define SHIM_HOOK_H

#include <stdbool.h>

struct host_port;

/* hook_port - from now on a port of this process is among those that get time. index: its NIC's. */
void hook_port(unsigned int index, struct host_port *port);

/*
 * hook_lends - whether threads of a kind are lent: all, unless RIG5_LEND in the environment is
 * "verbs" (only by libibverbs' functions) or "none" (the engine does everything).
 */
enum hook_lender { HOOK_VERBS, HOOK_UCX };
bool hook_lends(enum hook_lender lender);

/* hook_progress - a pass of each port. */
void hook_progress(void);

/* hook_after_ioctl - a verbs ioctl on fd, whose header is arg, has succeeded. */
void hook_after_ioctl(int fd, const void *arg);

#endif
