/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mkey.h - memory keys, as the files of the core share them: part of nic_priv.h.
 */
#ifndef NIC_MKEY_H
#define NIC_MKEY_H

#include "nic/nic.h"

struct nic_qp;
struct nic_wqe;
struct nic_fault;
struct nic_place;

struct nic_mkey {
	uint64_t va;
	uint64_t len_bytes;
	uint64_t host_va;
	uint32_t pdn;
	uint8_t tag;
	uint8_t access : 7; /* NIC_ACCESS_*_F */
	bool synced : 1;
	uint8_t state;    /* enum nic_mkey_state */
	uint8_t kind : 3; /* enum nic_mkey_kind */
	bool umr : 1;
	bool remote_invalidate : 1;
	bool signature : 1; /* it may have signature attributes */
};

_Static_assert(sizeof(struct nic_mkey) == 32, "two in a cache line");

enum nic_mkey_state {
	NIC_MKEY_NONE,
	NIC_MKEY_PLAIN, /* a region, good on any queue pair */
	NIC_MKEY_OTHER, /* usable; where it leads is in its struct nic_mkey_more */
	NIC_MKEY_FREE,  /* not usable until a send queue makes it so */
};

/* A piece of a key, as it is used: struct nic_klm, and where it ends. */
struct nic_step {
	uint64_t va;
	uint64_t end; /* bytes of the list, of a strided one of a round, up to this piece's end */
	uint32_t key;
	uint32_t len_bytes;
	uint32_t stride; /* from one round's start of the piece to the next one's */
	uint32_t next_free;
};

/* What a key that is no plain region has beside its struct nic_mkey. */
struct nic_mkey_more {
	uint32_t qpn; /* the only queue pair it is good on; NIC_QPN_ANY */
	uint32_t step_count;
	uint32_t repeat;   /* rounds of a strided list; 0: it is none */
	uint32_t room;     /* its first step in nic->steps */
	uint8_t room_log2; /* and how many there are; a window has none but `own` */
	uint8_t entity_log2;
	struct nic_step own;
};

#define NIC_QPN_ANY 0xffffffu

/* ---- mkey.c: every key's life ---------------------------------------------------------------- */

/* nic_mkey_find - the key of any state with this index and tag; NULL: there is none. */
struct nic_mkey *nic_mkey_find(const struct nic *nic, uint32_t key);
/* nic_mkey_steps - the pieces of a key that is no region. */
struct nic_step *nic_mkey_steps(const struct nic *nic, const struct nic_mkey *mkey);
/* nic_mkey_room - how many pieces it may have. */
uint32_t nic_mkey_room(const struct nic_mkey *mkey, const struct nic_mkey_more *more);
/* nic_mkey_invalidates - whether a SEND that comes to qp may make key free. */
bool nic_mkey_invalidates(const struct nic *nic, const struct nic_qp *qp, uint32_t key);
void nic_mkey_invalidate(struct nic *nic, uint32_t key);
/* nic_steps_sum - puts the ends of a list's pieces right after some of them changed. */
void nic_steps_sum(struct nic_step *steps, uint32_t count);

/* ---- indirect.c: from a key that is made of pieces to the bytes ------------------------------ */

/* What a look-up says. */
enum nic_mem {
	NIC_MEM_OK,
	NIC_MEM_KEY,    /* no such key in this protection domain */
	NIC_MEM_RANGE,  /* outside its region */
	NIC_MEM_RIGHTS, /* the region does not allow it */
	NIC_MEM_SHORT,  /* the list of pieces ends first */
	NIC_MEM_FAULT,  /* the memory is not there */
};

/* nic_indirect_check - nic_mem_check for what is no plain region. */
enum nic_mem nic_indirect_check(const struct nic *nic, uint64_t who, uint32_t key, uint64_t va,
				uint64_t len_bytes, uint32_t access, struct nic_place *place);
/* nic_indirect_next - the place of [va, va + *len_bytes) of key `index`, *len_bytes cut where that
 * place ends. */
enum nic_mem nic_indirect_next(const struct nic *nic, uint32_t index, uint64_t va, uint32_t access,
			       uint64_t *len_bytes, struct nic_place *place);

#endif
