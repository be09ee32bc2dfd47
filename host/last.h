/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/last.h - a process ends with its last thread, though ours go on.
 *
 * A program may end its main thread (pthread_exit) and leave the rest to others; when the last of
 * them ends, so does the process, with status 0. Ours would keep it alive for ever, and as they
 * block signals, deaf to all but SIGKILL. So once the main thread has ended, somebody looks whether
 * only ours are left.
 */
#ifndef HOST_LAST_H
#define HOST_LAST_H

/* host_last_mark - in the main thread, of which it learns when that ends; elsewhere it does
 * nothing. */
void host_last_mark(void);
/* host_last_began, host_last_ended - by each thread of ours. */
void host_last_began(void);
void host_last_ended(void);

#endif
