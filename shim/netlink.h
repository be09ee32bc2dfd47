/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/netlink.h - sockets of NETLINK_RDMA, on which a program asks which devices there are.
 *
 * The program gets a netlink socket of the kernel's, so that bind, getsockname, poll and recvmsg
 * are the kernel's own: of NETLINK_USERSOCK, on which one process may send to another. What is sent
 * on it is answered at once, by messages from another socket of ours, which have the kernel's form
 * but a sender that is not 0. The answers tell what the tree has (shim/nldev.h), and so of real
 * devices what sysfs shows of them. A descriptor that was duplicated is not known any more.
 *
 * Before such a socket is opened, sending costs one load more. Any thread, also from a signal
 * handler but for opening. Functions return -errno.
 */
#ifndef SHIM_NETLINK_H
#define SHIM_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

/* netlink_open - type as of socket(2). -EPROTONOSUPPORT: there is no tree any more, or the kernel
 * refuses such sockets; programs then look into sysfs. */
int netlink_open(int type);
bool netlink_is(int fd);
/* What was sent, all of it; the answer is there to be received. */
ssize_t netlink_send(int fd, const void *data, size_t len);
ssize_t netlink_send_pieces(int fd, const struct iovec *pieces, size_t count);
void netlink_closing(int fd);

#endif
