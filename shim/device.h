/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/device.h - the verbs files that the application has open, and the ports behind them.
 *
 * A verbs file is a memfd of size 0: a real descriptor, which can be duplicated, sent to another
 * process and polled, and which is told from others by its inode, whatever its number. It cannot be
 * mapped itself: an mmap of it is answered with register pages of the port (soft_port_map), as the
 * kernel's driver answers it, so that an offset the driver would refuse is refused, and an munmap
 * takes only the application's mapping away.
 *
 * A port is opened with the first verbs file of its NIC and stays until the process ends: a thread
 * that still polls a queue whose file was closed finds it. Nothing happens before that.
 *
 * In a child of fork its parent's files have none of the parent's objects: the first call that uses
 * one opens the port anew, with an empty context behind the file; before that, closing one closes
 * the descriptor and nothing else. In a child of vfork, which shares our memory, they answer
 * -ENODEV.
 *
 * Functions return -errno. They may be called by any thread, those that do not say otherwise also
 * from a signal handler.
 */
#ifndef SHIM_DEVICE_H
#define SHIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host_port;
struct device_file;

/* device_open - opens the verbs file of NIC number index. Not from a signal handler. */
int device_open(unsigned int index, int flags);

/* device_any - whether any verbs file is or was open: if not, no descriptor is ours. */
bool device_any(void);

/* device_find - the open verbs file behind fd, or NULL. One system call. */
struct device_file *device_find(int fd);
/* device_number - whether the inode is one of a verbs file, and then its NIC's index; or -1. */
int device_number(dev_t device, ino_t inode);

int device_ioctl(struct device_file *file, int fd, unsigned long request, void *arg);
/* device_mmap - NULL and *error. */
void *device_mmap(struct device_file *file, void *addr, size_t len, int prot, int flags,
		  off_t offset, int *error);

/* device_keeps - whether fd is one that the software NIC has for itself: to the application it is
 * not open, and is not closed. */
bool device_keeps(int fd);
/* device_closing - fd is about to be closed: if it is the last one of an event channel, the channel
 * is given up. Returns whether device_closed is to be called afterwards. */
bool device_closing(int fd);
/* device_closed - descriptors were closed: ends the files that have none any more. */
void device_closed(void);

#endif
