/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.h - what an entry becomes in the send ring: checked, measured, then written.
 *
 * Measuring touches no byte of a ring, so a refused entry leaves no trace. Pure; any thread.
 */
#ifndef LIB_ENTRY_H
#define LIB_ENTRY_H

#include "lib/lib.h"

struct lib_entry_plan {
	enum wqe_opcode opcode;
	uint32_t units;		/* 16-byte units, ctrl included */
	uint32_t piece_count;	/* that are not empty */
	uint64_t data_bytes;	/* of the message */
};

/* lib_entry_plan - 0 and *plan, or -EINVAL, call's error: no queue pair could run the entry. */
int lib_entry_plan(const struct rig_entry *entry, const char *call, struct lib_entry_plan *plan);

/*
 * lib_entry_write - the entry, at position pos of qp's send ring, which has room for it. The ctrl
 * segment's first 8 bytes are returned, as they are in memory.
 */
uint64_t lib_entry_write(const struct rig_qp *qp, const struct rig_entry *entry,
			 const struct lib_entry_plan *plan, uint32_t pos);

/* LIB_FM_CE_SE - the completion, fence and solicited bits that go with RIG_*_F flags 0 to 7. */
#define LIB_FM_CE_SE(flags)                                                                      \
	(((flags)&RIG_SIGNAL_F ? WQE_CE_ALWAYS : 0) | ((flags)&RIG_FENCE_F ? WQE_FM_FENCE : 0) | \
	 ((flags)&RIG_SOLICITED_F ? WQE_SOLICITED_F : 0))

#endif
