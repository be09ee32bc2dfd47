/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c - the texts of traces. */
#include "abi/trace.h"

#include "abi/dump.h"

#include "base/text.h"

#include <linux/errno.h>

static void put_dec(struct base_text *text, const char *label, uint64_t value)
{
	base_text_str(text, label);
	base_text_dec(text, value);
}

static void put_hex(struct base_text *text, const char *label, uint64_t value)
{
	base_text_str(text, label);
	base_text_hex(text, value);
}

/* The length of the text, whose end says whether something is missing. */
static size_t finish(struct base_text *text)
{
	if (text->truncated && text->len_bytes >= 3)
		memcpy(text->buf + text->len_bytes - 3, "...", 3);
	return text->len_bytes;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *trace_status_name(uint8_t syndrome)
{
	switch ((enum cqe_syndrome)syndrome) {
	case CQE_SYND_LOCAL_LENGTH:
		return "IBV_WC_LOC_LEN_ERR";
	case CQE_SYND_LOCAL_QP_OP:
		return "IBV_WC_LOC_QP_OP_ERR";
	case CQE_SYND_LOCAL_PROT:
		return "IBV_WC_LOC_PROT_ERR";
	case CQE_SYND_WR_FLUSH:
		return "IBV_WC_WR_FLUSH_ERR";
	case CQE_SYND_MW_BIND:
		return "IBV_WC_MW_BIND_ERR";
	case CQE_SYND_BAD_RESP:
		return "IBV_WC_BAD_RESP_ERR";
	case CQE_SYND_LOCAL_ACCESS:
		return "IBV_WC_LOC_ACCESS_ERR";
	case CQE_SYND_REMOTE_INVAL_REQ:
		return "IBV_WC_REM_INV_REQ_ERR";
	case CQE_SYND_REMOTE_ACCESS:
		return "IBV_WC_REM_ACCESS_ERR";
	case CQE_SYND_REMOTE_OP:
		return "IBV_WC_REM_OP_ERR";
	case CQE_SYND_RETRY_EXC:
		return "IBV_WC_RETRY_EXC_ERR";
	case CQE_SYND_RNR_RETRY_EXC:
		return "IBV_WC_RNR_RETRY_EXC_ERR";
	case CQE_SYND_REMOTE_ABORTED:
		return "IBV_WC_REM_ABORT_ERR";
	}
	return NULL;
}

/* As the requester's completion will call it. */
static const char *nak_words(uint8_t syndrome)
{
	switch (roce_aeth_kind(syndrome)) {
	case ROCE_AETH_RNR:
		return "receiver not ready";
	case ROCE_AETH_NAK:
		break;
	case ROCE_AETH_ACK:
	case ROCE_AETH_RESERVED:
		return "dropped";
	}
	switch (syndrome) {
	case ROCE_NAK_PSN_SEQUENCE:
		return "PSN sequence error";
	case ROCE_NAK_INVALID_REQUEST:
		return cqe_syndrome_words(CQE_SYND_REMOTE_INVAL_REQ);
	case ROCE_NAK_REMOTE_ACCESS:
		return cqe_syndrome_words(CQE_SYND_REMOTE_ACCESS);
	case ROCE_NAK_REMOTE_OPERATION:
		return cqe_syndrome_words(CQE_SYND_REMOTE_OP);
	}
	return "unknown NAK";
}

static void put_opcode(struct base_text *text, uint8_t opcode)
{
	if (wqe_opcode_name(opcode))
		base_text_str(text, wqe_opcode_name(opcode));
	else
		put_hex(text, "opcode ", opcode);
}

/* ---- reasons --------------------------------------------------------------------------------- */

/* The first of the rights that are missing. */
static const char *right_name(uint32_t access)
{
	if (access & TRACE_LOCAL_WRITE_F)
		return "local write";
	if (access & TRACE_REMOTE_WRITE_F)
		return "remote write";
	if (access & TRACE_REMOTE_READ_F)
		return "remote read";
	return "remote atomic";
}

/* Where the wanted bytes are; outside of what the key names, as seen from there. */
static void put_place(struct base_text *text, const struct trace_event *event)
{
	uint64_t off = event->va - event->key_va;

	if (event->key_state != TRACE_KEY_THERE) {
		put_hex(text, " at ", event->va);
	} else if (event->va < event->key_va) {
		put_dec(text, " at start - ", event->key_va - event->va);
	} else if (off >= event->key_bytes) {
		put_dec(text, " at end + ", off - event->key_bytes);
	} else {
		put_hex(text, " at ", event->va);
		if (event->want_bytes > event->key_bytes - off) {
			put_dec(text, ", ", event->want_bytes - (event->key_bytes - off));
			base_text_str(text, " too many");
		}
	}
}

static bool is_inside(const struct trace_event *event)
{
	uint64_t off = event->va - event->key_va;

	return event->va >= event->key_va && off <= event->key_bytes &&
	       event->want_bytes <= event->key_bytes - off;
}

static void put_key_state(struct base_text *text, const struct trace_event *event)
{
	uint32_t missing = event->access & ~event->key_access;

	put_hex(text, event->key_state == TRACE_KEY_NONE ? "there is no key " : "key ", event->key);
	switch (event->key_state) {
	case TRACE_KEY_NONE:
		return;
	case TRACE_KEY_OLD:
		put_hex(text, " is no more, it is ", event->other);
		base_text_str(text, " now");
		return;
	case TRACE_KEY_FREE:
		base_text_str(text, " is not bound, or was invalidated");
		return;
	case TRACE_KEY_PD:
		put_hex(text, " is of another protection domain, ", event->other);
		return;
	case TRACE_KEY_QP:
		put_hex(text, " is for queue pair ", event->other);
		base_text_str(text, " only");
		return;
	case TRACE_KEY_PEERS:
		base_text_str(text, " is a window, which only peers may use");
		return;
	case TRACE_KEY_THERE:
		put_hex(text, " names [", event->key_va);
		put_hex(text, ", ", event->key_va + event->key_bytes);
		base_text_char(text, ')');
		break;
	}
	if (missing != 0) {
		base_text_str(text, " without ");
		base_text_str(text, right_name(missing));
	} else if (is_inside(event)) {
		base_text_str(text, ", but a key beneath it does not do");
	}
}

static void put_key(struct base_text *text, const struct trace_event *event)
{
	put_key_state(text, event);
	base_text_str(text, event->kind == TRACE_DENY ? "; the request" : "; the entry");
	put_dec(text, " wanted ", event->want_bytes);
	base_text_str(text, " bytes");
	put_place(text, event);
}

/* What a request asked of the peer. */
static void put_request(struct base_text *text, const struct trace_event *event)
{
	put_dec(text, " ", event->want_bytes);
	base_text_str(text, " bytes");
	if (event->key != 0) {
		put_hex(text, " at ", event->va);
		put_hex(text, ", key ", event->key);
	}
}

static void put_reason(struct base_text *text, const struct trace_event *event)
{
	static const char *const words[] = {
#define TRACE_REASON_WORDS(token, words) [TRACE_BY_##token] = words,
	    TRACE_REASONS(TRACE_REASON_WORDS)
#undef TRACE_REASON_WORDS
	};

	switch ((int)event->reason) {
	case TRACE_BY_KEY:
		put_key(text, event);
		return;
	case TRACE_BY_RECEIVE_SHORT:
		put_dec(text, "the message has ", event->want_bytes);
		put_dec(text, " bytes or more, the receive ", event->limit_bytes);
		return;
	case TRACE_BY_LENGTH:
		put_dec(text, "the entry has ", event->want_bytes);
		put_dec(text, " bytes, the opcode takes ", event->limit_bytes);
		return;
	case TRACE_BY_REFUSED:
		base_text_str(text, "the peer said no to");
		put_request(text, event);
		return;
	case TRACE_BY_NO_ANSWER:
		base_text_str(text, "no answer to");
		put_request(text, event);
		put_dec(text, ", tried ", event->tries);
		put_dec(text, " times; the last wait ", event->wait_ns / 1000000);
		base_text_str(text, " ms");
		return;
	case TRACE_BY_NEVER_RECEIVE:
		base_text_str(text, "the peer had no receive posted for");
		put_request(text, event);
		put_dec(text, ", tried ", event->tries);
		base_text_str(text, " times");
		return;
	}
	base_text_str(text, words[event->reason]);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void put_dumped(struct base_text *text, const char *label, const char *dump)
{
	base_text_str(text, label);
	base_text_str(text, dump);
}

/* The entry names its queue pair, too; if it is wrong there, that is worth a word. */
static void put_send(struct base_text *text, const struct trace_event *event)
{
	struct wqe_ctrl_seg ctrl = {.fm_ce_se = 0};
	char dump[DUMP_BYTES];

	if (event->len_bytes >= sizeof(ctrl))
		memcpy(&ctrl, event->bytes, sizeof(ctrl));
	base_text_str(text, "wqe  ");
	if (wqe_ctrl_qpn(&ctrl) != event->number) {
		put_hex(text, "of qpn ", event->number);
		base_text_str(text, ": ");
	}
	if (event->len_bytes < sizeof(ctrl)) {
		put_dec(text, "index ", event->index);
		base_text_str(text, " cannot be read, or is empty");
		return;
	}
	wqe_dump(dump, sizeof(dump), event->bytes, event->len_bytes,
		 (enum wqe_address)event->address);
	base_text_str(text, dump);
}

static void put_recv(struct base_text *text, const struct trace_event *event)
{
	char dump[DUMP_BYTES];

	wqe_recv_dump(dump, sizeof(dump), event->bytes, event->len_bytes);
	put_dec(text, "recv RECV index ", event->index);
	put_hex(text, " qpn ", event->number);
	/* Without "RECV". */
	base_text_str(text, dump + 4);
}

static void put_cqe(struct base_text *text, const struct trace_event *event)
{
	char dump[DUMP_BYTES];
	struct cqe_err64 err;
	struct cqe64 cqe;

	memcpy(&cqe, event->bytes, sizeof(cqe));
	memcpy(&err, event->bytes, sizeof(err));
	cqe_dump(dump, sizeof(dump), &cqe);
	put_hex(text, "cqe  cqn ", event->number);
	put_dumped(text, ": ", dump);
	if (cqe_is_error(cqe.op_own) && trace_status_name(err.syndrome))
		put_dumped(text, ", ", trace_status_name(err.syndrome));
}

static void put_fail(struct base_text *text, const struct trace_event *event)
{
	const char *words = cqe_syndrome_words(event->syndrome);

	put_hex(text, "fail qpn ", event->number);
	base_text_char(text, ' ');
	if (event->kind == TRACE_RECV_FAIL)
		base_text_str(text, "RECV");
	else
		put_opcode(text, event->opcode);
	put_dec(text, " index ", event->index);
	put_dumped(text, ": ", words ? words : "unknown error");
	if (event->reason != TRACE_BY_UNKNOWN)
		base_text_str(text, ": ");
	put_reason(text, event);
}

static void put_nak(struct base_text *text, const struct trace_event *event, const char *whence)
{
	put_hex(text, "nak  qpn ", event->number);
	put_dumped(text, whence, nak_words(event->syndrome));
	put_hex(text, ", PSN ", event->psn);
}

static void put_retry(struct base_text *text, const struct trace_event *event)
{
	put_hex(text, "late qpn ", event->number);
	put_dec(text, ": no answer for ", event->wait_ns / 1000000);
	put_hex(text, " ms; again from PSN ", event->psn);
	put_dec(text, ", tries left ", event->tries);
}

size_t trace_text(char *buf, size_t cap_bytes, const struct trace_event *event)
{
	struct base_text text;

	base_text_init(&text, buf, cap_bytes);
	switch (event->kind) {
	case TRACE_SEND:
		put_send(&text, event);
		break;
	case TRACE_RECV:
		put_recv(&text, event);
		break;
	case TRACE_CQE:
		put_cqe(&text, event);
		break;
	case TRACE_DENY:
		put_hex(&text, "deny qpn ", event->number);
		put_dumped(&text, ": ", nak_words(event->syndrome));
		base_text_str(&text, ": ");
		put_reason(&text, event);
		break;
	case TRACE_FAIL:
	case TRACE_RECV_FAIL:
		put_fail(&text, event);
		break;
	case TRACE_NAK_SENT:
		put_nak(&text, event, " to its peer: ");
		break;
	case TRACE_NAK_CAME:
		put_nak(&text, event, " from its peer: ");
		break;
	case TRACE_RETRY:
		put_retry(&text, event);
		break;
	}
	return finish(&text);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static const char *error_name(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
#define NAME(token) {token, #token}
	    NAME(EPERM),  NAME(ENOENT),  NAME(EBADF),           NAME(EAGAIN),     NAME(ENOMEM),
	    NAME(EACCES), NAME(EFAULT),  NAME(EBUSY),           NAME(EEXIST),     NAME(ENODEV),
	    NAME(EINVAL), NAME(ENFILE),  NAME(EMFILE),          NAME(ENOTTY),     NAME(ENOSPC),
	    NAME(ENOSYS), NAME(ENODATA), NAME(EPROTONOSUPPORT), NAME(EOPNOTSUPP), NAME(EREMOTEIO),
#undef NAME
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			return names[i].name;
	return NULL;
}

void trace_verb_add(struct trace_verb *verb, const struct trace_field *field)
{
	if (verb->count < TRACE_FIELDS_MAX)
		verb->fields[verb->count++] = *field;
}

static void put_fields(struct base_text *text, const struct trace_verb *verb, uint32_t from,
		       uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct trace_field *field = &verb->fields[i];

		base_text_char(text, ' ');
		base_text_str(text, field->name);
		base_text_char(text, ' ');
		if (field->word)
			base_text_str(text, field->word);
		else if (field->is_hex)
			base_text_hex(text, field->value);
		else
			base_text_dec(text, field->value);
	}
}

size_t trace_verb_text(char *buf, size_t cap_bytes, const struct trace_verb *verb)
{
	struct base_text text;

	base_text_init(&text, buf, cap_bytes);
	if (verb->name) {
		base_text_str(&text, verb->name);
	} else {
		put_hex(&text, "object ", verb->object);
		put_hex(&text, " method ", verb->method);
	}
	put_fields(&text, verb, 0, verb->asked);
	base_text_str(&text, " -> ");
	if (verb->result == 0) {
		base_text_char(&text, '0');
		put_fields(&text, verb, verb->asked, verb->count);
	} else if (error_name(-verb->result)) {
		base_text_char(&text, '-');
		base_text_str(&text, error_name(-verb->result));
	} else {
		base_text_int(&text, verb->result);
	}
	return finish(&text);
}
