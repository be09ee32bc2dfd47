/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wqe_ops.h - the operations whose entries are kept in tests/golden/wqe: what is asked for, in
 * words of no library.
 *
 * tests/run/record_wqes.c asks libmlx5 for them and records the bytes; the tests ask our library,
 * and compare, and say what the NIC must read in them. Addresses and keys are numbers only: nothing
 * stands behind them when entries are recorded.
 */
#ifndef TESTS_SUPPORT_WQE_OPS_H
#define TESTS_SUPPORT_WQE_OPS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	OP_PIECES_MAX = 4,
	OP_INLINE_MAX = 400,
	OP_POISON = 0x5a, /* what the ring is full of before: a byte left so was not written */
};

#define OP_QPN        0x00c0deu
#define OP_LKEY       0x1a1b1c00u /* of piece i: + i */
#define OP_RKEY       0x2a2b2c2du
#define OP_LOCAL_VA   0x10a00000ull /* of piece i: + 0x10000 * i */
#define OP_PIECE_STEP 0x10000u
#define OP_REMOTE_VA  0x10b00000ull
#define OP_IMM        0x01020304u
#define OP_INVAL_KEY  0x3a3b3c3du
#define OP_SWAP_ADD   0x0102030405060708ull
#define OP_COMPARE    0x1112131415161718ull
#define OP_SRQN       0x00456789u /* 24 bits count */
#define OP_DQPN       0x0089abcdu
#define OP_QKEY       0x11223344u
#define OP_DC_KEY     0x2122232425262728ull
#define OP_SL         3
#define OP_TCLASS     0x48
#define OP_HOP_LIMIT  17
#define OP_FLOW       0x12345u

/* Of operations on keys. */
#define OP_WINDOW_KEY 0x4a4b4c4du /* before; after: + 1 */
#define OP_MKEY       0x5b5c5d5eu
#define OP_OPAQUE_KEY 0x6a6b6c6du /* of the memory that a copy's entry names beside */
#define OP_OPAQUE_VA  0x10c00000ull

enum {
	OP_BIND_BYTES = 3000,
	OP_MKEY_PIECE_BYTES = 512, /* of piece i: + i */
	OP_MKEY_SKIP_BYTES = 24,
	OP_MKEY_ROUNDS = 3,
	OP_COPY_BYTES = 5000,
	OP_BLOCK_BYTES = 512, /* one block, and its T10-DIF */
	OP_DIF_BYTES = 8,
	OP_DIF_APP = 0xabcd,
	OP_DIF_REF = 0x1234,
};

/* Of what transport. */
enum {
	OP_RC = 1,
	OP_UC = 2,
	OP_UD = 4,
	OP_XRC = 8,
	OP_DC = 16, /* an initiator; libmlx5 posts to it in the new way only */
	OP_RAW = 32,
	OP_CONNECTED = OP_RC | OP_UC | OP_XRC | OP_DC,
	OP_RELIABLE = OP_RC | OP_XRC | OP_DC,
	OP_ANY = OP_CONNECTED | OP_UD
};

enum op_kind {
	OP_WRITE,
	OP_SEND,
	OP_READ,
	OP_COMPARE_SWAP,
	OP_FETCH_ADD,
};

enum {
	OP_SIGNAL_F = 1 << 0,
	OP_FENCE_F = 1 << 1,
	OP_SOLICITED_F = 1 << 2,
	OP_INLINE_F = 1 << 3, /* the pieces are copied into the entry, as one */
	OP_IMM_F = 1 << 4,
	OP_INVAL_F = 1 << 5,
	OP_RING_END_F = 1 << 6, /* the entry starts in the ring's last block */
	OP_WRAPS_F = 1 << 7,    /* one block before that, and goes around the end */
};

struct wqe_op {
	const char *name;
	enum op_kind kind;
	uint32_t transports;
	uint32_t flags;
	uint32_t piece_count;
	uint32_t len_bytes[OP_PIECES_MAX];
};

static const struct wqe_op wqe_ops[] = {
    {"write", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F, 1, {100}},
    {"write_unsignaled", OP_WRITE, OP_CONNECTED, 0, 1, {100}},
    {"write_fence", OP_WRITE, OP_RELIABLE, OP_SIGNAL_F | OP_FENCE_F, 1, {100}},
    {"write_empty", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F, 0, {0}},
    {"write_zero_piece", OP_WRITE, OP_RC, OP_SIGNAL_F, 1, {0}},
    {"write_3_pieces", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F, 3, {100, 1, 4096}},
    {"write_piece_between_empty", OP_WRITE, OP_RC, OP_SIGNAL_F, 3, {0, 50, 0}},
    {"write_4_pieces_ring_end", OP_WRITE, OP_RC, OP_SIGNAL_F | OP_RING_END_F, 4, {1, 2, 3, 4}},
    {"write_imm", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F | OP_IMM_F, 1, {100}},
    {"write_imm_solicited", OP_WRITE, OP_CONNECTED, OP_SOLICITED_F | OP_IMM_F, 1, {100}},
    {"write_imm_empty", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F | OP_IMM_F, 0, {0}},
    {"write_inline_0", OP_WRITE, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 1, {0}},
    {"write_inline_1", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F | OP_INLINE_F, 1, {1}},
    {"write_inline_8", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F | OP_INLINE_F, 1, {8}},
    {"write_inline_12", OP_WRITE, OP_RC, OP_INLINE_F, 1, {12}},
    {"write_inline_28", OP_WRITE, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 1, {28}},
    {"write_inline_29", OP_WRITE, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 1, {29}},
    {"write_inline_300", OP_WRITE, OP_CONNECTED, OP_SIGNAL_F | OP_INLINE_F, 1, {300}},
    {"write_inline_ring_end",
     OP_WRITE,
     OP_CONNECTED,
     OP_SIGNAL_F | OP_INLINE_F | OP_RING_END_F,
     1,
     {300}},
    {"write_inline_wraps",
     OP_WRITE,
     OP_CONNECTED,
     OP_SIGNAL_F | OP_INLINE_F | OP_WRAPS_F,
     1,
     {300}},
    {"write_inline_3_pieces", OP_WRITE, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 3, {5, 0, 70}},
    {"write_inline_3_pieces_ring_end",
     OP_WRITE,
     OP_RC,
     OP_SIGNAL_F | OP_INLINE_F | OP_RING_END_F,
     3,
     {20, 30, 40}},
    {"write_inline_imm", OP_WRITE, OP_CONNECTED, OP_INLINE_F | OP_IMM_F, 1, {8}},
    {"send", OP_SEND, OP_ANY, OP_SIGNAL_F, 1, {100}},
    {"send_unsignaled", OP_SEND, OP_ANY, 0, 1, {100}},
    {"send_solicited", OP_SEND, OP_ANY, OP_SIGNAL_F | OP_SOLICITED_F, 1, {100}},
    {"send_fence", OP_SEND, OP_RELIABLE, OP_SIGNAL_F | OP_FENCE_F, 1, {100}},
    {"send_every_flag",
     OP_SEND,
     OP_RELIABLE,
     OP_SIGNAL_F | OP_SOLICITED_F | OP_FENCE_F | OP_IMM_F,
     1,
     {100}},
    {"send_empty", OP_SEND, OP_ANY, OP_SIGNAL_F, 0, {0}},
    {"send_2_pieces", OP_SEND, OP_ANY, OP_SIGNAL_F, 2, {100, 200}},
    {"send_imm", OP_SEND, OP_ANY, OP_SIGNAL_F | OP_IMM_F, 1, {100}},
    {"send_inval", OP_SEND, OP_RC | OP_XRC, OP_SIGNAL_F | OP_INVAL_F, 1, {100}},
    {"send_inline_1", OP_SEND, OP_ANY, OP_SIGNAL_F | OP_INLINE_F, 1, {1}},
    {"send_inline_44", OP_SEND, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 1, {44}},
    {"send_inline_45", OP_SEND, OP_RC, OP_SIGNAL_F | OP_INLINE_F, 1, {45}},
    {"send_inline_imm", OP_SEND, OP_ANY, OP_INLINE_F | OP_IMM_F, 1, {8}},
    {"send_inline_ring_end", OP_SEND, OP_ANY, OP_SIGNAL_F | OP_INLINE_F | OP_RING_END_F, 1, {300}},
    {"send_inline_wraps", OP_SEND, OP_ANY, OP_SIGNAL_F | OP_INLINE_F | OP_WRAPS_F, 1, {300}},
    {"read", OP_READ, OP_RELIABLE, OP_SIGNAL_F, 1, {100}},
    {"read_fence", OP_READ, OP_RELIABLE, OP_SIGNAL_F | OP_FENCE_F, 1, {100}},
    {"read_empty", OP_READ, OP_RC, OP_SIGNAL_F, 0, {0}},
    {"read_3_pieces", OP_READ, OP_RELIABLE, OP_SIGNAL_F, 3, {100, 1, 4096}},
    {"compare_swap", OP_COMPARE_SWAP, OP_RELIABLE, OP_SIGNAL_F, 1, {8}},
    {"compare_swap_unsignaled", OP_COMPARE_SWAP, OP_RC, 0, 1, {8}},
    {"fetch_add", OP_FETCH_ADD, OP_RELIABLE, OP_SIGNAL_F, 1, {8}},
    {"fetch_add_fence", OP_FETCH_ADD, OP_RC, OP_SIGNAL_F | OP_FENCE_F, 1, {8}},
};

enum { WQE_OPS = sizeof(wqe_ops) / sizeof(wqe_ops[0]) };

/* Of raw packet queue pairs: whole frames, behind an Ethernet segment. */
static const struct wqe_op wqe_frames[] = {
    {"frame", OP_SEND, OP_RAW, OP_SIGNAL_F, 1, {100}},
    {"frame_unsignaled", OP_SEND, OP_RAW, 0, 1, {100}},
    {"frame_solicited", OP_SEND, OP_RAW, OP_SIGNAL_F | OP_SOLICITED_F, 1, {100}},
    {"frame_3_pieces", OP_SEND, OP_RAW, OP_SIGNAL_F, 3, {14, 1, 985}},
    {"frame_inline_60", OP_SEND, OP_RAW, OP_SIGNAL_F | OP_INLINE_F, 1, {60}},
    {"frame_inline_300", OP_SEND, OP_RAW, OP_SIGNAL_F | OP_INLINE_F, 1, {300}},
    {"frame_inline_3_pieces", OP_SEND, OP_RAW, OP_SIGNAL_F | OP_INLINE_F, 3, {14, 0, 70}},
};

enum { WQE_FRAMES = sizeof(wqe_frames) / sizeof(wqe_frames[0]) };

/* Receives. Room for OP_PIECES_MAX in a queue pair's ring, for one less in a shared one. */
struct wqe_receive {
	const char *name;
	bool shared;
	uint32_t piece_count;
	uint32_t len_bytes[OP_PIECES_MAX];
};

static const struct wqe_receive wqe_receives[] = {
    {"receive_0", false, 0, {0}},
    {"receive_1", false, 1, {100}},
    {"receive_between_empty", false, 3, {0, 50, 0}},
    {"receive_3", false, 3, {100, 1, 4096}},
    {"receive_4", false, 4, {100, 1, 4096, 20}},
    {"shared_0", true, 0, {0}},
    {"shared_1", true, 1, {100}},
    {"shared_2", true, 2, {100, 1}},
    {"shared_3", true, 3, {100, 1, 4096}},
};

enum { WQE_RECEIVES = sizeof(wqe_receives) / sizeof(wqe_receives[0]) };

/* op_inline_byte - byte i of the data that is copied into entries; none is OP_POISON. */
static inline uint8_t op_inline_byte(uint32_t i)
{
	return (uint8_t)(0x80 | (i * 7 + 1));
}

/* op_recordings - how often it was recorded. */
static inline uint32_t op_recordings(const struct wqe_op *op)
{
	uint32_t both = op->transports & ~(uint32_t)OP_DC;

	return 2 * (uint32_t)__builtin_popcount(both) + (op->transports & OP_DC ? 1 : 0);
}

static inline uint32_t op_bytes(const struct wqe_op *op)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < op->piece_count; i++)
		sum += op->len_bytes[i];
	return sum;
}

#endif
