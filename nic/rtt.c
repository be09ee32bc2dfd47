/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rtt.c - how long a requester waits before it asks again, on a path that can lose packets (one
 * with a window).
 *
 * A responder says once that something is missing [IBTA1 9.7.5]. If that NAK is lost, or what is
 * sent again then, or the last packet of all, nothing comes any more, and the acknowledgement
 * timeout is thousands of round trips long. So the round trip is measured, as TCP does it
 * [RFC 6298], and after some of them in silence the oldest packet is sent once more, alone
 * (probing). A responder answers duplicates, too: the answer says how far it is. If it has that
 * packet and no more, all after it is sent again; if it has more, it was only slow. A probe is no
 * retry: the timeout goes on, and counts.
 *
 * Of what was probed no round trip can be told [RFC 6298: Karn]. So the longer wait that a probe
 * begins lasts until one is measured: else a path that has become slower is probed for ever, and
 * never measured. What a responder said to be missing can be measured when it goes again: the first
 * copy is gone.
 */
#include "nic/nic_priv.h"

enum {
	PROBE_NS_MIN = 250000, /* a host answers when it gets to it */
	RTT_NS_MAX = 1000000000,
	BACKED_OFF_MAX = 4, /* the wait is doubled so many times at most */
	DOUBLED_MAX = 2,    /* and the timeout */
};

static uint64_t clamped(const struct nic_qp *qp, uint64_t ns)
{
	return ns < qp->timeout_ns ? ns : qp->timeout_ns;
}

/*
 * A timeout is the one that was set at least, and four times that at most [IBTA1 9.7.6.1.3]. The
 * first is the least, since nothing may be known of the path yet; who does not answer then is a
 * host that is busy, as often as not, and gets time.
 */
uint64_t nic_rtt_timeout_ns(const struct nic_qp *qp)
{
	uint32_t used = (uint32_t)(qp->params.retry_count - qp->retry_left);

	if (qp->window_psns == 0)
		return qp->timeout_ns;
	return qp->timeout_ns << (used < DOUBLED_MAX ? used : DOUBLED_MAX);
}

void nic_rtt_forget(struct nic_qp *qp)
{
	qp->rtt_timed = false;
	qp->probing = false;
	qp->backed_off = 0;
	qp->srtt_ns = 0;
	qp->wait_ns = qp->timeout_ns;
}

void nic_rtt_start(struct nic *nic, struct nic_qp *qp, uint32_t psn)
{
	qp->rtt_timed = true;
	qp->rtt_psn = psn;
	qp->rtt_from_ns = nic->now_ns;
}

static void take_sample(struct nic_qp *qp, uint64_t sample_ns)
{
	uint32_t ns = sample_ns < RTT_NS_MAX ? (uint32_t)sample_ns : RTT_NS_MAX;
	uint32_t off = ns > qp->srtt_ns ? ns - qp->srtt_ns : qp->srtt_ns - ns;

	if (qp->srtt_ns == 0) {
		qp->srtt_ns = ns != 0 ? ns : 1;
		qp->rttvar_ns = ns / 2;
		return;
	}
	qp->rttvar_ns += off / 4 - qp->rttvar_ns / 4;
	qp->srtt_ns += ns / 8 - qp->srtt_ns / 8;
}

/* What varies much is a busy host, which a probe does not hurt: it comes well before the timeout,
 * unless the way is that long. */
static uint64_t first_wait_ns(const struct nic_qp *qp)
{
	uint64_t wait_ns = qp->srtt_ns + 4ull * qp->rttvar_ns;
	uint64_t twice_ns = 2ull * qp->srtt_ns;
	uint64_t most_ns = qp->timeout_ns / 8;

	if (most_ns < twice_ns)
		most_ns = twice_ns;
	if (wait_ns > most_ns)
		wait_ns = most_ns;
	return wait_ns > PROBE_NS_MIN ? wait_ns : PROBE_NS_MIN;
}

static uint64_t next_wait_ns(const struct nic_qp *qp)
{
	return clamped(qp, first_wait_ns(qp) << qp->backed_off);
}

/* Whether the responder has more than what it was probed with; a probe that never went out says
 * nothing, and what is answered then is what was sent before. */
static bool has_more(const struct nic_qp *qp)
{
	return ((qp->psn_una - qp->probe_psn) & PSN_MASK) > qp->probe_psns;
}

/* What it lacks of the rest it will say, or has said: then the next probe finds out, and comes no
 * later than this one did. Else all of the rest goes again. */
static void probed(struct nic_qp *qp)
{
	if (!has_more(qp)) {
		qp->rtt_timed = false;
		return;
	}
	qp->psn_send = qp->psn_high;
	qp->backed_off -= qp->backed_off != 0;
}

void nic_rtt_progress(struct nic *nic, struct nic_qp *qp)
{
	if (qp->rtt_timed && psn_diff(qp->psn_una, qp->rtt_psn) > 0) {
		qp->rtt_timed = false;
		qp->backed_off = 0;
		take_sample(qp, nic->now_ns - qp->rtt_from_ns);
	}
	if (qp->probing)
		probed(qp);
	qp->probing = false;
	if (qp->paced)
		nic_flow_acked(nic, qp);
	if (qp->srtt_ns != 0)
		qp->wait_ns = next_wait_ns(qp);
}

void nic_rtt_probe(struct nic *nic, struct nic_qp *qp)
{
	if (!qp->probing) {
		qp->probing = true;
		qp->probe_psn = qp->psn_una;
		qp->probe_psns = 0;
	}
	if (qp->backed_off < BACKED_OFF_MAX)
		qp->backed_off++;
	qp->wait_ns = next_wait_ns(qp);
	nic_rtt_wait(nic, qp);
}

void nic_rtt_wait(struct nic *nic, struct nic_qp *qp)
{
	uint64_t next_ns = nic->now_ns + qp->wait_ns;
	uint64_t timeout_ns = qp->wait_from_ns + nic_rtt_timeout_ns(qp);

	nic_timer_set(nic, qp, next_ns < timeout_ns ? next_ns : timeout_ns);
}
