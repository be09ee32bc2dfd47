/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/link.h - one open NIC, a buffer that it may use, and one queue pair with its completion
 * queue: what each of `rig5 send`, `recv` and `perf` needs of the driver library. Errors are
 * -errno, with a sentence in rig_error() or in `why`.
 */
#ifndef TOOLS_LINK_H
#define TOOLS_LINK_H

#include <stdint.h>

#include "include/rig5.h"

struct link {
	struct rig_nic *nic;
	struct rig_nic_info info;
	uint8_t *buf; /* page aligned, touched once */
	size_t buf_bytes;
	struct rig_region *region;
	struct rig_cq *cq;
	struct rig_qp *qp;
};

/* link_open - the NIC (NULL: the first one), and a region of buf_bytes. link_close undoes it all.
 */
int link_open(struct link *link, const char *nic_name, size_t buf_bytes, enum rig_access access);
void link_close(struct link *link);

/* link_pair - a queue pair with room for that much, and its completion queue; unpair destroys both.
 */
int link_pair(struct link *link, int entries, int receives);
void link_unpair(struct link *link);

/*
 * link_poll - completions, as rig_cq_poll. When there are none it looks again for a few
 * microseconds, and then sleeps up to timeout_ms. 0: none came, or a signal did. -ENODEV: the NIC
 * is gone.
 */
int link_poll(struct link *link, struct rig_wc *wc, int max, int timeout_ms);

/* link_pause - two pauses: what a poller leaves between two looks at a line that another core
 * writes. */
static inline void link_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield\n\tyield");
#endif
}

#endif
