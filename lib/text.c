/* SPDX-License-Identifier: BSD-2-Clause */
/* text.c - completions and statuses in words. */
#include "lib/lib.h"

#include <stdio.h>

/* Words, and what a person may want to look at, of each status. */
static const struct {
	const char *words;
	const char *hint;
} statuses[] = {
    [RIG_OK] = {"done", ""},
    [RIG_LOCAL_LENGTH] = {"local length error", "a message longer than its receive"},
    [RIG_LOCAL_QP_OPERATION] = {"local queue pair operation error",
				"an entry that the NIC cannot execute"},
    [RIG_LOCAL_PROTECTION] = {"local protection error",
			      "a local piece's key, range or right is wrong"},
    [RIG_FLUSHED] = {"flushed", "the queue pair failed before it was run"},
    [RIG_MW_BIND] = {"memory window bind error", ""},
    [RIG_BAD_RESPONSE] = {"bad response", "the peer answered what was not asked"},
    [RIG_LOCAL_ACCESS] = {"local access error", ""},
    [RIG_REMOTE_INVALID_REQUEST] = {"remote invalid request",
				    "the peer cannot execute it, or its receive was too short"},
    [RIG_REMOTE_ACCESS] = {"remote access error", "the remote key, range or right is wrong"},
    [RIG_REMOTE_OPERATION] = {"remote operation error", "the peer failed to execute it"},
    [RIG_RETRY_EXCEEDED] = {"retry exceeded", "the peer did not acknowledge: gone, not connected"
					      " back, or another address"},
    [RIG_RNR_EXCEEDED] = {"receiver-not-ready retries exceeded", "the peer posted no receive"},
    [RIG_REMOTE_ABORTED] = {"remote aborted", ""},
    [RIG_UNEXPECTED] = {"unexpected completion", "of a kind that this library does not know"},
};

static const char *const op_names[] = {
	[RIG_WRITE] = "write",	       [RIG_READ] = "read",
	[RIG_SEND] = "send",	       [RIG_FETCH_ADD] = "fetch-and-add",
	[RIG_COMPARE_SWAP] = "compare-and-swap",
};

const char *rig_status_text(enum rig_status status)
{
	if ((unsigned int)status >= sizeof(statuses) / sizeof(statuses[0]))
		return "no status";
	return statuses[status].words;
}

/* subject - "queue pair 0x4011 entry 12 (write)" */
static void subject(const struct rig_wc *wc, char *text, size_t size)
{
	const char *op = wc->op < sizeof(op_names) / sizeof(op_names[0]) ? op_names[wc->op] : "?";

	if (wc->kind == RIG_WC_ENTRY)
		snprintf(text, size, "queue pair 0x%x entry %u (%s)", wc->qp, wc->index, op);
	else if (wc->kind == RIG_WC_RECEIVE)
		snprintf(text, size, "queue pair 0x%x receive %u (of a %s)", wc->qp, wc->index, op);
	else
		snprintf(text, size, "queue pair 0x%x", wc->qp);
}

int rig_wc_text(const struct rig_wc *wc, char *text, size_t size)
{
	char who[96], imm[32] = "", from[32] = "";
	const char *words, *hint;

	if (!wc || (size && !text))
		return lib_fail(EINVAL, "rig_wc_text: no completion, or no place for its text");
	subject(wc, who, sizeof(who));
	words = rig_status_text((enum rig_status)wc->status);
	if (wc->status == RIG_OK) {
		if (wc->flags & RIG_WC_IMM_F)
			snprintf(imm, sizeof(imm), ", immediate 0x%x", wc->imm);
		if (wc->source_qp)
			snprintf(from, sizeof(from), " from queue pair 0x%x", wc->source_qp);
		if (wc->len_bytes || wc->kind == RIG_WC_RECEIVE)
			return snprintf(text, size, "%s: %s, %u bytes%s%s", who, words,
					wc->len_bytes, from, imm);
		return snprintf(text, size, "%s: %s%s", who, words, imm);
	}
	hint = wc->status <= RIG_UNEXPECTED ? statuses[wc->status].hint : "";
	return snprintf(text, size, "%s: %s (0x%02x)%s%s", who, words, wc->vendor_syndrome,
			*hint ? ": " : "", hint);
}
