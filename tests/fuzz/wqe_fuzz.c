/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wqe_fuzz.c - what an application may do to its NIC: arbitrary bytes in the rings, doorbell
 * records and registers of a connected queue pair of any type, and entries that are nearly right.
 *
 * Beyond no crash: nic_check after each step; the peer's memory that the keys do not open, and
 * memory that is registered nowhere, is as it was; every completion is in its own queue's ring.
 */
#include "abi/dump.h"
#include "tests/fuzz/fuzz_world.h"

enum { STEPS_MAX = 100 };

/* A good entry of every kind ... */
static uint16_t post(struct fuzz_in *in, uint8_t kind)
{
	static const enum wqe_opcode opcodes[] = {
	    WQE_OP_SEND, WQE_OP_SEND_IMM,  WQE_OP_WRITE,     WQE_OP_WRITE_IMM,
	    WQE_OP_READ, WQE_OP_ATOMIC_FA, WQE_OP_ATOMIC_CS, WQE_OP_NOP,
	};
	static const uint8_t text[64] = "inline";
	struct fake_region open = world.open[0];
	struct fake_address to = fake_to(&world.pair.b);
	struct fake_wr wr = {.opcode = opcodes[kind % 8],
			     .signal = kind & 8,
			     .remote_va = world_va(in, 1),
			     .rkey = world_key(in, 1),
			     .srqn = world.srq.srqn};

	if (wr.opcode == WQE_OP_NOP && kind & 0x20) {
		wr.opcode = WQE_OP_SEND_INVAL;
		wr.imm = wr.rkey;
	}
	if (world.pair.a.type == NIC_QP_UD && wr.opcode != WQE_OP_NOP) {
		wr.to = &to;
		to.compact = kind == 0xff;
	}

	if (kind & 0x10) {
		wr.inline_data = text;
		wr.inline_bytes = fuzz_u8(in) % sizeof(text);
	} else {
		wr.piece_count = 1 + (kind >> 6);
		for (uint32_t i = 0; i < wr.piece_count; i++)
			wr.pieces[i] =
			    (struct fake_piece){open.va, (uint32_t)fuzz_odd(in), open.key};
		if (kind & 0x20)
			wr.pieces[0] = (struct fake_piece){world_va(in, 0), fuzz_u8(in),
							   world_key(in, 0)};
	}
	return fake_post(&world.pair.a, &wr);
}

/* ... of which some bytes are changed. */
static void damaged_post(struct fuzz_in *in)
{
	struct fake_qp *qp = &world.pair.a;
	uint16_t index = post(in, fuzz_u8(in));
	uint8_t *ring = fake_mem(world.w, qp->sq_va);
	uint8_t *entry = ring + (index & (qp->sq_count - 1)) * WQE_BB_BYTES;
	char line[DUMP_BYTES];
	size_t rest = (size_t)(ring + (size_t)qp->sq_count * WQE_BB_BYTES - entry);

	for (uint8_t times = fuzz_u8(in) % 4; times; times--) {
		uint8_t at = fuzz_u8(in) % WQE_BB_BYTES;

		entry[at] ^= fuzz_u8(in);
	}
	FUZZ_CHECK(wqe_dump(line, sizeof(line), entry, rest, WQE_ADDRESS_NONE) < sizeof(line));
	if (fuzz_u8(in) & 3)
		fake_ring(qp);
}

static void raw_post(struct fuzz_in *in)
{
	struct fake_qp *qp = &world.pair.a;
	uint8_t block = fuzz_u8(in);
	uint8_t *ring = fake_mem(world.w, qp->sq_va);
	uint8_t *entry = ring + (size_t)(block & (qp->sq_count - 1)) * WQE_BB_BYTES;

	fuzz_bytes(in, entry, WQE_BB_BYTES);
}

static void raw_receive(struct fuzz_in *in)
{
	struct fake_qp *qp = &world.pair.a;
	uint32_t size = 1u << qp->rq_size_log2;
	uint8_t *ring = fake_mem(world.w, qp->rq_va);

	if (qp->rq_count != 0)
		fuzz_bytes(in, ring + fuzz_u8(in) % qp->rq_count * size, size < 64 ? size : 64);
}

/* The doorbell record and the register, as they please. */
static void record(struct fuzz_in *in)
{
	struct fake_qp *qp = &world.pair.a;
	struct be32 *words = fake_mem(world.w, qp->db_va);
	uint8_t how = fuzz_u8(in);

	words[how & 1] = be32_from(how & 2 ? fuzz_u32(in)
					   : (how & 1 ? qp->sq_pi : qp->rq_pi) + fuzz_u8(in) % 40u);
}

static void ring(struct fuzz_in *in)
{
	uint64_t word = fuzz_u64(in);

	if (word & 1)
		fake_ring(&world.pair.a);
	else
		nic_doorbell(world.w->nics[0], word, world.w->now_ns);
}

/* The completion queue's record, and its ring: the application's own, to spoil. */
static void completions(struct fuzz_in *in)
{
	struct fake_cq *cq = fuzz_u8(in) & 1 ? &world.pair.a.send_cq : &world.pair.a.recv_cq;
	struct be32 *words;
	uint8_t *cqes;
	uint8_t how = fuzz_u8(in);

	if (!cq->world)
		return;
	words = fake_mem(world.w, cq->db_va);
	cqes = fake_mem(world.w, cq->buf_va);
	if (how & 1)
		words[how >> 1 & 1] = be32_from(fuzz_u32(in));
	else
		fuzz_bytes(in, cqes + (how >> 1) % (1u << cq->count_log2) * 64, 64);
	nic_cq_arm(world.w->nics[0], how & 4 ? cq->cqn : fuzz_u32(in), world.w->now_ns);
}

static void peer_receive(struct fuzz_in *in)
{
	struct fake_piece piece = {world.open[1].va, WORLD_REGION_BYTES, world.open[1].key};

	/* A list that leads anywhere: the peer's own to spoil. */
	if (world.srq.world && fuzz_u8(in) & 0x80)
		fake_srq_link(&world.srq, world.srq.head, fuzz_u8(in) % 10);
	if (!world.srq.world || world.srq.head < world.srq.count)
		world_receive(&world.pair.b, piece);
}

/* Copies, atomics with masks, and whatever else has no builder: segments of keys and addresses. */
static void odd_post(struct fuzz_in *in)
{
	static const uint16_t opcodes[] = {
	    WQE_OPMOD_MMO_DMA << 8 | WQE_OP_MMO,
	    WQE_OPMOD_ATOMIC_64 << 8 | WQE_OP_ATOMIC_MASKED_CS,
	    WQE_OPMOD_ATOMIC_32 << 8 | WQE_OP_ATOMIC_MASKED_CS,
	    WQE_OPMOD_ATOMIC_64 << 8 | WQE_OP_ATOMIC_MASKED_FA,
	    WQE_OPMOD_ATOMIC_32 << 8 | WQE_OP_ATOMIC_MASKED_FA,
	};
	uint8_t how = fuzz_u8(in), bytes[16 * WQE_UNIT_BYTES] = {0};
	uint32_t units = 1 + fuzz_u8(in) % 8;
	uint16_t opcode = how < 0xf0 ? opcodes[how % 5] : fuzz_u16(in);
	bool mmo = (opcode & 0xff) == WQE_OP_MMO;
	uint32_t len = mmo ? 64u + how : opcode >> 8 == WQE_OPMOD_ATOMIC_32 ? 4 : 8;

	/* The address and key that it changes, numbers, and pieces of our own. */
	be64_store(bytes, world_va(in, mmo ? 0 : 1) & ~7ull);
	be32_store(bytes + 8, world_key(in, mmo ? 0 : 1));
	for (uint32_t i = 1; i < units; i++) {
		uint8_t *unit = bytes + i * WQE_UNIT_BYTES;

		if (!mmo && i + 1 < units) {
			be64_store(unit, fuzz_odd(in));
			be64_store(unit + 8, fuzz_odd(in));
			continue;
		}
		be32_store(unit, len);
		be32_store(unit + 4, world_key(in, 0));
		be64_store(unit + 8, world_va(in, 0));
	}
	(void)fake_post_raw(&world.pair.a, opcode, fuzz_u8(in), bytes, units * WQE_UNIT_BYTES);
	fake_ring(&world.pair.a);
}

static void umr(struct fuzz_in *in)
{
	world_umr(in, &world.pair.a);
	fake_ring(&world.pair.a);
}

static void step(struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in);

	switch (op % 16) {
	case 12:
	case 13:
		umr(in);
		break;
	case 14:
	case 15:
		odd_post(in);
		break;
	case 0:
	case 1:
	case 2:
		damaged_post(in);
		break;
	case 3:
		raw_post(in);
		break;
	case 4:
		raw_receive(in);
		break;
	case 5:
		record(in);
		break;
	case 6:
		ring(in);
		break;
	case 7:
		completions(in);
		break;
	case 8:
		peer_receive(in);
		break;
	case 9:
		world_poll(op & 0x80 ? &world.pair.b : &world.pair.a);
		break;
	case 10:
		fake_advance(world.w, op & 0x80 ? 70000000 : 1000);
		break;
	default:
		nic_scan(world.w->nics[0], world.w->now_ns);
		world_deliver(1 + (op >> 3));
	}
	(void)fake_run(world.w, 0);
	world_checked();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};

	if (size > 4096)
		return 0;
	world_open(&in);
	for (int i = 0; i < STEPS_MAX && in.left; i++)
		step(&in);
	world_deliver(WORLD_STEP_PACKETS);
	world_verdict(true);
	world_close();
	return 0;
}
