/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - what a NIC and the kernel's model tell of themselves while they work, and a line of
 * text for each.
 *
 * An entry that was fetched and a completion that was written are told as bytes. A failure is told
 * where it is noticed, with all that is known there: the responder knows its key, what that names
 * and what was wanted; the requester knows which NAK came and what it had asked for.
 *
 * The texts are for people: they end in a NUL, and in "..." where the buffer ended first. They
 * never trust a length that they print. No state; any thread.
 */
#ifndef ABI_TRACE_H
#define ABI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRACE_TEXT_BYTES = 172, /* of one line, with its NUL: 200 with what stands before it */
};

enum trace_kind {
	TRACE_SEND, /* an entry of a send queue is begun: bytes, address */
	TRACE_RECV, /* an entry of a receive queue is taken: bytes are its pieces */
	TRACE_CQE,  /* number is a completion queue's: bytes are 64 */
	TRACE_DENY, /* a request is not carried out: syndrome is the AETH's, 0: silently; reason */
	TRACE_FAIL, /* an entry of a send queue fails: syndrome is the completion's; reason */
	TRACE_RECV_FAIL, /* likewise one of a receive queue */
	TRACE_NAK_SENT,  /* syndrome is the AETH's; psn */
	TRACE_NAK_CAME,
	TRACE_RETRY, /* nobody answered for wait_ns: all from psn on is sent again */
};

/* X-macro: why something failed: token, and words where they are always the same. */
#define TRACE_REASONS(X)                                                                      \
	X(UNKNOWN, "")                                                                        \
	X(KEY, "")                                                                            \
	X(MEMORY, "the memory behind the key is not there")                                   \
	X(ORDER, "the packet does not go on with the message that was begun")                 \
	X(PACKET_LENGTH, "the packet's length does not fit its opcode and the path MTU")      \
	X(ANNOUNCED, "the message is not as long as announced, or longer than allowed")       \
	X(NO_QP_WRITE, "the queue pair does not let its peer write (qp_access_flags)")        \
	X(NO_QP_READ, "the queue pair does not let its peer read (qp_access_flags)")          \
	X(NO_QP_ATOMIC, "the queue pair does not let its peer do atomics (qp_access_flags)")  \
	X(UNALIGNED, "the address of an atomic is no multiple of its length")                 \
	X(SCATTERED, "the value of an atomic lies in several places")                         \
	X(RD_ATOMIC, "more READs and atomics at once than max_dest_rd_atomic")                \
	X(INVALIDATE, "the peer may not invalidate the key")                                  \
	X(NO_RECEIVE, "no receive is posted")                                                 \
	X(RECEIVE_SHORT, "")                                                                  \
	X(RECEIVE_RING, "the receive cannot be read from its ring")                           \
	X(RECEIVE_RECORD, "the doorbell record of receives cannot be read or makes no sense") \
	X(XRC_SRQ, "the SRQ that is named is no XRC one of the queue pair's domain")          \
	X(QKEY, "the Q_Key is not the queue pair's")                                          \
	X(DC_KEY, "the access key is not the DC target's")                                    \
	X(DC_INITIATORS, "the DC target serves too many initiators at once")                  \
	X(NO_QP, "there is no such queue pair for this opcode")                               \
	X(QP_STATE, "the queue pair is in no state to take it")                               \
	X(ADDRESS, "it is not from the peer that the queue pair is connected to")             \
	X(UNREADABLE, "the entry cannot be read, or is empty")                                \
	X(NOT_POSTED, "the entry is longer than what is posted")                              \
	X(OPCODE, "no such opcode on this queue pair")                                        \
	X(SEGMENTS, "the segments do not fit the opcode")                                     \
	X(NO_RD_ATOMIC, "READs and atomics need max_rd_atomic of 1 or more")                  \
	X(LENGTH, "")                                                                         \
	X(LOCAL, "what it asks of the key is not allowed now")                                \
	X(CHANGED, "the entry was overwritten before it was complete")                        \
	X(REFUSED, "")                                                                        \
	X(NO_ANSWER, "")                                                                      \
	X(NEVER_RECEIVE, "")                                                                  \
	X(RESPONSE, "the response is not as long as was asked for")

enum trace_reason {
#define TRACE_REASON_ENUM(token, words) TRACE_BY_##token,
	TRACE_REASONS(TRACE_REASON_ENUM)
#undef TRACE_REASON_ENUM
};

/* What a look-up found behind a key. */
enum trace_key_state {
	TRACE_KEY_NONE,  /* nothing */
	TRACE_KEY_OLD,   /* another key: `other` */
	TRACE_KEY_FREE,  /* a key that is not bound, or was invalidated */
	TRACE_KEY_PD,    /* one of another protection domain: `other` */
	TRACE_KEY_QP,    /* one for another queue pair: `other` */
	TRACE_KEY_PEERS, /* a window, which is for peers only */
	TRACE_KEY_THERE, /* it: range and rights say what was wrong, else a key beneath it */
};

/* Rights, as IB_UVERBS_ACCESS_* and the NIC's own have them. */
#define TRACE_LOCAL_WRITE_F   (1u << 0)
#define TRACE_REMOTE_WRITE_F  (1u << 1)
#define TRACE_REMOTE_READ_F   (1u << 2)
#define TRACE_REMOTE_ATOMIC_F (1u << 3)

struct trace_event {
	enum trace_kind kind;
	enum trace_reason reason;
	uint32_t number; /* the queue pair's, unless the kind says otherwise */
	uint16_t index;  /* of an entry */
	uint8_t opcode;  /* of an entry that fails: the WQE's */
	uint8_t syndrome;
	uint8_t address; /* enum wqe_address */
	const void *bytes;
	size_t len_bytes;
	/* What was wanted, and of which key; without a key: SENDs. */
	uint32_t key;
	uint32_t access;
	uint64_t va;
	uint64_t want_bytes;
	/* What that key is. */
	enum trace_key_state key_state;
	uint32_t other;
	uint32_t key_access;
	uint64_t key_va;
	uint64_t key_bytes;
	/* RECEIVE_SHORT and LENGTH: how much there may be. */
	uint64_t limit_bytes;
	uint32_t psn;
	uint32_t tries; /* NO_ANSWER, NEVER_RECEIVE: made; TRACE_RETRY: left */
	uint64_t wait_ns;
};

/* trace_text - "deny qpn 0x12: remote access error: key 0x1234 names [0x1000, 0x2000) without
 * remote write; the request wanted 8 bytes at 0x1000". Returns the characters written. */
size_t trace_text(char *buf, size_t cap_bytes, const struct trace_event *event);

/* trace_status_name - "IBV_WC_REM_ACCESS_ERR", ...; NULL for a byte that is no syndrome. */
const char *trace_status_name(uint8_t syndrome);

/* ---- verbs ----------------------------------------------------------------------------------- */

enum { TRACE_FIELDS_MAX = 16 };

/* One number of a verb, or a word for it. */
struct trace_field {
	const char *name;
	const char *word; /* NULL: value counts */
	uint64_t value;
	bool is_hex;
};

struct trace_verb {
	const char *name; /* NULL: no such method; object and method are numbers */
	uint16_t object;
	uint16_t method;
	uint32_t count; /* of fields; those from `asked` on are the answer */
	uint32_t asked;
	struct trace_field fields[TRACE_FIELDS_MAX];
	int result; /* 0 or -errno */
};

/* trace_verb_add - one field more; what does not fit is left out. */
void trace_verb_add(struct trace_verb *verb, const struct trace_field *field);

/* trace_verb_text - "CREATE_QP type RC send_cq 0x3 -> 0 qpn 0x12", "REG_MR len 0 -> -EINVAL". */
size_t trace_verb_text(char *buf, size_t cap_bytes, const struct trace_verb *verb);

#endif
