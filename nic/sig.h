/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sig.h - signatures of blocks, as sig.c and the files that know of them share them.
 *
 * A key with a signature has two sides. In memory, the bytes of its pieces; on the wire, what
 * messages carry, which is also what its addresses count. Each side may have a signature behind
 * every block of data; the data are the same on both.
 */
#ifndef NIC_SIG_H
#define NIC_SIG_H

#include "nic/nic_priv.h"

enum nic_sig_type {
	NIC_SIG_NONE,
	NIC_SIG_CRC32,
	NIC_SIG_CRC32C,
	NIC_SIG_CRC64,
	NIC_SIG_T10_CRC, /* guard:16 | application tag:16 | reference tag:32 */
	NIC_SIG_T10_CSUM,
};

enum { NIC_SIG_BYTES_MAX = 8, NIC_SIG_BLOCK_MAX = 4160 };

/* One side. */
struct nic_sig_side {
	uint8_t type;  /* enum nic_sig_type */
	uint8_t bytes; /* of a signature */
	uint8_t flags; /* T10-DIF: BSF_INC_REF_F, BSF_*_ESCAPE_F */
	uint16_t block_bytes;
	uint32_t psv; /* where its seed and tags are */
};

struct nic_sig {
	bool enabled;
	bool told;          /* of an error; not again until a send queue says so */
	uint8_t check_mask; /* bit 7: the first byte of a signature, as the application sees it */
	uint8_t copy_mask;
	uint8_t partial[NIC_SIG_BYTES_MAX]; /* of a signature that comes in two packets */
	struct nic_sig_side wire;
	struct nic_sig_side mem;
};

/* Seed and tags of a side: what SET_PSV stores. */
struct nic_psv {
	bool live;
	uint32_t pdn;
	uint64_t signature;
};

/* nic_crc_run - the checksum's state after n more bytes; nic_crc_end - what is stored of it. */
uint64_t nic_crc_run(enum nic_sig_type type, uint64_t state, const uint8_t *bytes, uint32_t n);
uint64_t nic_crc_end(enum nic_sig_type type, uint64_t state);

#endif
