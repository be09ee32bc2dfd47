/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_rss.h - the NIC's interface, continued: frames spread over receive queues (RSS). A receive
 * queue is a raw packet queue pair that has no send ring. A TIR computes a hash of some of a
 * frame's fields, and the lowest bits of that choose an entry of its table of receive queues, its
 * RQT. A rule may lead to a TIR [nic.h].
 */
#ifndef NIC_NIC_RSS_H
#define NIC_NIC_RSS_H

#include <stddef.h>
#include <stdint.h>

struct nic;

enum {
	NIC_RQTS_MAX = 64,
	NIC_RQT_LOG2_MAX = 7, /* entries of a table */
	NIC_TIRS_MAX = 256,
	NIC_HASH_KEY_BYTES = 40,
	NIC_HASH_INPUT_MAX = NIC_HASH_KEY_BYTES - 4, /* two IPv6 addresses and two ports */
};

/* The fields, which are hashed in this order. */
#define NIC_HASH_SRC_IPV4_F (1u << 0)
#define NIC_HASH_DST_IPV4_F (1u << 1)
#define NIC_HASH_SRC_IPV6_F (1u << 2)
#define NIC_HASH_DST_IPV6_F (1u << 3)
#define NIC_HASH_SRC_TCP_F  (1u << 4)
#define NIC_HASH_DST_TCP_F  (1u << 5)
#define NIC_HASH_SRC_UDP_F  (1u << 6)
#define NIC_HASH_DST_UDP_F  (1u << 7)
#define NIC_HASH_IPV4       (NIC_HASH_SRC_IPV4_F | NIC_HASH_DST_IPV4_F)
#define NIC_HASH_IPV6       (NIC_HASH_SRC_IPV6_F | NIC_HASH_DST_IPV6_F)
#define NIC_HASH_TCP        (NIC_HASH_SRC_TCP_F | NIC_HASH_DST_TCP_F)
#define NIC_HASH_UDP        (NIC_HASH_SRC_UDP_F | NIC_HASH_DST_UDP_F)

/* nic_toeplitz - Microsoft's hash of at most NIC_HASH_INPUT_MAX bytes. */
uint32_t nic_toeplitz(const uint8_t key[static NIC_HASH_KEY_BYTES], const uint8_t *bytes,
		      size_t len);

/*
 * nic_rqt_create - a table of 1 << size_log2 raw packet queue pairs, which may be named more than
 * once and are not destroyed (-EBUSY) before it. Numbers are not 0.
 *   -EINVAL  too large, or one is no raw packet queue pair
 *   -ENOMEM  NIC_RQTS_MAX
 */
int nic_rqt_create(struct nic *nic, const uint32_t *qpns, uint32_t size_log2, uint32_t *rqtn);
/* nic_rqt_set - other queue pairs, or more or fewer of them; what leads to the table leads to them
 * from now on. -EINVAL likewise, and nothing has changed. */
int nic_rqt_set(struct nic *nic, uint32_t rqtn, const uint32_t *qpns, uint32_t size_log2);
int nic_rqt_destroy(struct nic *nic, uint32_t rqtn); /* -EBUSY while a TIR uses it */
/* nic_rqt_entry - the queue pair at `index` of a table that is there; 0: the table is shorter. */
uint32_t nic_rqt_entry(const struct nic *nic, uint32_t rqtn, uint32_t index);
uint32_t nic_rqt_size(const struct nic *nic, uint32_t rqtn); /* of one that is there */

struct nic_tir_attr {
	uint32_t rqtn;
	/* NIC_HASH_*_F: not of both IPs, nor of both TCP and UDP. The hash of a frame that lacks
	 * one of them is 0. */
	uint32_t fields;
	uint8_t key[NIC_HASH_KEY_BYTES];
};
int nic_tir_create(struct nic *nic, const struct nic_tir_attr *attr, uint32_t *tirn);
int nic_tir_destroy(struct nic *nic, uint32_t tirn); /* -EBUSY while a rule leads to it */

#endif
