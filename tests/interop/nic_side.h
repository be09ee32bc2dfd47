/* SPDX-License-Identifier: BSD-2-Clause */
/* nic_side.h - our side without a library: the software NIC's core, alone, on a frame_wire. */
#ifndef TESTS_INTEROP_NIC_SIDE_H
#define TESTS_INTEROP_NIC_SIDE_H

#include "tests/interop/frame_wire.h"
#include "tests/interop/side.h"

/* nic_side_open - a side on NIC 0 of the wire's world. Both outlive it. */
void nic_side_open(struct side *side, struct frame_wire *wire);
void nic_side_close(struct side *side);

#endif
