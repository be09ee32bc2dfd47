/* SPDX-License-Identifier: BSD-2-Clause */
/* lib_side.c - see lib_side.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/interop/lib_side.h"
#include "tests/interop/local_memory.h"
#include "tests/support/loop.h"

enum { ENTRIES = 64, CQE = 128, NAP_US = 50 };

struct lib_side {
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_region *region, *bare;
	struct rig_local local; /* all of the memory */
	uint32_t send_ids[ENTRIES], receive_ids[SIDE_RECEIVES];
};

#define TRY(call)                                               \
	do {                                                    \
		if ((call) < 0)                                 \
			fail_msg("%s: %s", #call, rig_error()); \
	} while (0)

static struct lib_side *lib_of(struct side *side)
{
	return side->ctx;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static void make(struct side *side)
{
	struct lib_side *lib = lib_of(side);
	struct rig_endpoint endpoint;

	TRY(rig_cq_create(lib->nic, CQE, &lib->cq));
	TRY(rig_qp_create(lib->cq, ENTRIES, SIDE_RECEIVES, &lib->qp));
	TRY(rig_qp_endpoint(lib->qp, &endpoint));
	side->qpn = endpoint.qp;
	side->psn = endpoint.psn;
}

static void destroy(struct side *side)
{
	struct lib_side *lib = lib_of(side);

	TRY(rig_qp_destroy(lib->qp));
	TRY(rig_cq_destroy(lib->cq));
}

static void connect_to(struct side *side, const struct side_link *link)
{
	struct rig_endpoint other = {.qp = link->dqpn,
				     .psn = link->rq_psn,
				     .address = {.link = RIG_LINK_ETHERNET},
				     .mtu_bytes = link->mtu_bytes};

	memcpy(other.address.gid, link->dgid, 16);
	TRY(rig_qp_connect(lib_of(side)->qp, RIG_REMOTE_ALL, &other, NULL));
}

/* ---- work ------------------------------------------------------------------------------------ */

static struct rig_local piece(const struct lib_side *lib, uint32_t off, uint32_t len_bytes)
{
	return (struct rig_local){
	    .addr = lib->local.addr + off, .len_bytes = len_bytes, .key = lib->local.key};
}

static void post(struct side *side, const struct side_work *work)
{
	static const enum rig_op ops[] = {RIG_SEND, RIG_SEND,         RIG_WRITE,    RIG_WRITE,
					  RIG_READ, RIG_COMPARE_SWAP, RIG_FETCH_ADD};
	struct lib_side *lib = lib_of(side);
	struct rig_local local = piece(lib, work->off, work->len_bytes);
	bool imm = work->op == SIDE_SEND_IMM || work->op == SIDE_WRITE_IMM;
	struct rig_entry entry = {
	    .op = (uint8_t)ops[work->op],
	    .flags = (uint8_t)(RIG_SIGNAL_F | (imm ? RIG_IMM_F : 0)),
	    .pieces = &local,
	    .piece_count = 1,
	    .imm = imm ? work->imm : 0,
	    .remote_addr = work->addr,
	    .remote_key = work->key,
	    .add_or_swap = work->swap_add,
	    .compare = work->compare,
	};

	if (work->op == SIDE_SEND || work->op == SIDE_SEND_IMM) {
		entry.remote_addr = 0;
		entry.remote_key = 0;
	}
	lib->send_ids[rig_qp_index(lib->qp, RIG_RING_SEND) % ENTRIES] = work->id;
	TRY(rig_qp_post(lib->qp, &entry));
	TRY(rig_qp_ring(lib->qp));
}

static void receive(struct side *side, uint32_t id, uint32_t off, uint32_t len_bytes)
{
	struct lib_side *lib = lib_of(side);
	struct rig_local local = piece(lib, off, len_bytes);

	lib->receive_ids[rig_qp_index(lib->qp, RIG_RING_RECEIVE) % SIDE_RECEIVES] = id;
	TRY(rig_qp_receive(lib->qp, &local));
}

static struct side_wc decode(const struct lib_side *lib, const struct rig_wc *from)
{
	struct side_wc wc = {.receive = from->kind == RIG_WC_RECEIVE,
			     .status = (enum rig_status)from->status};

	wc.id = wc.receive ? lib->receive_ids[from->index % SIDE_RECEIVES]
			   : lib->send_ids[from->index % ENTRIES];
	if (wc.status != RIG_OK || !wc.receive)
		return wc;
	wc.len_bytes = from->len_bytes;
	wc.has_imm = (from->flags & RIG_WC_IMM_F) != 0;
	wc.imm = wc.has_imm ? from->imm : 0;
	return wc;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int wait(struct side *side, struct side_wc *wc, int count, unsigned int timeout_ms)
{
	struct lib_side *lib = lib_of(side);
	uint64_t deadline_ms = now_ms() + timeout_ms;
	struct rig_wc one;
	int got = 0;

	do {
		int n = rig_cq_poll(lib->cq, &one, 1);

		TRY(n);
		if (n > 0)
			wc[got++] = decode(lib, &one);
		else if (got < count)
			usleep(NAP_US); /* the guest needs a processor, too */
	} while (got < count && now_ms() <= deadline_ms);
	return got;
}

static const struct nic_counters *counters(struct side *side)
{
	return loop_counters(lib_of(side)->nic);
}

static const struct side_ops ops = {
    .make = make,
    .connect = connect_to,
    .post = post,
    .receive = receive,
    .wait = wait,
    .destroy = destroy,
    .abandon = destroy,
    .counters = counters,
    SIDE_LOCAL_MEMORY,
};

/* ---- life ------------------------------------------------------------------------------------ */

void lib_side_open(struct side *side, const char *nic)
{
	struct lib_side *lib = calloc(1, sizeof(*lib));
	struct rig_nic_info info;
	struct rig_remote remote;
	struct rig_local bare;
	void *bytes = mmap(NULL, SIDE_MEMORY_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_non_null(lib);
	assert_true(bytes != MAP_FAILED);
	TRY(rig_open(nic, &lib->nic));
	TRY(rig_nic_info(lib->nic, &info));
	TRY(rig_region_create(lib->nic, bytes, SIDE_MEMORY_BYTES, RIG_REMOTE_ALL, &lib->region));
	TRY(rig_region_create(lib->nic, bytes, SIDE_MEMORY_BYTES, RIG_LOCAL, &lib->bare));
	TRY(rig_region_local(lib->region, 0, SIDE_MEMORY_BYTES, &lib->local));
	TRY(rig_region_local(lib->bare, 0, SIDE_MEMORY_BYTES, &bare));
	TRY(rig_region_remote(lib->region, 0, SIDE_MEMORY_BYTES, &remote));
	*side = (struct side){.name = "rig5",
			      .va = remote.addr,
			      .key = remote.key,
			      .bare_key = bare.key,
			      .psn = SIDE_PSN_ANY,
			      .ops = &ops,
			      .ctx = lib};
	for (int family = 0; family < SIDE_GIDS; family++)
		memcpy(side->gids[family], info.address.gid, 16);
	local_memory_open(side, bytes);
}

void lib_side_close(struct side *side)
{
	struct lib_side *lib = lib_of(side);
	uint8_t *bytes = side->memory->bytes;

	rig_close(lib->nic);
	local_memory_close(side);
	munmap(bytes, SIDE_MEMORY_BYTES);
	free(lib);
}
