/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets_fuzz.c - arbitrary packets into a live NIC: connected queue pairs, of any type, with
 * requests under way, then forged requests, responses and raw bytes, mixed with the real ones lost,
 * doubled and out of order; on a network also marks, notifications, probes, and destinations that
 * are mapped.
 *
 * Beyond no crash: nic_check after each step; what the peer has no right to is as it was; no
 * counter of drops is over that of packets.
 */
#include "tests/fuzz/fuzz_world.h"

enum { STEPS_MAX = 120 };

/* Offered PSNs lie around what the receiver expects. */
static uint32_t near_psn(struct fuzz_in *in, uint32_t nic)
{
	struct nic_qp_params params;
	/* A DC target has as many as it has initiators: those of the pair's own are known. */
	uint32_t side = world.pair.a.type == NIC_QP_DCI ? 0 : nic;
	uint32_t qpn = side ? world.pair.b.qpn : world.pair.a.qpn;
	uint8_t off = fuzz_u8(in);

	if (off == 0xff)
		return fuzz_u32(in) & ROCE_PSN_MASK;
	FUZZ_CHECK(nic_qp_query(world.w->nics[side], qpn, &params) == 0);
	return (off & 1 ? params.sq_psn : params.rq_psn) + (uint32_t)(off >> 1) - 8;
}

/* Mostly with the right key; of the pair's initiator or of others, now or of another time. */
static void forge_dceth(struct fuzz_in *in, struct roce_pkt *pkt)
{
	uint8_t how = fuzz_u8(in);

	pkt->dceth.key = FAKE_DC_KEY ^ (how >> 6 == 3 ? fuzz_u64(in) : 0);
	pkt->dceth.session =
	    how & 0x20 ? fuzz_u64(in) : (world.w->now_ns >> 8) + (how >> 2 & 7) - 2;
	pkt->dceth.initiator = (world.pair.a.qpn + (how & 3)) & ROCE_QPN_MASK;
	pkt->dceth.first_psn = near_psn(in, 0) & ROCE_PSN_MASK;
}

/* Packets that are of no queue pair's sequence. */
static void forge_note(struct fuzz_in *in, uint32_t nic)
{
	static const uint8_t opcodes[] = {ROCE_OP_CNP, ROCE_OP_PROBE, ROCE_OP_PROBE_ANSWER};
	uint8_t bytes[ROCE_BTH_BYTES + ROCE_PROBE_BYTES] = {0};
	uint8_t how = fuzz_u8(in);
	uint8_t opcode = opcodes[how % 3];
	uint8_t *probe = bytes + ROCE_BTH_BYTES;
	uint32_t qpn = nic ? world.pair.b.qpn : world.pair.a.qpn;

	bytes[ROCE_BTH_OPCODE_OFF] = opcode;
	be16_store(bytes + ROCE_BTH_PKEY_OFF, 0xffff);
	be32_store(bytes + ROCE_BTH_ECN_OFF, how & 0x40 ? fuzz_u32(in) : qpn);
	if (opcode != ROCE_OP_CNP) {
		probe[0] = how & 0x80 ? fuzz_u8(in) : ROCE_PROBE_VERSION;
		be32_store(probe + ROCE_PROBE_QPN_OFF, world.pair.a.qpn);
		be32_store(probe + ROCE_PROBE_NUMBER_OFF, how >> 2 & 7);
		be64_store(probe + ROCE_PROBE_T2_OFF, fuzz_u8(in));
		be64_store(probe + ROCE_PROBE_T3_OFF, fuzz_odd(in));
	}
	world_inject(nic, bytes,
		     ROCE_BTH_BYTES + (opcode == ROCE_OP_CNP ? (uint32_t)ROCE_CNP_PAYLOAD_BYTES
							     : (uint32_t)ROCE_PROBE_BYTES),
		     false);
}

static void forge(struct fuzz_in *in, uint32_t nic)
{
	static const uint16_t lens[] = {0, 4, 8, 256, 1024, 1028, 4096, 1};
	static const uint8_t payload[4100] = {0x11};
	static uint8_t bytes[8192];
	struct roce_pkt pkt = {.opcode = fuzz_u8(in)};
	uint8_t flags = fuzz_u8(in);
	size_t head;

	if (pkt.opcode < 0xe0) { /* those of the pair's own transport */
		static const uint8_t transports[] = {
		    [NIC_QP_RC] = ROCE_RC << ROCE_TRANSPORT_SHIFT,
		    [NIC_QP_UC] = ROCE_UC << ROCE_TRANSPORT_SHIFT,
		    [NIC_QP_UD] = ROCE_UD << ROCE_TRANSPORT_SHIFT,
		    [NIC_QP_XRC_INI] = ROCE_XRC << ROCE_TRANSPORT_SHIFT,
		    [NIC_QP_DCI] = ROCE_DC << ROCE_TRANSPORT_SHIFT};

		pkt.opcode = transports[world.pair.a.type] | pkt.opcode % 0x20;
	}
	pkt.deth.qkey = pkt.opcode & 1 ? FAKE_QKEY : fuzz_u8(in) + FAKE_QKEY;
	pkt.srqn = world.srq.srqn ^ (fuzz_u8(in) == 0xff);
	if (world.pair.a.type == NIC_QP_DCI)
		forge_dceth(in, &pkt);
	pkt.dqpn = flags & 1 && flags & 2 && flags & 4 ? fuzz_u32(in) & ROCE_QPN_MASK
		   : nic                               ? world.pair.b.qpn
						       : world.pair.a.qpn;
	pkt.psn = near_psn(in, nic) & ROCE_PSN_MASK;
	pkt.pkey = flags & 0x10 && flags & 0x20 ? fuzz_u16(in) : 0xffff;
	pkt.ack_req = flags & 0x40;
	pkt.se = flags & 0x80;
	pkt.reth.va = pkt.atomic.va = world_va(in, nic);
	pkt.reth.rkey = pkt.atomic.rkey = pkt.inv_rkey = world_key(in, nic);
	pkt.reth.len_bytes = (uint32_t)fuzz_odd(in);
	pkt.aeth.syndrome = fuzz_u8(in);
	pkt.aeth.msn = fuzz_u8(in);
	pkt.payload_bytes = lens[flags >> 3 & 1 ? fuzz_u8(in) % 8 : 0];
	if (flags & 8 && fuzz_u8(in) & 1) {
		pkt.payload_bytes = pkt.reth.len_bytes % 1025;
	}
	pkt.pad_bytes = (uint8_t)roce_pad_bytes(pkt.payload_bytes);
	head = roce_pkt_encode_headers(bytes, sizeof(bytes), &pkt);
	memcpy(bytes + head, payload, pkt.payload_bytes + pkt.pad_bytes);
	if (head)
		world_inject(nic, bytes, head + pkt.payload_bytes + pkt.pad_bytes, false);
}

static void raw(struct fuzz_in *in, uint32_t nic)
{
	uint8_t bytes[64];
	size_t len = fuzz_u8(in) % sizeof(bytes);
	uint32_t qpn = nic ? world.pair.b.qpn : world.pair.a.qpn;
	uint8_t how = fuzz_u8(in);

	fuzz_bytes(in, bytes, sizeof(bytes));
	if (how & 1 && len >= 8) {
		bytes[5] = (uint8_t)(qpn >> 16);
		bytes[6] = (uint8_t)(qpn >> 8);
		bytes[7] = (uint8_t)qpn;
	}
	world_inject(nic, bytes, len, how & 2);
}

/* A packet of the real ones, with a byte changed. */
static void damaged(struct fuzz_in *in)
{
	size_t i = fuzz_u8(in);
	uint8_t at = fuzz_u8(in), value = fuzz_u8(in);

	if (world.w->queue_count == 0)
		return;
	i %= world.w->queue_count;
	world.w->queue[i]->bytes[at % world.w->queue[i]->len_bytes] ^= value;
	fake_deliver(world.w, i);
}

static void post(struct fuzz_in *in)
{
	static const enum wqe_opcode opcodes[] = {
	    WQE_OP_SEND, WQE_OP_SEND_IMM,  WQE_OP_WRITE,     WQE_OP_WRITE_IMM,
	    WQE_OP_READ, WQE_OP_ATOMIC_FA, WQE_OP_ATOMIC_CS, WQE_OP_NOP,
	};
	struct fake_qp *qp = fuzz_u8(in) & 1 ? &world.pair.b : &world.pair.a;
	uint8_t kind = fuzz_u8(in);
	enum wqe_opcode opcode = opcodes[kind % 8];
	bool atomic = opcode == WQE_OP_ATOMIC_FA || opcode == WQE_OP_ATOMIC_CS;
	uint32_t len = atomic ? 8 : fuzz_u16(in) % WORLD_REGION_BYTES;
	struct fake_wr wr = {.opcode = opcode,
			     .signal = kind & 8,
			     .fence = kind & 0x10 ? WQE_FM_FENCE : 0,
			     .pieces = {{world.open[qp->nic].va, len, world.open[qp->nic].key}},
			     .piece_count = opcode != WQE_OP_NOP && len,
			     .remote_va = world.open[1 - qp->nic].va,
			     .rkey = world.open[1 - qp->nic].key,
			     .srqn = world.srq.srqn};
	struct fake_address to = fake_to(qp->nic ? &world.pair.a : &world.pair.b);

	if (qp->sq_count == 0)
		return;
	if (qp->type == NIC_QP_DCI) {
		to = world.to;
		wr.stream = fuzz_u8(in) & 3;
		to.dc_key ^= kind == 0x40;
	}
	if ((qp->type == NIC_QP_UD || qp->type == NIC_QP_DCI) && opcode != WQE_OP_NOP)
		wr.to = &to;
	/* Ones that fit the ring, whatever the NIC has done with those before. */
	world_poll(qp);
	if (kind >= 0xc0)
		world_umr(in, qp);
	else
		(void)fake_post(qp, &wr);
	fake_ring(qp);
}

static void receive(struct fuzz_in *in)
{
	struct fake_qp *qp = fuzz_u8(in) & 1 ? &world.pair.a : &world.pair.b;
	struct fake_piece piece = {world.open[qp->nic].va, 1 + fuzz_u16(in) % 4096,
				   world.open[qp->nic].key};

	world_receive(qp, piece);
}

static void pass_time(struct fuzz_in *in)
{
	static const uint64_t ns[] = {1000, 700000, 70000000, 5000000000};

	fake_advance(world.w, ns[fuzz_u8(in) % 4]);
}

static void wire(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	size_t i = how >> 2;

	if (world.w->queue_count == 0)
		return;
	i %= world.w->queue_count;
	if ((how & 3) == 0)
		fake_drop(world.w, i);
	else if ((how & 3) == 1)
		fake_deliver_copy(world.w, i);
	else
		fake_deliver(world.w, i);
}

static void modify(struct fuzz_in *in)
{
	struct fake_qp *qp = fuzz_u8(in) & 1 ? &world.pair.a : &world.pair.b;

	(void)fake_qp_set_state(qp, (enum nic_qp_state)(fuzz_u8(in) % NIC_QP_STATE_COUNT));
}

/* A mark, another algorithm for NIC 0's destination, or a look at all that is counted. */
static void congest(struct fuzz_in *in)
{
	struct fake_world *w = world.w;
	struct nic_dest_key key = {.sl = 0};
	struct stats_flow flows[4];
	uint8_t how = fuzz_u8(in);
	uint32_t from = how & 0x80 ? fuzz_u32(in) : 0;
	size_t i = how >> 2;

	switch (how & 3) {
	case 0:
		if (i < w->queue_count && w->queue[i]->path.ecn == ROCE_ECN_ECT_0)
			w->queue[i]->path.ecn = ROCE_ECN_CE;
		return;
	case 1:
		if (world.mapping != 0)
			FUZZ_CHECK(nic_dest_unmap(w->nics[0], world.mapping, w->now_ns) == 0);
		world.mapping = 0;
		return;
	case 2:
		fake_gid(w, key.dgid, 1);
		if (world.mapping == 0)
			FUZZ_CHECK(nic_dest_map(w->nics[0], &key,
						(enum nic_cc_algorithm)(i % NIC_CC_COUNT),
						w->now_ns, &world.mapping) == 0);
		return;
	default:
		FUZZ_CHECK(nic_stats_flows(w->nics[i & 1], &from, flows, 4, w->now_ns) <= 4);
	}
}

static void step(struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in);
	uint32_t nic = op >> 4 & 1;

	switch (op % 16) {
	case 0:
		raw(in, nic);
		break;
	case 1:
		damaged(in);
		break;
	case 2:
	case 3:
		post(in);
		break;
	case 4:
		receive(in);
		break;
	case 5:
		pass_time(in);
		break;
	case 6:
		world_poll(nic ? &world.pair.b : &world.pair.a);
		break;
	case 7:
		world_deliver(1 + (op >> 5));
		break;
	case 8:
	case 9:
		wire(in);
		break;
	case 10:
		if (op & 0x80)
			modify(in);
		else if (op & 0x40)
			congest(in);
		else
			forge_note(in, nic);
		break;
	default:
		forge(in, nic);
		(void)fake_run(world.w, nic);
	}
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
