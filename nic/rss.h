/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.h - RQTs and TIRs, for the files of the core. They are in rss.c. See nic_rss.h.
 */
#ifndef NIC_RSS_H
#define NIC_RSS_H

#include "nic/nic.h"
#include "nic/nic_rss.h"

struct nic_rqt {
	bool live;
	uint8_t size_log2;
	uint32_t users; /* TIRs */
	uint32_t qpns[1 << NIC_RQT_LOG2_MAX];
};

struct nic_tir {
	uint32_t users;           /* rules */
	struct nic_tir_attr attr; /* rqtn 0: free */
};

struct nic_rss {
	struct nic_rqt rqts[NIC_RQTS_MAX]; /* number - 1 is the place, of both */
	struct nic_tir tirs[NIC_TIRS_MAX];
};

/* nic_tir_find - NULL: there is none. */
struct nic_tir *nic_tir_find(const struct nic *nic, uint32_t tirn);
/* nic_tir_choose - the number of the queue pair that gets the frame. */
uint32_t nic_tir_choose(const struct nic *nic, uint32_t tirn, const struct nic_frame *frame);
/* nic_rss_uses - whether a table names the queue pair. */
bool nic_rss_uses(const struct nic *nic, uint32_t qpn);
void nic_rss_check(const struct nic *nic);

#endif
