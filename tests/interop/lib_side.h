/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_side.h - our side as a program has it: the library on the software NIC, over UDP.
 *
 * A NIC has one address, so there is a side for IPv4 and one for IPv6. The library decides what a
 * row would: its queue pairs start at a random PSN, retry seven times after 67 ms, and wait for a
 * receiver without end.
 */
#ifndef TESTS_INTEROP_LIB_SIDE_H
#define TESTS_INTEROP_LIB_SIDE_H

#include "tests/interop/side.h"

/* lib_side_open - a side on the NIC with that name (RIG5_SOFT). */
void lib_side_open(struct side *side, const char *nic);
void lib_side_close(struct side *side);

#endif
