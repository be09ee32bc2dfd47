/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib/os.h - the one door: the few system calls the driver library makes, as a table.
 *
 * Behind the table stands libc, and so the kernel and its adapters (lib_os_linux), or the software
 * NIC's model of the kernel (lib_os_soft). The library has no other notion of which one it drives.
 * Every call returns as the system call does but with -errno in place of -1 and errno. fd is
 * whatever the same table's open returned, except in poll, whose descriptors are real ones that the
 * application may put into its own epoll set: event descriptors are real behind both doors.
 */
#ifndef LIB_OS_H
#define LIB_OS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stats_flow; /* [abi/stats.h] */

struct lib_os {
	void *ctx;
	/* path: "/dev/infiniband/uverbsN". */
	int (*open)(void *ctx, const char *path, int flags);
	int (*close)(void *ctx, int fd);
	int (*ioctl)(void *ctx, int fd, unsigned long request, void *arg);
	/* Fails with a negative errno in *error and returns NULL. */
	void *(*mmap)(void *ctx, size_t len, int prot, int flags, int fd, off_t offset, int *error);
	int (*munmap)(void *ctx, void *addr, size_t len);
	ssize_t (*read)(void *ctx, int fd, void *buf, size_t len);
	int (*poll)(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms);
	/* Text of a sysfs file, path below /sys; bytes read (at most size), or -errno. Not
	 * terminated. */
	ssize_t (*sysfs_read)(void *ctx, const char *path, char *buf, size_t size);
	/* Name of entry index of a sysfs directory ('.' and '..' left out); 0, or -ENOENT past the
	 * last. */
	int (*sysfs_list)(void *ctx, const char *path, unsigned int index, char *name, size_t size);
	/*
	 * Optional, NULL on hardware: lends this thread's time to the NIC. Called after a ring,
	 * after an arm, and on a poll that found nothing. Any thread; never blocks; no library lock
	 * is held.
	 */
	void (*progress)(void *ctx);
	/*
	 * Optional, NULL on hardware. flows: some of the NIC's queue pairs and destinations, from
	 * number *from on, at most max of them; returns how many. *from is then where to go on, 0:
	 * these were the last. qp_flow: that of one queue pair. -errno.
	 */
	int (*flows)(void *ctx, uint32_t *from, struct stats_flow *flows, uint32_t max);
	int (*qp_flow)(void *ctx, uint32_t qpn, struct stats_flow *flow);
};

/* libc and the kernel. */
const struct lib_os *lib_os_linux(void);

/*
 * The software NIC called name ("soft0"; NULL: any), one reference per successful call; opening one
 * joins or founds its port. lib declares these, soft defines them.
 * lib_os_soft_open: 0 and *os, or -errno with a sentence in why (terminated, at most why_size
 * bytes):
 *   -ENODEV  RIG5_SOFT names no such NIC;  -EADDRINUSE  the address is another user's or
 *   rdma_rxe's.
 * lib_os_soft_close: gives the reference back; the table must not be used after.
 * lib_os_soft_name: name of software NIC index as configured in RIG5_SOFT; -ENOENT past the last,
 *   -EINVAL if RIG5_SOFT cannot be understood (lib_os_soft_open says why).
 */
int lib_os_soft_open(const char *name, const struct lib_os **os, char *why, size_t why_size);
void lib_os_soft_close(const struct lib_os *os);
int lib_os_soft_name(unsigned int index, char *name, size_t size);

#endif
