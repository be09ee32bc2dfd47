/* SPDX-License-Identifier: BSD-2-Clause */
/* fd.h - descriptors that live in an application's table. */
#ifndef HOST_FD_H
#define HOST_FD_H

/* host_fd_move_up - the same descriptor with a high number, out of the way of the application's,
 * where that can be; else fd itself. Close on exec. */
int host_fd_move_up(int fd);

#endif
