/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_frame.h - a frame whose Toeplitz hash is known, and a raw packet queue pair over a kern_rig
 * that sends it.
 */
#ifndef TESTS_SUPPORT_RAW_FRAME_H
#define TESTS_SUPPORT_RAW_FRAME_H

#include "nic/nic_rss.h"
#include "tests/support/kern_rig.h"

enum { RAW_FRAME_BYTES = 100 };

/* TCP over IPv4, the first of Microsoft's vectors, and the key that they have [RSS]. */
extern const uint8_t raw_frame_key[NIC_HASH_KEY_BYTES];
#define RAW_FRAME_HASH 0x323e8fc2u /* of the two addresses */

struct raw_sender {
	struct rig_qp qp;
	uint16_t sent;
	uint8_t *frame; /* of RAW_FRAME_BYTES */
	uint32_t lkey;
};

/* raw_sender_make - ready to send; the frame is written to `frame`, which lkey covers. */
void raw_sender_make(struct kern_rig *rig, struct raw_sender *sender, uint32_t pd,
		     const struct rig_cq *cq, uint8_t *frame, uint32_t lkey);
void raw_sender_send(struct kern_rig *rig, struct raw_sender *sender);

#endif
