/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.h - one line of text for a WQE, a CQE or a packet, in the caller's buffer.
 *
 * For messages and traces: the bytes may be anything. The text ends in a NUL and is cut where the
 * buffer ends; DUMP_BYTES holds all but the longest lists. Returns the characters written, the NUL
 * not counted. No state; any thread.
 */
#ifndef ABI_DUMP_H
#define ABI_DUMP_H

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_wqe.h"
#include "abi/roce_pkt.h"

enum {
	DUMP_BYTES = 256,
};

/* wqe_opcode_name - "WRITE", "SEND_IMM", ...; NULL for a byte that is no opcode. */
const char *wqe_opcode_name(uint8_t opcode);

/* cqe_opcode_name - "REQ", "RESP_SEND", ...; NULL for a nibble that is no opcode. */
const char *cqe_opcode_name(uint8_t opcode);

/* cqe_syndrome_words - "retry exceeded", ...; NULL for a byte that is no syndrome. */
const char *cqe_syndrome_words(uint8_t syndrome);

/*
 * wqe_dump - a send queue entry, such as "WRITE index 7 qpn 0x12 ds 3 signal | va 0x10 rkey 0x20 |
 * 64 bytes lkey 0x30 va 0x40".
 *
 *   wqe        its first block; len_bytes bytes, already unwrapped, may be read
 *   address    whether a 48-byte address vector follows the ctrl segment, and of which kind
 */
size_t wqe_dump(char *buf, size_t cap_bytes, const void *wqe, size_t len_bytes,
		enum wqe_address address);

/* wqe_recv_dump - a receive queue entry: the data segments in len_bytes bytes at wqe. */
size_t wqe_recv_dump(char *buf, size_t cap_bytes, const void *wqe, size_t len_bytes);

/* cqe_dump - a completion. */
size_t cqe_dump(char *buf, size_t cap_bytes, const struct cqe64 *cqe);

/* roce_pkt_dump - a decoded packet: opcode, queue pair, PSN, extended headers, payload length. */
size_t roce_pkt_dump(char *buf, size_t cap_bytes, const struct roce_pkt *pkt);

#endif
