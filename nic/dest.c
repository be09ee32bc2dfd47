/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dest.c - destinations: a table from what an address vector names to a flow, and the mappings that
 * give some of them an algorithm of their own.
 *
 * The table is bounded. When it is full, a destination that nobody has mapped and that was not used
 * for a while makes room: it has nothing to remember but its counters.
 */
#include "nic/nic_priv.h"

#include <linux/errno.h>

/* After so long its rate would have recovered, and its notifications may go again. */
#define IDLE_NS 1000000000u

/* Where packets wait for a row, no more are looked at than these, and then none for a while. */
enum { LOOKS_MAX = 64 };
#define LOOKS_PAUSE_NS 1000000u

/* ---- the table ------------------------------------------------------------------------------- */

HOT uint32_t bucket_of(const struct nic_dest_key *key)
{
	uint64_t high, low, rest, hash;

	memcpy(&high, key->dgid, sizeof(high));
	memcpy(&low, key->dgid + sizeof(high), sizeof(low));
	rest = (uint64_t)key->dlid << 16 | (uint64_t)key->sgid_index << 8 | key->sl;
	/* A product spreads bits upwards only, and a GID's last bytes, which differ, lie on top. */
	hash = (high ^ rest ^ high >> 32) * 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 32 ^ low ^ low >> 32;
	return (uint32_t)(hash * 0xbf58476d1ce4e5b9ull >> 52) & (NIC_DEST_BUCKETS - 1);
}

HOT bool equal(const struct nic_dest_key *a, const struct nic_dest_key *b)
{
	return memcmp(a->dgid, b->dgid, sizeof(a->dgid)) == 0 && a->dlid == b->dlid &&
	       a->sgid_index == b->sgid_index && a->sl == b->sl;
}

HOT struct nic_dest *find_in(const struct nic *nic, uint32_t bucket, const struct nic_dest_key *key)
{
	uint16_t next = nic->cong.buckets[bucket];

	while (next != 0) {
		struct nic_dest *dest = &nic->cong.dests[next - 1];

		if (equal(&dest->key, key))
			return dest;
		next = dest->next;
	}
	return NULL;
}

struct nic_dest *nic_dest_find(const struct nic *nic, const struct nic_dest_key *key)
{
	return find_in(nic, bucket_of(key), key);
}

static void unlink_dest(struct nic *nic, struct nic_dest *dest)
{
	uint16_t *at = &nic->cong.buckets[bucket_of(&dest->key)];

	while (&nic->cong.dests[*at - 1] != dest)
		at = &nic->cong.dests[*at - 1].next;
	*at = dest->next;
	dest->live = false;
	nic_notes_forget(nic, &dest->flow);
}

static bool is_idle(const struct nic *nic, const struct nic_dest *dest)
{
	return dest->first_mapping == 0 && dest->users == 0 && dest->turn_first == 0 &&
	       nic->now_ns - dest->used_ns >= IDLE_NS;
}

/* A row: one that was never used, or an idle one's among the next `looks`. */
static struct nic_dest *take_row(struct nic *nic, uint32_t looks)
{
	struct nic_cong *cong = &nic->cong;

	if (cong->dest_fresh != NIC_DESTS_MAX)
		return &cong->dests[cong->dest_fresh++];
	for (uint32_t i = 0; i < looks; i++) {
		struct nic_dest *dest = &cong->dests[cong->dest_hand];

		cong->dest_hand = (cong->dest_hand + 1) % NIC_DESTS_MAX;
		if (!is_idle(nic, dest))
			continue;
		unlink_dest(nic, dest);
		return dest;
	}
	return NULL;
}

static void start(const struct nic *nic, struct nic_dest *dest, enum nic_cc_algorithm algorithm)
{
	/* Nobody acknowledges datagrams. */
	nic_flow_start(nic, &dest->flow, algorithm, nic->config.mtu_max_bytes, 0);
	dest->paced = dest->flow.cc.paced;
}

static struct nic_dest *make_dest(struct nic *nic, uint32_t bucket, const struct nic_dest_key *key,
				  uint32_t looks)
{
	struct nic_dest *dest = take_row(nic, looks);

	if (!dest)
		return NULL;
	*dest = (struct nic_dest){.key = *key,
				  .live = true,
				  .next = nic->cong.buckets[bucket],
				  .used_ns = nic->now_ns,
				  .flow.alarm_ns = NIC_CC_NEVER};
	nic->cong.buckets[bucket] = (uint16_t)(dest - nic->cong.dests + 1);
	start(nic, dest, (enum nic_cc_algorithm)nic->config.cc_algorithm);
	return dest;
}

/* For a packet, which cannot wait. */
static COLD struct nic_dest *make_soon(struct nic *nic, uint32_t bucket,
				       const struct nic_dest_key *key)
{
	struct nic_dest *dest;

	if (nic->now_ns < nic->cong.look_again_ns)
		return NULL;
	dest = make_dest(nic, bucket, key, LOOKS_MAX);
	if (!dest)
		nic->cong.look_again_ns = nic->now_ns + LOOKS_PAUSE_NS;
	return dest;
}

struct nic_dest *nic_dest_get(struct nic *nic, const struct nic_dest_key *key)
{
	uint32_t bucket = bucket_of(key);
	struct nic_dest *dest = find_in(nic, bucket, key);

	return dest ? dest : make_soon(nic, bucket, key);
}

/* ---- before and after a packet --------------------------------------------------------------- */

/* Of where qp's next packet goes; NULL: that is no flow. Most packets go where the last one went.
 */
static struct nic_dest *dest_of(struct nic *nic, struct nic_standing *at,
				const struct nic_path *path)
{
	struct nic_dest_key key = nic_dest_key_of(path);
	struct nic_dest *dest;

	if (at->hint != 0 && equal(&nic->cong.dests[at->hint - 1].key, &key) &&
	    nic->cong.dests[at->hint - 1].live)
		return &nic->cong.dests[at->hint - 1];
	at->hint = 0;
	if (!nic->env->tx_window_bytes || nic->env->tx_window_bytes(nic->env->ctx, path) == 0)
		return NULL;
	dest = nic_dest_get(nic, &key);
	if (dest)
		at->hint = (uint16_t)(dest - nic->cong.dests + 1);
	return dest;
}

bool nic_dest_gate(struct nic *nic, struct nic_qp *qp)
{
	struct nic_dest *dest = NULL;

	if (qp->params.dest_qpn != ROCE_QPN_MASK)
		dest = dest_of(nic, &qp->turn, &qp->params.path);
	qp->paced = dest && dest->flow.algorithm != NIC_CC_NONE;
	if (!dest)
		return true;
	dest->used_ns = nic->now_ns;
	if (qp->paced)
		qp->params.path.ecn = ROCE_ECN_ECT_0;
	if (!dest->paced)
		return true;
	nic_probe_look(nic, &dest->flow);
	return nic_turn_take(nic, qp, dest);
}

bool nic_dest_gate_answer(struct nic *nic, struct nic_qp *responder)
{
	struct nic_dest *dest = dest_of(nic, &responder->turn, &responder->params.path);

	if (!dest)
		return true;
	dest->used_ns = nic->now_ns;
	responder->params.path.ecn =
	    dest->flow.algorithm != NIC_CC_NONE ? ROCE_ECN_ECT_0 : ROCE_ECN_NOT_ECT;
	if (!dest->paced)
		return true;
	nic_probe_look(nic, &dest->flow);
	return nic_turn_take(nic, responder, dest);
}

void nic_dest_sent(struct nic *nic, struct nic_qp *qp, uint32_t len_bytes)
{
	struct nic_dest *dest;

	if (qp->turn.hint == 0)
		return;
	dest = &nic->cong.dests[qp->turn.hint - 1];
	dest->flow.counters.tx_packets++;
	nic_cc_on_send(&dest->flow.cc, len_bytes, nic->now_ns);
	if (dest->flow.cc.algorithm == NIC_CC_RTT)
		nic_probe_sent(nic, qp, &dest->flow, len_bytes);
	dest->paced = dest->flow.cc.paced;
	nic_turn_sent(nic, dest);
}

/* A notification does not say which service level was too fast: each that goes there is. */
bool nic_dest_notified(struct nic *nic, const struct nic_rx *rx)
{
	bool handled = false;

	for (uint32_t i = 0; rx->sgid && i < NIC_GID_COUNT * NIC_SL_COUNT; i++) {
		struct nic_dest_key key = {.sgid_index = (uint8_t)(i / NIC_SL_COUNT),
					   .sl = i % NIC_SL_COUNT};
		struct nic_dest *dest;
		bool good;

		if (!(nic->gid_live >> key.sgid_index & 1))
			continue;
		memcpy(key.dgid, rx->sgid, sizeof(key.dgid));
		dest = nic_dest_find(nic, &key);
		if (!dest)
			continue;
		good = nic_cc_on_cnp(&dest->flow.cc, nic->now_ns);
		dest->flow.counters.cnps_handled += good;
		dest->flow.counters.cnps_ignored += !good;
		dest->paced = dest->flow.cc.paced;
		handled |= good;
	}
	return handled;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static uint16_t take_mapping(struct nic_cong *cong)
{
	uint16_t index = cong->mapping_free;

	if (index != 0)
		cong->mapping_free = cong->mappings[index].next;
	else if (cong->mapping_fresh < NIC_MAPPINGS_MAX)
		index = (uint16_t)++cong->mapping_fresh;
	return index;
}

/* The algorithm that rules now: of the oldest mapping, or the port's. */
static void follow(struct nic *nic, struct nic_dest *dest)
{
	uint8_t algorithm = dest->first_mapping != 0
				? nic->cong.mappings[dest->first_mapping].algorithm
				: nic->config.cc_algorithm;

	if (algorithm == dest->flow.algorithm)
		return;
	start(nic, dest, (enum nic_cc_algorithm)algorithm);
	if (dest->users != 0)
		nic_flow_follow(nic, (uint16_t)(dest - nic->cong.dests));
}

int nic_dest_map(struct nic *nic, const struct nic_dest_key *key, enum nic_cc_algorithm algorithm,
		 uint64_t now_ns, uint32_t *mapping)
{
	struct nic_cong *cong = &nic->cong;
	uint32_t bucket = bucket_of(key);
	struct nic_dest *dest = find_in(nic, bucket, key);
	uint16_t index;

	if ((uint32_t)algorithm >= NIC_CC_COUNT)
		return -EINVAL;
	nic->now_ns = now_ns;
	if (!dest)
		dest = make_dest(nic, bucket, key, NIC_DESTS_MAX);
	if (!dest)
		return -ENOMEM;
	index = take_mapping(cong);
	if (index == 0)
		return -ENOMEM;
	cong->mappings[index] = (struct nic_mapping){
	    .live = true, .algorithm = (uint8_t)algorithm, .dest = (uint16_t)(dest - cong->dests)};
	if (dest->first_mapping == 0)
		dest->first_mapping = index;
	else
		cong->mappings[dest->last_mapping].next = index;
	dest->last_mapping = index;
	follow(nic, dest);
	*mapping = index;
	return 0;
}

static void unlink_mapping(struct nic_cong *cong, struct nic_dest *dest, uint16_t index)
{
	uint16_t before = 0;
	uint16_t *at = &dest->first_mapping;

	while (*at != index) {
		before = *at;
		at = &cong->mappings[*at].next;
	}
	*at = cong->mappings[index].next;
	if (dest->last_mapping == index)
		dest->last_mapping = before;
}

int nic_dest_unmap(struct nic *nic, uint32_t mapping, uint64_t now_ns)
{
	struct nic_cong *cong = &nic->cong;
	struct nic_dest *dest;

	if (mapping > NIC_MAPPINGS_MAX || !cong->mappings[mapping].live)
		return -EINVAL;
	nic->now_ns = now_ns;
	dest = &cong->dests[cong->mappings[mapping].dest];
	unlink_mapping(cong, dest, (uint16_t)mapping);
	cong->mappings[mapping] = (struct nic_mapping){.next = cong->mapping_free};
	cong->mapping_free = (uint16_t)mapping;
	follow(nic, dest);
	return 0;
}

/* ---- seeing it ------------------------------------------------------------------------------- */

bool nic_dest_next(struct nic *nic, uint32_t *cursor, uint64_t now_ns, struct nic_dest_key *key,
		   struct nic_flow_stats *stats)
{
	nic->now_ns = now_ns;
	while (*cursor < nic->cong.dest_fresh) {
		struct nic_dest *dest = &nic->cong.dests[(*cursor)++];

		if (!dest->live)
			continue;
		*key = dest->key;
		nic_flow_stats_of(nic, &dest->flow, stats);
		stats->mapped = dest->first_mapping != 0;
		return true;
	}
	return false;
}
