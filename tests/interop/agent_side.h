/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * agent_side.h - the side in the guest: Linux's rdma_rxe, by way of the agent (agent.c).
 *
 * While it waits for the agent to answer, the other side must go on: a pump says how.
 */
#ifndef TESTS_INTEROP_AGENT_SIDE_H
#define TESTS_INTEROP_AGENT_SIDE_H

#include "tests/interop/side.h"

struct pump {
	/* Moves the other side along until fd can be read or timeout_ms has passed. */
	void (*until)(void *ctx, int fd, unsigned int timeout_ms);
	void *ctx;
};

/* agent_open - connects to the agent's socket at path, with memory at va. */
void agent_open(struct side *side, const char *path, uint64_t va, struct pump pump);
void agent_close(struct side *side);

/* agent_ask - the answer to one command, without its "ok "; valid until the next. An "error" ends
 * the test. */
const char *agent_ask(struct side *side, unsigned int timeout_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* agent_begin - sends a command; agent_end - its answer, which is the next to come. Meanwhile the
 * agent must not be asked for anything. */
void agent_begin(struct side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *agent_end(struct side *side, unsigned int timeout_ms);

/* agent_gid_index - where the guest's table has its GID of a family. */
int agent_gid_index(const struct side *side, enum side_family family);

#endif
