/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_bed.h - what most tests of the core start from: a connected pair of fake_nic.h, a source
 * region on NIC 0 with a pattern in it, a target region on NIC 1, and one-line posts and
 * expectations.
 *
 * Expectations fail the running test through cmocka. Lengths and offsets are in bytes.
 */
#ifndef TESTS_SUPPORT_NIC_BED_H
#define TESTS_SUPPORT_NIC_BED_H

#include "tests/support/fake_nic.h"

#define BED_LOCAL NIC_ACCESS_LOCAL_WRITE_F
#define BED_ALL                                                                            \
	(NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F | \
	 NIC_ACCESS_REMOTE_ATOMIC_F)

struct bed {
	struct fake_world *w;
	struct fake_pair pair;
	struct fake_region src; /* NIC 0, local access, 1 MiB of pattern */
	struct fake_region dst; /* NIC 1, all access, 1 MiB of zeroes */
};

struct bed bed_open(const struct fake_opts *opts);
/* The same on a path that carries window_bytes at most, and so may lose packets. */
struct bed bed_with_window(uint32_t window_bytes, const struct fake_opts *opts);
void bed_close(struct bed *b);
uint8_t *bed_src(struct bed *b);
uint8_t *bed_dst(struct bed *b);

/* An entry that moves len bytes between the starts of src and dst, signalled. */
struct fake_wr bed_wr(const struct bed *b, enum wqe_opcode opcode, uint32_t len);
/* Posts it on pair.a and rings; returns its index. */
uint16_t bed_post(struct bed *b, enum wqe_opcode opcode, uint32_t len);
/* Posts a receive of len bytes at the start of dst on pair.b. */
void bed_receive(struct bed *b, uint32_t len);

/* A request to pair.b, as pair.a would send it: of len bytes of bed_payload, to the start of dst;
 * an atomic adds one. */
extern uint8_t bed_payload[8192];
struct roce_pkt bed_request(const struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len);
void bed_send_request(struct bed *b, uint8_t opcode, uint32_t psn, uint32_t len);

void expect_done(struct fake_cq *cq, uint8_t opcode, uint16_t index, uint32_t byte_cnt);
void expect_error(struct fake_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome,
		  uint8_t vendor);
void expect_none(struct fake_cq *cq);
/* The packet at the head of the wire has this opcode and PSN; it is left there. */
void expect_packet(struct bed *b, uint8_t opcode, uint32_t psn);
/* The same, and it is an ACK with this syndrome. */
void expect_answer(struct bed *b, uint8_t syndrome, uint32_t psn);

#endif
