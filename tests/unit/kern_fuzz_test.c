/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that no bytes of an application make the kernel's model crash, break its tables or answer
 * with anything but 0 or an error. By good calls with random damage, random registers and random
 * rings.
 */
#include "base/prng.h"
#include "tests/support/kern_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 500, STEPS = 600, KNOWN = 4 };

enum known { KNOWN_PD, KNOWN_UAR, KNOWN_CQ, KNOWN_QP, KNOWN_MR, KNOWN_KINDS };

static struct base_prng prng;
static struct kern_rig rig;
static uint32_t known[KNOWN_KINDS][KNOWN]; /* handles of objects that were made, newest wins */
static uint32_t known_page;
static unsigned int queue_pairs; /* made in all, so that the test can say it tests them */
static unsigned int connected;

static uint32_t below(uint32_t bound)
{
	return (uint32_t)base_prng_below(&prng, bound);
}

/* A number as hostile callers like them. */
static uint64_t odd_number(void)
{
	static const uint64_t edges[] = {
	    0,    1,      7,      8,          9,          63,         255,       4095,
	    4096, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, UINT32_MAX, INT64_MAX, UINT64_MAX};

	switch (below(4)) {
	case 0:
		return base_prng_u64(&prng);
	case 1:
		return rig_va(rig.memory) + below(RIG_MEMORY_BYTES + 4096);
	case 2:
		return rig_va(rig.memory) + RIG_MEMORY_BYTES - below(64);
	default:
		return edges[below(sizeof(edges) / sizeof(edges[0]))];
	}
}

static void damage_attr(struct ib_uverbs_attr *attr)
{
	switch (below(7)) {
	case 0:
		attr->attr_id = (uint16_t)(below(2) ? below(20) : 0x1000 + below(6));
		break;
	case 1:
		attr->len = (uint16_t)odd_number();
		break;
	case 2:
		attr->flags = (uint16_t)below(4);
		break;
	case 3:
		attr->attr_data.reserved = (uint16_t)below(3);
		break;
	default:
		attr->data = odd_number();
	}
}

/* What an attribute points at. */
static void damage_payload(const struct ib_uverbs_attr *attr)
{
	uint64_t start = rig_va(rig.memory);
	uint64_t value = odd_number();
	size_t len = 1u << below(4);

	if (attr->len <= 8 || attr->data < start || attr->data >= start + RIG_MEMORY_BYTES - 4096)
		return;
	memcpy((void *)(uintptr_t)(attr->data + below(attr->len)), &value, len);
}

static void damage(struct kern_rig *r)
{
	unsigned int count = r->hdr->num_attrs;

	for (uint32_t times = below(2) * below(4); times > 0; times--) {
		switch (below(12)) {
		case 0:
			((uint8_t *)r->hdr)[below(24)] = (uint8_t)odd_number();
			break;
		case 1:
			r->hdr->num_attrs = (uint16_t)below(RIG_ATTRS);
			r->hdr->length = (uint16_t)uv_hdr_bytes(r->hdr->num_attrs);
			break;
		case 2:
			r->hdr->object_id = (uint16_t)(below(2) ? below(18) : 0x1000 + below(10));
			r->hdr->method_id = (uint16_t)(below(2) ? below(8) : 0x1000 + below(3));
			break;
		case 3:
		case 4:
			if (count != 0)
				damage_payload(&r->attrs[below(count)]);
			break;
		default:
			if (count != 0)
				damage_attr(&r->attrs[below(count)]);
		}
	}
}

static uint32_t handle_of(enum known kind)
{
	return below(10) == 0 ? below(24) : known[kind][below(KNOWN)];
}

static int learn(enum known kind, uint32_t handle, int error)
{
	if (!error)
		known[kind][below(KNOWN)] = handle;
	return error;
}

static int create_cq(void)
{
	struct rig_cq cq = {.cqe = below(64),
			    .user_handle = odd_number(),
			    .comp_fd = below(2) ? -1 : RIG_FD_FIRST + (int)below(6),
			    .uar_page = below(8) ? known_page : below(RIG_PAGES)};
	int error = rig_cq(&rig, &cq);

	return learn(KNOWN_CQ, cq.handle, error);
}

static int create_qp(void)
{
	struct rig_qp qp = {.pd = handle_of(KNOWN_PD),
			    .send_cq = handle_of(KNOWN_CQ),
			    .recv_cq = handle_of(KNOWN_CQ),
			    .uar_page = below(8) ? known_page : below(RIG_PAGES),
			    .sq_count = 1u << below(5),
			    .rq_count = 1u << below(5)};
	int error = rig_qp(&rig, &qp);

	queue_pairs += !error;
	return learn(KNOWN_QP, qp.handle, error);
}

static int step_create(void)
{
	struct ib_uverbs_reg_mr_resp mr = {0};
	uint32_t handle = 0;
	int error, fd;

	switch (below(7)) {
	case 0:
		error = rig_pd(&rig, &handle);
		return learn(KNOWN_PD, handle, error);
	case 1:
		error = rig_uar(&rig, &handle, &known_page);
		return learn(KNOWN_UAR, handle, error);
	case 2:
		return create_cq();
	case 3:
		return create_qp();
	case 4:
		return rig_async(&rig, &fd);
	case 5:
		return rig_comp_channel(&rig, &fd);
	default:
		error =
		    rig_mr(&rig, handle_of(KNOWN_PD), rig.memory, RIG_MEMORY_BYTES, below(16), &mr);
		return learn(KNOWN_MR, mr.mr_handle, error);
	}
}

static int step_destroy(void)
{
	switch (below(5)) {
	case 0:
		return rig_destroy_cq(&rig, handle_of(KNOWN_CQ), NULL);
	case 1:
		return rig_destroy_qp(&rig, handle_of(KNOWN_QP), NULL);
	case 2:
		return rig_destroy(&rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
				   UVERBS_ATTR_DESTROY_PD_HANDLE, handle_of(KNOWN_PD));
	case 3:
		return rig_destroy(&rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				   UVERBS_ATTR_DESTROY_MR_HANDLE, handle_of(KNOWN_MR));
	default:
		return rig_destroy(&rig, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				   MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle_of(KNOWN_UAR));
	}
}

static int step_use(void)
{
	struct ib_uverbs_query_qp_resp resp;
	struct ib_uverbs_modify_qp req = {.qp_handle = handle_of(KNOWN_QP)};
	struct rig_qp qp = {.handle = handle_of(KNOWN_QP)};
	int error;

	switch (below(4)) {
	case 0:
		return rig_query(&rig, handle_of(KNOWN_QP), &resp);
	case 1:
		base_prng_fill(&prng, &req.dest, sizeof(req.dest));
		req.attr_mask = (uint32_t)odd_number();
		req.qp_state = (uint8_t)below(8);
		req.port_num = (uint8_t)below(3);
		return rig_modify(&rig, &req);
	default:
		error = rig_connect(&rig, &qp, 0x1000 + below(8));
		connected += !error;
		return error;
	}
}

/* Not a call: registers, rings, closed channels. */
static void step_outside(void)
{
	struct rig_channel *channel = &rig.channels[below(RIG_CHANNELS)];
	uint32_t page, count;

	switch (below(5)) {
	case 0:
		base_prng_fill(&prng, rig.pages + 4096 * below(RIG_PAGES) + 0x800, 8);
		break;
	case 1:
		base_prng_fill(&prng, rig.memory + below(RIG_MEMORY_BYTES - 256), 256);
		break;
	case 2:
		kern_mmap(rig.file, odd_number(), odd_number(), true, &page, &count);
		break;
	case 3:
		if (channel->open) {
			kern_channel_release(channel->kern);
			channel->open = false;
		}
		break;
	default:
		nic_scan(rig.nic, rig.now_ns);
	}
	rig.now_ns += 1000000;
	rig_pump(&rig);
}

static void run_seed(uint64_t seed)
{
	base_prng_seed(&prng, seed);
	memset(known, 0xff, sizeof(known));
	kern_rig_open(&rig);
	assert_int_equal(rig_context(&rig), 0);
	rig.before_run = damage;
	for (unsigned int step = 0; step < STEPS; step++) {
		uint32_t kind = below(8);
		int error = 0;

		/* Rings of queue pairs that were made stay where they are; calls start afresh. */
		rig.memory_used = below(2) ? 0 : 256 * 1024;
		if (kind < 4)
			error = step_create();
		else if (kind < 5)
			error = step_destroy();
		else if (kind < 7)
			error = step_use();
		else
			step_outside();
		assert_true(error <= 0 && error > -4096);
		for (unsigned int i = 0; i < RIG_CHANNELS; i++)
			rig.channels[i].count = 0;
		nic_check(rig.nic);
	}
	kern_rig_close(&rig);
}

static void damaged_calls(void **state)
{
	const char *only = getenv("KERN_FUZZ_SEED");
	uint64_t first = only ? strtoull(only, NULL, 0) : 1;
	uint64_t count = only ? 1 : SEEDS;

	(void)state;
	for (uint64_t seed = first; seed < first + count; seed++) {
		/* Printed first: if this one dies, KERN_FUZZ_SEED replays it. */
		print_message("seed %llu\r", (unsigned long long)seed);
		run_seed(seed);
	}
	print_message("\n%u queue pairs, %u connected\n", queue_pairs, connected);
	assert_true(only || (queue_pairs > SEEDS && connected > SEEDS / 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_calls)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
