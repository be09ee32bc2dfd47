/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nic_bench.c - what the core itself costs: two NICs in one process, a wire that is an array,
 * memory copies that are memcpy. Prints nanoseconds (median of repeated runs) for each phase of an
 * 8-byte send, and the payload rate of 64 KiB sends and writes; under `valgrind --tool=callgrind`
 * the phase_* functions give instructions (`nic_bench 100` is short enough for it).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "abi/roce.h"
#include "base/assert.h"
#include "nic/nic.h"

enum {
	WIRE_SLOTS = 256,
	SLOT_BYTES = 4352,
	PAYLOAD_ALIGN = 52, /* see nic_env.tx_reserve */
	SQ_COUNT = 64,
	RQ_COUNT = 64,
	CQ_LOG2 = 7,
	MTU_BYTES = 4096,
	RUNS_MAX = 31,
};

_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
	abort();
}

/* ---- world ----------------------------------------------------------------------------------- */

struct slot {
	uint32_t len;
	uint8_t bytes[SLOT_BYTES] __attribute__((aligned(64)));
};

struct side {
	struct nic *nic;
	struct nic_env env;
	struct slot *wire; /* what this side has sent */
	uint32_t sent;
	uint32_t taken;
	uint32_t index;
	uint32_t pdn;
	uint32_t key;
	uint32_t qpn;
	uint32_t cqn;
	uint8_t *buf; /* receive ring, then send ring */
	uint32_t *db;
	uint8_t *cq;
	uint32_t *cq_db;
	uint8_t *data;
	uint16_t sq_pi;
	uint16_t rq_pi;
	uint32_t ci;
};

static struct side sides[2];
static uint64_t now_ns = 1;
static int runs = RUNS_MAX;
static int rounds = 2000;

static bool mem_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	(void)ctx;
	memcpy(dst, (const void *)(uintptr_t)va, len);
	return true;
}

static bool mem_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	(void)ctx;
	memcpy((void *)(uintptr_t)va, src, len);
	return true;
}

static bool mem_load32(void *ctx, uint64_t va, uint32_t *value)
{
	(void)ctx;
	*value = __atomic_load_n((uint32_t *)(uintptr_t)va, __ATOMIC_ACQUIRE);
	return true;
}

static bool mem_store32(void *ctx, uint64_t va, uint32_t value)
{
	(void)ctx;
	__atomic_store_n((uint32_t *)(uintptr_t)va, value, __ATOMIC_RELEASE);
	return true;
}

static bool mem_cas64(void *ctx, uint64_t va, uint64_t compare, uint64_t swap, uint64_t *old)
{
	(void)ctx;
	*old = compare;
	__atomic_compare_exchange_n((uint64_t *)(uintptr_t)va, old, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return true;
}

static uint8_t *tx_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	struct side *s = ctx;
	struct slot *slot = &s->wire[s->sent % WIRE_SLOTS];

	(void)path;
	(void)dqpn;
	if (s->sent - s->taken == WIRE_SLOTS)
		return NULL;
	slot->len = (uint32_t)len;
	return slot->bytes + PAYLOAD_ALIGN;
}

static void tx_commit(void *ctx)
{
	((struct side *)ctx)->sent++;
}

static void tx_cancel(void *ctx)
{
	(void)ctx;
}

static bool tx_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	(void)ctx;
	(void)path;
	(void)dqpn;
	return false;
}

static int qpn_block(void *ctx, uint32_t *block)
{
	*block = 1 + ((struct side *)ctx)->index;
	return 0;
}

static void event(void *ctx, const struct nic_event *ev)
{
	(void)ctx;
	fprintf(stderr, "event %d\n", (int)ev->kind);
	abort();
}

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT(p != MAP_FAILED);
	return p;
}

static void check(int err)
{
	ASSERT(err == 0);
}

static void make_objects(struct side *s)
{
	struct nic_mkey_attr mkey = {0};
	struct nic_cq_attr cq = {.cqe_count_log2 = CQ_LOG2, .cqe_size_bytes = 64};
	struct nic_qp_attr qp = {
	    .sq_wqebb_count = SQ_COUNT, .rq_wqe_count = RQ_COUNT, .rq_wqe_size_log2 = 4};

	check(nic_pd_create(s->nic, &s->pdn));
	s->data = map(1 << 20);
	mkey.pdn = qp.pdn = s->pdn;
	mkey.va = mkey.host_va = (uintptr_t)s->data;
	mkey.len_bytes = 1 << 20;
	mkey.access =
	    NIC_ACCESS_LOCAL_WRITE_F | NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F;
	check(nic_mkey_create(s->nic, &mkey, &s->key));
	s->cq = map(64 << CQ_LOG2);
	s->cq_db = map(4096);
	cq.buf_va = (uintptr_t)s->cq;
	cq.db_va = (uintptr_t)s->cq_db;
	check(nic_cq_create(s->nic, &cq, &s->cqn));
	s->buf = map(RQ_COUNT * 16 + SQ_COUNT * 64);
	s->db = map(4096);
	qp.cqn_send = qp.cqn_recv = s->cqn;
	qp.buf_va = (uintptr_t)s->buf;
	qp.db_va = (uintptr_t)s->db;
	check(nic_qp_create(s->nic, &qp, &s->qpn));
}

static void connect_to(struct side *s, const struct side *peer)
{
	struct nic_qp_params p = {
	    .set = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F |
		   NIC_QP_SET_ACCESS_F,
	    .state = NIC_QP_INIT,
	    .port = 1,
	    .access = NIC_ACCESS_REMOTE_WRITE_F | NIC_ACCESS_REMOTE_READ_F,
	    .mtu_bytes = MTU_BYTES,
	    .timeout = 14,
	    .retry_count = 7,
	    .rnr_retry = 7,
	    .min_rnr_timer = 12,
	    .rd_atomic = 16,
	    .dest_rd_atomic = 16,
	    .dest_qpn = peer->qpn,
	};

	check(nic_qp_modify(s->nic, s->qpn, &p, now_ns));
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_PATH_F | NIC_QP_SET_MTU_F | NIC_QP_SET_DEST_QPN_F |
		NIC_QP_SET_RQ_PSN_F | NIC_QP_SET_DEST_RD_ATOMIC_F | NIC_QP_SET_MIN_RNR_TIMER_F;
	p.state = NIC_QP_RTR;
	check(nic_qp_modify(s->nic, s->qpn, &p, now_ns));
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_RETRY_F |
		NIC_QP_SET_RNR_RETRY_F | NIC_QP_SET_SQ_PSN_F | NIC_QP_SET_RD_ATOMIC_F;
	p.state = NIC_QP_RTS;
	check(nic_qp_modify(s->nic, s->qpn, &p, now_ns));
}

static void make_world(void)
{
	static const struct nic_config config = {.qp_count_max = 4096,
						 .cq_count_max = 1024,
						 .mkey_count_max = 1024,
						 .pd_count_max = 64,
						 .mtu_max_bytes = MTU_BYTES,
						 .rd_atomic_max = 16,
						 .message_max_bytes_log2 = 31};

	for (uint32_t i = 0; i < 2; i++) {
		struct side *s = &sides[i];

		s->index = i;
		s->wire = map(sizeof(struct slot) * WIRE_SLOTS);
		s->env = (struct nic_env){.ctx = s,
					  .mem_read = mem_read,
					  .mem_write = mem_write,
					  .mem_load32 = mem_load32,
					  .mem_store32 = mem_store32,
					  .mem_cas64 = mem_cas64,
					  .tx_reserve = tx_reserve,
					  .tx_commit = tx_commit,
					  .tx_cancel = tx_cancel,
					  .tx_untaken = tx_untaken,
					  .qpn_block = qpn_block,
					  .event = event};
		s->nic = nic_init(map(nic_arena_bytes(&config)), &config, &s->env, i);
		make_objects(s);
	}
	connect_to(&sides[0], &sides[1]);
	connect_to(&sides[1], &sides[0]);
}

/* ---- the application's part ------------------------------------------------------------------ */

static void post_receive(struct side *s, uint32_t len)
{
	uint8_t *wqe = s->buf + (s->rq_pi % RQ_COUNT) * 16;

	be32_store(wqe, len);
	be32_store(wqe + 4, s->key);
	be64_store(wqe + 8, (uintptr_t)s->data);
	s->rq_pi++;
	__atomic_store_n(&s->db[DB_RECV], be32_from(s->rq_pi).raw, __ATOMIC_RELEASE);
}

static uint64_t post(struct side *s, enum wqe_opcode opcode, bool inlined, uint32_t len,
		     const struct side *peer)
{
	uint8_t *wqe = s->buf + RQ_COUNT * 16 + (s->sq_pi % SQ_COUNT) * 64;
	uint8_t *data = wqe + 16;
	uint64_t word;

	if (opcode != WQE_OP_SEND) {
		be64_store(data, (uintptr_t)peer->data);
		be32_store(data + 8, peer->key);
		data += 16;
	}
	if (inlined) {
		be32_store(data, WQE_INLINE_F | len);
		memcpy(data + 4, s->data, len);
	} else {
		be32_store(data, len);
		be32_store(data + 4, s->key);
		be64_store(data + 8, (uintptr_t)s->data);
	}
	data += 16;
	*(struct wqe_ctrl_seg *)wqe =
	    (struct wqe_ctrl_seg){.opmod_idx_opcode = wqe_ctrl_op(0, s->sq_pi, opcode),
				  .qpn_ds = wqe_ctrl_qpn_ds(s->qpn, (uint32_t)(data - wqe) / 16),
				  .fm_ce_se = WQE_CE_ALWAYS};
	s->sq_pi++;
	__atomic_store_n(&s->db[DB_SEND], be32_from(s->sq_pi).raw, __ATOMIC_RELEASE);
	memcpy(&word, wqe, sizeof(word));
	return word;
}

static void poll_one(struct side *s)
{
	const struct cqe64 *cqe = (const struct cqe64 *)s->cq + (s->ci & ((1 << CQ_LOG2) - 1));

	ASSERT(cqe_owner_of(cqe->op_own) == (s->ci >> CQ_LOG2 & 1));
	ASSERT(!cqe_is_error(cqe->op_own));
	s->ci++;
	s->cq_db[DB_CQ_CONSUMER] = be32_from(s->ci & DB_CQ_INDEX_MASK).raw;
}

/* ---- phases: not inlined, so that a profiler names them -------------------------------------- */

static const struct nic_budget budget = {.packets = 64, .bytes = 256 << 10};

__attribute__((noinline)) static void phase_doorbell_to_packet(struct side *s, uint64_t word)
{
	nic_doorbell(s->nic, word, now_ns);
	nic_run(s->nic, &budget, now_ns);
}

__attribute__((noinline)) static void phase_packet_to_cqe(struct side *s, struct side *from)
{
	const struct slot *slot = &from->wire[from->taken++ % WIRE_SLOTS];
	struct nic_rx rx = {.bth = slot->bytes + PAYLOAD_ALIGN, .len_bytes = slot->len};

	nic_rx(s->nic, &rx, now_ns);
}

__attribute__((noinline)) static void phase_acknowledge(struct side *s)
{
	nic_run(s->nic, &budget, now_ns);
}

__attribute__((noinline)) static void phase_ack_to_cqe(struct side *s, struct side *from)
{
	phase_packet_to_cqe(s, from);
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return clock_ns();
#endif
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return v[n / 2];
}

enum { PHASES = 5 };

/* ticks of each phase of `count` one-packet sends, in batches. */
static void one_round(uint32_t count, bool inlined, uint64_t spent[PHASES])
{
	struct side *a = &sides[0], *b = &sides[1];
	uint64_t words[SQ_COUNT], t[PHASES + 1];

	for (uint32_t i = 0; i < count; i++)
		post_receive(b, 64);
	for (uint32_t i = 0; i < count; i++)
		words[i] = post(a, WQE_OP_SEND, inlined, 8, b);
	t[0] = ticks();
	for (uint32_t i = 0; i < count; i++)
		phase_doorbell_to_packet(a, words[i]);
	t[1] = ticks();
	for (uint32_t i = 0; i < count; i++)
		phase_packet_to_cqe(b, a);
	t[2] = ticks();
	phase_acknowledge(b);
	t[3] = ticks();
	while (b->taken != b->sent)
		phase_ack_to_cqe(a, b);
	t[4] = ticks();
	t[5] = ticks();
	for (uint32_t i = 0; i < count; i++) {
		poll_one(a);
		poll_one(b);
	}
	for (int i = 0; i < PHASES; i++)
		spent[i] += t[i + 1] - t[i];
	now_ns += 1000;
}

static void small_sends(uint32_t count, bool inlined, double ns_per_tick)
{
	static const char *const names[PHASES] = {"doorbell to packet", "packet to completion",
						  "acknowledge", "acknowledgement to completion"};
	double ns[PHASES][RUNS_MAX];
	double overhead;

	for (int run = 0; run < runs; run++) {
		uint64_t spent[PHASES] = {0};

		for (int i = 0; i < rounds; i++)
			one_round(count, inlined, spent);
		overhead = (double)spent[PHASES - 1];
		for (int i = 0; i < PHASES; i++)
			ns[i][run] = ((double)spent[i] - overhead) * ns_per_tick / rounds / count;
	}
	for (int i = 0; i < PHASES - 1; i++)
		printf("8 B send%s, batch %2u, %-30s %6.1f ns\n", inlined ? " inline" : "", count,
		       names[i], median(ns[i], runs));
}

/* Moves one 64 KiB message with everything it takes. */
static void large_message(enum wqe_opcode opcode, uint32_t len)
{
	struct side *a = &sides[0], *b = &sides[1];
	bool received = opcode == WQE_OP_SEND;

	if (received)
		post_receive(b, len);
	phase_doorbell_to_packet(a, post(a, opcode, false, len, b));
	while (a->taken != a->sent || b->taken != b->sent) {
		while (a->taken != a->sent)
			phase_packet_to_cqe(b, a);
		nic_run(b->nic, &budget, now_ns);
		while (b->taken != b->sent)
			phase_ack_to_cqe(a, b);
		nic_run(a->nic, &budget, now_ns);
	}
	poll_one(a);
	if (received)
		poll_one(b);
	now_ns += 1000;
}

static void large(const char *name, enum wqe_opcode opcode, uint32_t len)
{
	double rate[RUNS_MAX], copy[RUNS_MAX];

	for (int run = 0; run < runs; run++) {
		uint64_t start = clock_ns();

		for (int i = 0; i < 200; i++)
			large_message(opcode, len);
		rate[run] = 200.0 * len / (double)(clock_ns() - start);
		start = clock_ns();
		for (int i = 0; i < 200; i++) {
			for (uint32_t off = 0; off < len; off += MTU_BYTES)
				memcpy(sides[0].wire[off / MTU_BYTES].bytes, sides[0].data + off,
				       MTU_BYTES);
			for (uint32_t off = 0; off < len; off += MTU_BYTES)
				memcpy(sides[1].data + off, sides[0].wire[off / MTU_BYTES].bytes,
				       MTU_BYTES);
			__asm__ volatile("" ::: "memory");
		}
		copy[run] = 200.0 * len / (double)(clock_ns() - start);
	}
	printf("%-10s %6u B %28s %6.2f GB/s (two plain copies %.2f)\n", name, len, "",
	       median(rate, runs), median(copy, runs));
}

/* What a thousand connected queue pairs with nothing to do cost: a run, and a scan of all records.
 */
static void idle_queue_pairs(void)
{
	enum { COUNT = 1000 };
	struct side *a = &sides[0];
	double run_ns[RUNS_MAX], scan_ns[RUNS_MAX];
	uint8_t *records = map(COUNT * 64);

	for (int i = 0; i < COUNT; i++) {
		struct nic_qp_attr attr = {.pdn = a->pdn,
					   .cqn_send = a->cqn,
					   .cqn_recv = a->cqn,
					   .buf_va = (uintptr_t)a->buf,
					   .db_va = (uintptr_t)records + 64 * (uintptr_t)i,
					   .sq_wqebb_count = SQ_COUNT};
		struct side idle = *a;

		check(nic_qp_create(a->nic, &attr, &idle.qpn));
		connect_to(&idle, &sides[1]);
	}
	for (int run = 0; run < runs; run++) {
		uint64_t start = clock_ns();

		for (int i = 0; i < rounds; i++)
			nic_run(a->nic, &budget, now_ns);
		run_ns[run] = (double)(clock_ns() - start) / rounds;
		start = clock_ns();
		for (int i = 0; i < 100; i++)
			nic_scan(a->nic, now_ns);
		scan_ns[run] = (double)(clock_ns() - start) / 100 / COUNT;
	}
	printf("%d idle queue pairs: a run %.1f ns, a scan %.1f ns for each\n", COUNT,
	       median(run_ns, runs), median(scan_ns, runs));
}

static double measure_tick(void)
{
	uint64_t t = ticks(), start = clock_ns();

	while (clock_ns() - start < 20000000)
		;
	return (double)(clock_ns() - start) / (double)(ticks() - t);
}

/* An argument asks for that many rounds of one run: for a profiler. */
int main(int argc, char **argv)
{
	double ns_per_tick = measure_tick();

	if (argc > 1) {
		runs = 1;
		rounds = atoi(argv[1]);
	}

	make_world();
	memset(sides[0].data, 0x5a, 1 << 20);
	small_sends(1, true, ns_per_tick);
	small_sends(1, false, ns_per_tick);
	small_sends(32, true, ns_per_tick);
	large("send", WQE_OP_SEND, 65536);
	large("write", WQE_OP_WRITE, 65536);
	large("read", WQE_OP_READ, 65536);
	idle_queue_pairs();
	return 0;
}
