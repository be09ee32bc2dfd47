/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pingpong.h - a program on the library that plays ibv_rc_pingpong's game against the real one,
 * unmodified, in the guest. The two exchange their queue pairs over TCP [rxe.md].
 */
#ifndef TESTS_INTEROP_PINGPONG_H
#define TESTS_INTEROP_PINGPONG_H

#include "tests/interop/side.h"

/* How often, and how much. */
struct pingpong {
	struct side *guest;
	const char *nic;   /* ours */
	const char *host;  /* our IPv4 address */
	const char *there; /* the guest's */
	int count;
	uint32_t len_bytes;
	uint32_t mtu_bytes;
};

/* pingpong_serve - the guest's program is the client; pingpong_call - it is the server. Each fails
 * the running test unless all messages went both ways and the program ended well. */
void pingpong_serve(const struct pingpong *game);
void pingpong_call(const struct pingpong *game);

#endif
