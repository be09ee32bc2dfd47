/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/perf_post.c - posting and polling, as the tests of `rig5 perf` do it. */
#include <errno.h>

#include "tools/perf.h"
#include "tools/progress.h"
#include "tools/tools.h"

#define DRAIN_MAX 16
/* Empty polls between two looks at what else may have happened; some hundred microseconds. */
#define IDLE_POLLS 4096
#define STALL_NS   10000000000ull

uint8_t *perf_place(const struct perf *perf, uint8_t *half, uint32_t index)
{
	return half + (uint64_t)(index % perf->places) * perf->stride_bytes;
}

int perf_ring(struct perf *perf)
{
	int err = rig_qp_ring(perf->link.qp);

	return err ? perf_fail(perf, err, "cannot ring: %s", rig_error()) : 0;
}

static int post(struct perf *perf, const struct rig_entry *entry)
{
	int err = rig_qp_post(perf->link.qp, entry);

	return err ? perf_fail(perf, err, "cannot post: %s", rig_error()) : 0;
}

static int local_piece(struct perf *perf, const uint8_t *at, uint32_t len, struct rig_local *local)
{
	int err = rig_region_local(perf->link.region, (uint64_t)(at - perf->link.buf), len, local);

	return err ? perf_fail(perf, err, "%s", rig_error()) : 0;
}

int perf_post(struct perf *perf, uint32_t index, bool signal)
{
	static const uint8_t ops[] = {
	    [PERF_WRITE] = RIG_WRITE,
	    [PERF_READ] = RIG_READ,
	    [PERF_SEND] = RIG_SEND,
	};
	uint32_t size = perf->test.size_bytes;
	uint8_t *data = perf_place(perf, perf->tx, index);
	struct rig_entry entry = {
	    .op = ops[perf->test.op],
	    .flags = signal ? RIG_SIGNAL_F : 0,
	};
	struct rig_local local;

	if (perf->test.op != PERF_SEND) {
		entry.remote_key = perf->peer_rx.key;
		entry.remote_addr = perf->peer_rx.addr + (uint64_t)(data - perf->tx);
	}
	if (perf->test.op != PERF_READ && size <= perf->inline_max) {
		entry.flags |= RIG_INLINE_F;
		entry.inline_data = data;
		entry.inline_len_bytes = size;
	} else {
		int err = local_piece(perf, data, size, &local);

		if (err)
			return err;
		entry.pieces = &local;
		entry.piece_count = 1;
	}
	return post(perf, &entry);
}

int perf_post_credit(struct perf *perf, uint32_t credits)
{
	const struct rig_entry entry = {
	    .op = RIG_SEND,
	    .flags = RIG_SIGNAL_F | RIG_INLINE_F | RIG_IMM_F,
	    .imm = credits,
	};

	return post(perf, &entry);
}

static int post_receive(struct perf *perf, const uint8_t *at, uint32_t len)
{
	struct rig_local local;
	int err = local_piece(perf, at, len, &local);

	if (err)
		return err;
	err = rig_qp_receive(perf->link.qp, &local);
	return err ? perf_fail(perf, err, "cannot post a receive: %s", rig_error()) : 0;
}

int perf_post_receive(struct perf *perf, uint32_t index)
{
	return post_receive(perf, perf_place(perf, perf->rx, index), perf->test.size_bytes);
}

int perf_post_empty_receive(struct perf *perf)
{
	return post_receive(perf, perf->rx, 0);
}

/* Nothing to do: leaves the line alone for a moment; now and then looks whether there will be more.
 */
static int idle(struct perf *perf)
{
	uint64_t now_ns;
	int err;

	link_pause();
	if (++perf->idle_polls % IDLE_POLLS)
		return 0;
	if (tool_stop_signal())
		return perf_fail(perf, -EINTR, "interrupted");
	err = net_alive(&perf->conn);
	if (err)
		return perf_fail(perf, err, "the %s is lost: %s", perf->peer, net_error_text(err));
	now_ns = progress_now_ns();
	if (!perf->idle_ns)
		perf->idle_ns = now_ns;
	if (now_ns - perf->idle_ns > STALL_NS)
		return perf_fail(perf, -ETIMEDOUT, "nothing moved for %llu seconds",
				 STALL_NS / 1000000000);
	return 0;
}

int perf_drain(struct perf *perf)
{
	struct rig_wc wc[DRAIN_MAX];
	char text[256];
	int n = rig_cq_poll(perf->link.cq, wc, DRAIN_MAX);

	if (!n)
		return idle(perf);
	if (n < 0)
		return perf_fail(perf, n, "cannot poll: %s", rig_error());
	perf->idle_ns = 0;
	for (int i = 0; i < n; i++) {
		if (wc[i].status != RIG_OK || wc[i].kind == RIG_WC_UNKNOWN) {
			rig_wc_text(&wc[i], text, sizeof(text));
			return perf_fail(perf, -EIO, "%s", text);
		}
		if (wc[i].kind == RIG_WC_ENTRY) {
			perf->entries_done++;
			continue;
		}
		perf->receives_done++;
		if (wc[i].flags & RIG_WC_IMM_F)
			perf->credits += wc[i].imm;
		else if (wc[i].len_bytes != perf->test.size_bytes)
			perf->wrong_bytes += perf->test.size_bytes;
	}
	return n;
}
