/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * obj.c - the arena, and the objects without behaviour: protection domains, slots of tables.
 *
 * Tables are laid out one after another, each on its own page, and are used from their low end up:
 * a NIC with few objects touches few pages.
 */
#include "nic/rss.h"
#include "nic/sig.h"

#include <linux/errno.h>

enum { ARENA_ALIGN = 4096 };

#define LINE_RATE_BPS 100000000000ull

/* ---- slots ----------------------------------------------------------------------------------- */

static void slots_init(struct nic_slots *slots, uint32_t *next, uint32_t first, uint32_t limit)
{
	*slots = (struct nic_slots){.next = next, .fresh = first, .limit = limit};
}

/*
 * nic_slot_take - *index, a slot that is not in use; false: there is none.
 *
 * Freed slots rest while there are fresh ones, until spare_count of them do: a number that comes
 * back at once would meet packets still on their way to its last owner.
 */
bool nic_slot_take(struct nic_slots *slots, uint32_t spare_count, uint32_t *index)
{
	bool fresh_left = slots->fresh < slots->limit;

	if (slots->free_count > spare_count || (slots->free_count != 0 && !fresh_left)) {
		*index = slots->free_head;
		slots->free_head = slots->next[*index];
		slots->free_count--;
		return true;
	}
	if (!fresh_left)
		return false;
	*index = slots->fresh++;
	return true;
}

void nic_slot_give(struct nic_slots *slots, uint32_t index)
{
	ASSERT(index < slots->fresh);
	if (slots->free_count++ == 0)
		slots->free_head = index;
	else
		slots->next[slots->free_tail] = index;
	slots->free_tail = index;
}

/* ---- the arena ------------------------------------------------------------------------------- */

struct arena {
	uint8_t *base; /* NULL: only measuring */
	size_t used_bytes;
};

static void *arena_take(struct arena *arena, size_t count, size_t size_bytes)
{
	size_t at = arena->used_bytes;

	arena->used_bytes =
	    (at + count * size_bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	return arena->base ? arena->base + at : NULL;
}

static void check_config(const struct nic_config *config)
{
	ASSERT(config->qp_count_max % NIC_BLOCK == 0);
	ASSERT(config->qp_count_max != 0 && config->qp_count_max <= NIC_BLOCKS_MAX * NIC_BLOCK);
	ASSERT(config->mkey_count_max <= (1u << 24) - NIC_MKEY_FIRST);
	ASSERT(config->cq_count_max < 1u << 24 && config->pd_count_max < 1u << 24);
	ASSERT(config->srq_count_max < 1u << 24 && config->xrcd_count_max < 1u << 24);
	ASSERT(config->dc_responder_count_max <= 1u << 20);
	ASSERT(ring_is_power_of_two(config->mtu_max_bytes));
	ASSERT(config->mtu_max_bytes >= 256 && config->mtu_max_bytes <= ROCE_MTU_MAX_BYTES);
	ASSERT(config->rd_atomic_max <= NIC_RES);
	ASSERT(config->message_max_bytes_log2 <= 31);
	ASSERT(config->cc_algorithm < NIC_CC_COUNT);
}

/* Row 0 of domains and queues is not used: a number that was never set names nothing. */
static void place_objects(struct arena *arena, const struct nic_config *config, struct nic *nic)
{
	nic->pds = arena_take(arena, config->pd_count_max + 1, sizeof(*nic->pds));
	nic->mkeys =
	    arena_take(arena, config->mkey_count_max + NIC_MKEY_FIRST, sizeof(*nic->mkeys));
	nic->mores =
	    arena_take(arena, config->mkey_count_max + NIC_MKEY_FIRST, sizeof(*nic->mores));
	nic->sigs = arena_take(arena, config->mkey_count_max + NIC_MKEY_FIRST, sizeof(*nic->sigs));
	nic->psvs = arena_take(arena, config->mkey_count_max + 1, sizeof(*nic->psvs));
	nic->step_count = config->mkey_count_max * NIC_STEPS_PER_MKEY;
	nic->steps = arena_take(arena, nic->step_count, sizeof(*nic->steps));
	nic->cqs = arena_take(arena, config->cq_count_max + 1, sizeof(*nic->cqs));
	nic->srqs = arena_take(arena, config->srq_count_max + 1, sizeof(*nic->srqs));
	nic->xrcds = arena_take(arena, config->xrcd_count_max + 1, sizeof(*nic->xrcds));
	nic->qps = arena_take(arena, config->qp_count_max + config->dc_responder_count_max,
			      sizeof(*nic->qps));
	nic->dcrs = arena_take(arena, config->dc_responder_count_max, sizeof(*nic->dcrs));
	nic->dcr_buckets =
	    arena_take(arena, config->dc_responder_count_max, sizeof(*nic->dcr_buckets));
	nic->ops =
	    arena_take(arena, (size_t)config->qp_count_max << NIC_OPS_LOG2, sizeof(*nic->ops));
	nic->heap = arena_take(arena, config->qp_count_max, sizeof(*nic->heap));
	nic->qp_watch = arena_take(arena, config->qp_count_max, sizeof(*nic->qp_watch));
	nic->attachments = arena_take(arena, NIC_ATTACHMENTS_MAX, sizeof(*nic->attachments));
	nic->rules = arena_take(arena, NIC_RULES_MAX, sizeof(*nic->rules));
	nic->rss = arena_take(arena, 1, sizeof(*nic->rss));
	nic->cq_watch = arena_take(arena, config->cq_count_max, sizeof(*nic->cq_watch));
	nic->cong.flows = arena_take(arena, config->qp_count_max, sizeof(*nic->cong.flows));
	nic->cong.alarms =
	    arena_take(arena, config->qp_count_max + NIC_DESTS_MAX, sizeof(*nic->cong.alarms));
	nic->cong.notes = arena_take(arena, NIC_NOTES_MAX, sizeof(*nic->cong.notes));
	nic->cong.dests = arena_take(arena, NIC_DESTS_MAX, sizeof(*nic->cong.dests));
	nic->cong.mappings = arena_take(arena, NIC_MAPPINGS_MAX + 1, sizeof(*nic->cong.mappings));
}

static void place_slots(struct arena *arena, const struct nic_config *config, struct nic *nic)
{
	uint32_t *next;

	next = arena_take(arena, config->pd_count_max + 1, sizeof(*next));
	slots_init(&nic->pd_slots, next, 1, config->pd_count_max + 1);
	next = arena_take(arena, config->mkey_count_max + NIC_MKEY_FIRST, sizeof(*next));
	slots_init(&nic->mkey_slots, next, NIC_MKEY_FIRST, config->mkey_count_max + NIC_MKEY_FIRST);
	next = arena_take(arena, config->mkey_count_max + 1, sizeof(*next));
	slots_init(&nic->psv_slots, next, 1, config->mkey_count_max + 1);
	next = arena_take(arena, config->cq_count_max + 1, sizeof(*next));
	slots_init(&nic->cq_slots, next, 1, config->cq_count_max + 1);
	next = arena_take(arena, config->srq_count_max + 1, sizeof(*next));
	slots_init(&nic->srq_slots, next, 1, config->srq_count_max + 1);
	next = arena_take(arena, config->xrcd_count_max + 1, sizeof(*next));
	slots_init(&nic->xrcd_slots, next, 1, config->xrcd_count_max + 1);
	next = arena_take(arena, config->dc_responder_count_max, sizeof(*next));
	slots_init(&nic->dcr_slots, next, 0, config->dc_responder_count_max);
	next = arena_take(arena, config->qp_count_max, sizeof(*next));
	slots_init(&nic->qp_slots, next, 0, 0);
}

size_t nic_arena_bytes(const struct nic_config *config)
{
	struct arena arena = {0};
	struct nic nic;

	check_config(config);
	arena_take(&arena, 1, sizeof(nic));
	place_objects(&arena, config, &nic);
	place_slots(&arena, config, &nic);
	return arena.used_bytes;
}

struct nic *nic_init(void *memory, const struct nic_config *config, const struct nic_env *env,
		     uint64_t seed)
{
	struct arena arena = {.base = memory};
	struct nic *nic;

	check_config(config);
	ASSERT((uintptr_t)memory % ARENA_ALIGN == 0);
	nic = arena_take(&arena, 1, sizeof(*nic));
	nic->env = env;
	nic->tracing = env->trace != NULL;
	nic->config = *config;
	nic->cong.params = config->cc_params ? config->cc_params : &nic_cc_vendor;
	nic->cong.line_rate_bps = config->line_rate_bps ? config->line_rate_bps : LINE_RATE_BPS;
	nic_ece_init(nic);
	base_prng_seed(&nic->prng, seed);
	place_objects(&arena, config, nic);
	place_slots(&arena, config, nic);
	return nic;
}

const struct nic_counters *nic_counters(const struct nic *nic)
{
	return &nic->counters;
}

/* ---- protection domains ---------------------------------------------------------------------- */

struct nic_pd *nic_pd_find(const struct nic *nic, uint32_t pdn)
{
	if (pdn > nic->config.pd_count_max || !nic->pds[pdn].live)
		return NULL;
	return &nic->pds[pdn];
}

int nic_pd_create(struct nic *nic, uint32_t *pdn)
{
	uint32_t index;

	if (!nic_slot_take(&nic->pd_slots, 0, &index))
		return -ENOMEM;
	nic->pds[index] = (struct nic_pd){.live = true};
	*pdn = index;
	return 0;
}

int nic_pd_destroy(struct nic *nic, uint32_t pdn)
{
	struct nic_pd *pd = nic_pd_find(nic, pdn);

	if (!pd)
		return -EINVAL;
	if (pd->users != 0)
		return -EBUSY;
	pd->live = false;
	nic_slot_give(&nic->pd_slots, pdn);
	return 0;
}
