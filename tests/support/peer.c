/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peer.c - the traffic of a peer process.
 *
 * A message's bytes follow from the sender's queue pair number and the message's serial number, so
 * the receiver needs nothing but those to check it. Every other message carries its serial number
 * as immediate data.
 */
#include "tests/support/peer.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum step { STEP_WRITE, STEP_READ, STEP_SEND, STEP_ADD, STEP_SWAP, STEP_COUNT };
enum { POLL_BATCH = 32, INLINE_BYTES = 28 };

struct peer peer;

static void wrong(struct peer_link *link, const char *what, uint64_t at)
{
	if (link->wrong++ == 0)
		snprintf(link->what, sizeof(link->what), "%s, %llu", what, (unsigned long long)at);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static uint64_t pattern_word(uint64_t tag, uint64_t at)
{
	uint64_t x = tag + at * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	return x ^ x >> 27;
}

static uint64_t message_tag(uint32_t qp, uint64_t serial)
{
	return (uint64_t)qp << 40 ^ serial * 0x94d049bb133111ebu;
}

static void pattern_fill(uint8_t *dst, uint32_t len_bytes, uint64_t tag)
{
	for (uint32_t at = 0; at < len_bytes; at += 8) {
		uint64_t word = pattern_word(tag, at);

		memcpy(dst + at, &word, len_bytes - at < 8 ? len_bytes - at : 8);
	}
}

/* The first byte that is not the pattern's, or len_bytes. */
static uint32_t pattern_check(const uint8_t *src, uint32_t len_bytes, uint64_t tag)
{
	for (uint32_t at = 0; at < len_bytes; at += 8) {
		uint64_t word = pattern_word(tag, at);

		if (memcmp(src + at, &word, len_bytes - at < 8 ? len_bytes - at : 8) != 0)
			return at;
	}
	return len_bytes;
}

static uint32_t random_len(void)
{
	switch (base_prng_below(&peer.prng, 4)) {
	case 0:
		return (uint32_t)base_prng_below(&peer.prng, INLINE_BYTES + 1);
	case 1:
		return (uint32_t)base_prng_below(&peer.prng, 1024);
	}
	return (uint32_t)base_prng_below(&peer.prng, PEER_SLOT_BYTES + 1);
}

/* ---- requests -------------------------------------------------------------------------------- */

static uint64_t offset_of(const struct peer_link *link, const void *at)
{
	return (uint64_t)((const uint8_t *)at - (const uint8_t *)link->mem);
}

/* The bytes at `at`, as one piece or two. */
static int pieces_of(struct peer_link *link, const void *at, uint32_t len_bytes,
		     struct rig_local pieces[2])
{
	uint64_t offset = offset_of(link, at);
	uint32_t first = (uint32_t)base_prng_below(&peer.prng, len_bytes + 1u);

	if (rig_region_local(link->region, offset, first, &pieces[0]) < 0 ||
	    rig_region_local(link->region, offset + first, len_bytes - first, &pieces[1]) < 0)
		return -EPROTO;
	return 2;
}

static void data_entry(struct peer_link *link, unsigned int s, struct rig_entry *entry,
		       struct rig_local pieces[2])
{
	struct peer_slot *slot = &link->slots[s];
	uint8_t *data = slot->step == STEP_READ ? link->mem->back[s] : link->mem->out[s];

	if (slot->step != STEP_READ && slot->len_bytes <= INLINE_BYTES &&
	    base_prng_below(&peer.prng, 2)) {
		entry->flags |= RIG_INLINE_F;
		entry->inline_data = data;
		entry->inline_len_bytes = slot->len_bytes;
		return;
	}
	entry->pieces = pieces;
	entry->piece_count = (uint16_t)pieces_of(link, data, slot->len_bytes, pieces);
}

static void atomic_entry(struct peer_link *link, unsigned int s, struct rig_entry *entry,
			 struct rig_local pieces[2])
{
	struct peer_slot *slot = &link->slots[s];
	bool add = slot->step == STEP_ADD;

	slot->expected = add ? link->adds++ : link->swaps++;
	entry->remote_addr = link->remote.addr + (add ? offsetof(struct peer_memory, added)
						      : offsetof(struct peer_memory, swapped));
	entry->add_or_swap = add ? 1 : slot->expected + 1;
	entry->compare = slot->expected;
	entry->pieces = pieces;
	entry->piece_count = 1;
	link->mem->old[s] = ~0ull;
	(void)rig_region_local(link->region, offset_of(link, &link->mem->old[s]), 8, pieces);
}

static void send_entry(struct peer_link *link, unsigned int s, struct rig_entry *entry,
		       struct rig_local pieces[2])
{
	uint64_t serial = link->sent++;

	link->slots[s].len_bytes = random_len();
	pattern_fill(link->mem->out[s], link->slots[s].len_bytes,
		     message_tag(rig_qp_number(link->qp), serial));
	data_entry(link, s, entry, pieces);
	if (serial & 1) {
		entry->flags |= RIG_IMM_F;
		entry->imm = (uint32_t)serial;
	}
}

static void fill_entry(struct peer_link *link, unsigned int s, struct rig_entry *entry,
		       struct rig_local pieces[2])
{
	static const uint8_t ops[STEP_COUNT] = {RIG_WRITE, RIG_READ, RIG_SEND, RIG_FETCH_ADD,
						RIG_COMPARE_SWAP};
	struct peer_slot *slot = &link->slots[s];

	*entry = (struct rig_entry){
	    .op = ops[slot->step], .flags = RIG_SIGNAL_F, .remote_key = link->remote.key};
	entry->remote_addr =
	    link->remote.addr + offsetof(struct peer_memory, in) + (uint64_t)s * PEER_SLOT_BYTES;
	if (slot->step == STEP_SEND) {
		send_entry(link, s, entry, pieces);
	} else if (slot->step >= STEP_ADD) {
		atomic_entry(link, s, entry, pieces);
	} else {
		if (slot->step == STEP_WRITE) {
			slot->len_bytes = random_len();
			base_prng_fill(&peer.prng, link->mem->out[s], slot->len_bytes);
		}
		data_entry(link, s, entry, pieces);
	}
}

/* A read follows each write, so that its bytes are known. */
static uint8_t next_step(uint8_t step)
{
	static const uint8_t choice[] = {STEP_WRITE, STEP_WRITE, STEP_SEND, STEP_ADD, STEP_SWAP};

	if (step == STEP_WRITE)
		return STEP_READ;
	return choice[base_prng_below(&peer.prng, sizeof(choice))];
}

static void begin(struct peer_link *link, unsigned int s)
{
	struct peer_slot *slot = &link->slots[s];
	struct rig_local pieces[2];
	struct rig_entry entry;
	uint16_t index = rig_qp_index(link->qp, RIG_RING_SEND);

	slot->step = next_step(slot->step);
	fill_entry(link, s, &entry, pieces);
	if (base_prng_below(&peer.prng, 16) == 0)
		entry.flags |= RIG_FENCE_F;
	if (rig_qp_post(link->qp, &entry) != 0) {
		wrong(link, rig_error(), slot->step);
		return;
	}
	link->slot_of[index % PEER_RING] = (uint8_t)s;
	slot->busy = true;
	link->busy++;
	link->begun++;
}

static bool begin_all(struct peer_link *link)
{
	bool any = false;

	if (!link->connected || link->failed || link->wrong)
		return false;
	for (unsigned int s = 0; s < PEER_SLOTS; s++) {
		if (link->slots[s].busy || link->begun >= link->limit)
			continue;
		begin(link, s);
		any = true;
	}
	if (any && rig_qp_ring(link->qp) != 0)
		wrong(link, rig_error(), 0);
	return any;
}

/* ---- completions ----------------------------------------------------------------------------- */

static void fail_link(struct peer_link *link, const struct rig_wc *wc)
{
	if (link->failed)
		return;
	link->failed = true;
	link->status = wc->status;
	link->vendor = wc->vendor_syndrome;
	link->failed_ns = proc_now_ns();
}

static void check_entry(struct peer_link *link, unsigned int s, const struct rig_wc *wc)
{
	struct peer_slot *slot = &link->slots[s];

	switch (slot->step) {
	case STEP_READ:
		if (wc->len_bytes != slot->len_bytes)
			wrong(link, "length of a read", wc->len_bytes);
		if (memcmp(link->mem->out[s], link->mem->back[s], slot->len_bytes) != 0)
			wrong(link, "read other bytes than were written, of", slot->len_bytes);
		break;
	case STEP_ADD:
	case STEP_SWAP:
		if (link->mem->old[s] != slot->expected)
			wrong(link, "old value of an atomic", link->mem->old[s]);
		break;
	}
}

static void entry_done(struct peer_link *link, const struct rig_wc *wc)
{
	unsigned int s = link->slot_of[wc->index % PEER_RING];

	if (wc->status != RIG_OK) {
		fail_link(link, wc);
		return;
	}
	if (!link->slots[s].busy) {
		wrong(link, "completion of an idle slot", s);
		return;
	}
	link->slots[s].busy = false;
	link->busy--;
	link->done++;
	check_entry(link, s, wc);
}

static int post_receive(struct peer_link *link, unsigned int r)
{
	struct rig_local local;
	int result = rig_region_local(link->region, offset_of(link, link->mem->got[r]),
				      PEER_SLOT_BYTES, &local);

	return result < 0 ? result : rig_qp_receive(link->qp, &local);
}

static void receive_done(struct peer_link *link, const struct rig_wc *wc)
{
	unsigned int r = wc->index % PEER_RECEIVES;
	uint64_t serial = link->received;
	uint32_t good;

	if (wc->status != RIG_OK) {
		fail_link(link, wc);
		return;
	}
	link->received++;
	good = pattern_check(link->mem->got[r], wc->len_bytes, message_tag(link->peer_qp, serial));
	if (good != wc->len_bytes)
		wrong(link, "message with other bytes, serial", serial);
	if (!!(wc->flags & RIG_WC_IMM_F) != (serial & 1) ||
	    ((serial & 1) && wc->imm != (uint32_t)serial))
		wrong(link, "immediate data of message", serial);
	if (post_receive(link, r) != 0)
		wrong(link, rig_error(), r);
}

static void completed(const struct rig_wc *wc)
{
	for (uint32_t i = 0; i < peer.link_count; i++) {
		struct peer_link *link = &peer.links[i];

		if (!link->qp || rig_qp_number(link->qp) != wc->qp)
			continue;
		if (wc->kind == RIG_WC_ENTRY)
			entry_done(link, wc);
		else if (wc->kind == RIG_WC_RECEIVE)
			receive_done(link, wc);
		else
			wrong(link, "completion of an unknown kind", wc->status);
		return;
	}
	if (peer.link_count > 0)
		wrong(&peer.links[0], "completion of an unknown queue pair", wc->qp);
}

void peer_traffic(void)
{
	struct rig_wc wc[POLL_BATCH];
	int n = rig_cq_poll(peer.cq, wc, POLL_BATCH);
	bool any = n > 0;

	for (int i = 0; i < n; i++)
		completed(&wc[i]);
	for (uint32_t i = 0; i < peer.link_count; i++)
		any |= begin_all(&peer.links[i]);
	if (!any)
		sched_yield();
}

int peer_next(struct rig_cq *cq, struct rig_wc *wc, unsigned int timeout_ms)
{
	uint64_t end_ns = proc_now_ns() + timeout_ms * 1000000ull;
	int n;

	while ((n = rig_cq_poll(cq, wc, 1)) == 0) {
		if (proc_now_ns() > end_ns)
			return proc_fail(-ETIMEDOUT, "no completion within %u ms", timeout_ms);
		sched_yield();
	}
	return n < 0 ? proc_fail(n, "rig_cq_poll: %s", rig_error()) : 0;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

int peer_open(struct proc_msg *msg)
{
	base_prng_seed(&peer.prng, msg->v[0]);
	PEER_TRY(rig_open(proc_nic(), &peer.nic));
	PEER_TRY(rig_cq_create(peer.nic, PEER_CQE, &peer.cq));
	return 0;
}

int peer_link(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[peer.link_count];
	struct peer_card card;

	PEER_CHECK(peer.link_count < PEER_LINKS);
	*link = (struct peer_link){0};
	link->mem = mmap(NULL, sizeof(*link->mem), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PEER_CHECK(link->mem != MAP_FAILED);
	for (unsigned int s = 0; s < PEER_SLOTS; s++)
		link->slots[s].step = STEP_SEND;
	PEER_TRY(rig_region_create(peer.nic, link->mem, sizeof(*link->mem), RIG_REMOTE_ALL,
				   &link->region));
	PEER_TRY(rig_qp_create(peer.cq, PEER_RING, PEER_RECEIVES, &link->qp));
	PEER_TRY(rig_qp_endpoint(link->qp, &card.endpoint));
	PEER_TRY(rig_region_remote(link->region, 0, sizeof(*link->mem), &card.remote));
	memcpy(msg->blob, &card, sizeof(card));
	return (int)peer.link_count++;
}

int peer_connect(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	struct peer_card card;

	memcpy(&card, msg->blob, sizeof(card));
	link->remote = card.remote;
	link->peer_qp = card.endpoint.qp;
	PEER_TRY(rig_qp_connect(link->qp, RIG_REMOTE_ALL, &card.endpoint, NULL));
	for (unsigned int r = 0; r < PEER_RECEIVES; r++)
		PEER_TRY(post_receive(link, r));
	link->connected = true;
	proc_idle(peer_traffic);
	return 0;
}

int peer_run(struct proc_msg *msg)
{
	for (uint32_t i = 0; i < peer.link_count; i++)
		peer.links[i].limit = peer.links[i].begun + msg->v[0];
	return 0;
}

static bool drained(void)
{
	for (uint32_t i = 0; i < peer.link_count; i++) {
		struct peer_link *link = &peer.links[i];

		if (link->connected && !link->failed && !link->wrong &&
		    (link->busy || link->begun < link->limit))
			return false;
	}
	return true;
}

int peer_drain(struct proc_msg *msg)
{
	uint64_t end_ns = proc_now_ns() + PROC_STEP_MS / 3 * 2 * 1000000ull;

	(void)msg;
	while (!drained()) {
		if (proc_now_ns() > end_ns)
			return proc_fail(-ETIMEDOUT, "requests do not end: %u of link 0 under way",
					 peer.links[0].busy);
		peer_traffic();
	}
	return 0;
}

int peer_halt(struct proc_msg *msg)
{
	for (uint32_t i = 0; i < peer.link_count; i++)
		peer.links[i].limit = peer.links[i].begun;
	return peer_drain(msg);
}

int peer_report(struct proc_msg *msg)
{
	const struct peer_link *link = &peer.links[msg->v[0]];
	struct peer_report report = {
	    .done = link->done,
	    .sent = link->sent,
	    .received = link->received,
	    .adds = link->adds,
	    .swaps = link->swaps,
	    .added = link->mem->added,
	    .swapped = link->mem->swapped,
	    .wrong = link->wrong,
	    .failed_ns = link->failed_ns,
	    .failed = link->failed,
	    .status = link->status,
	    .vendor = link->vendor,
	    .qp = link->qp ? rig_qp_number(link->qp) : 0,
	};

	_Static_assert(sizeof(report) <= PROC_BLOB_BYTES, "fits an answer");
	_Static_assert(sizeof(struct peer_card) <= PROC_BLOB_BYTES, "fits an answer");
	memcpy(report.what, link->what, sizeof(report.what));
	memcpy(msg->blob, &report, sizeof(report));
	return 0;
}

int peer_unlink(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];

	link->connected = false;
	PEER_TRY(rig_qp_destroy(link->qp));
	link->qp = NULL;
	PEER_TRY(rig_region_destroy(link->region));
	return 0;
}

int peer_close(struct proc_msg *msg)
{
	(void)msg;
	proc_idle(NULL);
	PEER_TRY(rig_close(peer.nic));
	peer = (struct peer){0};
	return 0;
}
