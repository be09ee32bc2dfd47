/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that handles belong to one context and one type, that channels and register pages have
 * owners, and that closing a context takes everything with it. By two contexts on one device.
 */
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct kern_rig rig;
	struct kern_file *one, *two;
};

static int open_world(void **state)
{
	static struct world world;

	kern_rig_open(&world.rig);
	world.one = world.rig.file;
	assert_int_equal(kern_open(world.rig.kern, &world.two), 0);
	assert_int_equal(rig_context(&world.rig), 0);
	world.rig.file = world.two;
	assert_int_equal(rig_context(&world.rig), 0);
	world.rig.file = world.one;
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	if (world->two)
		kern_close(world->two, 0);
	world->rig.file = world->one;
	kern_rig_close(&world->rig);
	return 0;
}

static int pd_destroy(struct kern_rig *rig, uint64_t handle)
{
	rig_call(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_PD_HANDLE, handle, 0);
	return rig_run(rig);
}

static void handles(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t pd, uar, page;

	assert_int_equal(rig_pd(rig, &pd), 0);
	assert_int_equal(rig_uar(rig, &uar, &page), 0);
	assert_int_equal(pd_destroy(rig, uar), -EINVAL);
	assert_int_equal(pd_destroy(rig, 1000), -ENOENT);
	assert_int_equal(pd_destroy(rig, UINT32_MAX), -ENOENT);
	assert_int_equal(pd_destroy(rig, UINT64_MAX), -EINVAL);
	assert_int_equal(pd_destroy(rig, UINT64_C(1) << 32 | pd), -ENOENT);
	rig->file = world->two;
	assert_int_equal(pd_destroy(rig, pd), -ENOENT);
	rig->file = world->one;
	assert_int_equal(pd_destroy(rig, pd), 0);
	assert_int_equal(pd_destroy(rig, pd), -ENOENT);
	/* A handle with a length, or with what is reserved. */
	assert_int_equal(rig_pd(rig, &pd), 0);
	rig_call(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_PD_HANDLE, pd, 4);
	assert_int_equal(rig_run(rig), -EINVAL);
	rig_call(rig, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY);
	rig_attr(rig, UVERBS_ATTR_DESTROY_PD_HANDLE, pd, 0)->attr_data.reserved = 1;
	assert_int_equal(rig_run(rig), -EINVAL);
	assert_int_equal(pd_destroy(rig, pd), 0);
}

/* Every PD of the nic can be made, not one more, and all again after they are gone. */
static void as_many_as_promised(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t handles_made[65];

	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 64; i++)
			assert_int_equal(rig_pd(rig, &handles_made[i]), 0);
		assert_true(rig_pd(rig, &handles_made[64]) < 0);
		for (unsigned int i = 0; i < 64; i++)
			assert_int_equal(pd_destroy(rig, handles_made[i]), 0);
	}
}

static void register_pages(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	uint32_t handles_made[RIG_PAGES], pages[RIG_PAGES], page, count;
	uint64_t offset;

	for (unsigned int i = 0; i < RIG_PAGES; i++) {
		assert_int_equal(rig_uar(rig, &handles_made[i], &pages[i]), 0);
		for (unsigned int j = 0; j < i; j++)
			assert_int_not_equal(pages[i], pages[j]);
	}
	assert_int_equal(rig_uar(rig, &handles_made[0], &page), -ENOMEM);
	offset = (UINT64_C(0x900) + pages[3]) * 4096;
	assert_int_equal(kern_mmap(rig->file, offset, 4096, true, &page, &count), 0);
	assert_int_equal(page, pages[3]);
	assert_int_equal(count, 1);
	/* Another length, a place in the page, another context, what drivers make up, none at all.
	 */
	assert_int_equal(kern_mmap(rig->file, offset, 8192, true, &page, &count), -EINVAL);
	assert_int_equal(kern_mmap(rig->file, offset + 8, 4096, true, &page, &count), -EINVAL);
	assert_int_equal(kern_mmap(world->two, offset, 4096, true, &page, &count), -EINVAL);
	assert_int_equal(kern_mmap(rig->file, 0, 4096, true, &page, &count), -EINVAL);
	assert_int_equal(kern_mmap(rig->file, UINT64_MAX, 4096, true, &page, &count), -EINVAL);
	assert_int_equal(rig_destroy(rig, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY,
				     MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handles_made[3]),
			 0);
	assert_int_equal(kern_mmap(rig->file, offset, 4096, true, &page, &count), -EINVAL);
	/* The page comes back clean. */
	memset(rig->pages + 4096 * pages[3], 0xff, 4096);
	assert_int_equal(rig_uar(rig, &handles_made[3], &page), 0);
	assert_int_equal(page, pages[3]);
	for (unsigned int i = 0; i < 4096; i++)
		assert_int_equal(rig->pages[4096 * page + i], 0);
}

static void channels_belong_to_a_context_and_kind(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct rig_cq cq = {.cqe = 15, .comp_fd = -1};
	int comp, async;

	assert_int_equal(rig_comp_channel(rig, &comp), 0);
	assert_int_equal(rig_async(rig, &async), 0);
	assert_int_equal(rig_uar(rig, &cq.handle, &cq.uar_page), 0);
	cq.comp_fd = async;
	assert_int_equal(rig_cq(rig, &cq), -EBADF);
	cq.comp_fd = 3;
	assert_int_equal(rig_cq(rig, &cq), -EBADF);
	cq.comp_fd = comp;
	assert_int_equal(rig_cq(rig, &cq), 0);
	rig->file = world->two;
	assert_int_equal(rig_uar(rig, &cq.handle, &cq.uar_page), 0);
	assert_int_equal(rig_cq(rig, &cq), -EBADF);
}

static void no_descriptor_no_channel(void **state)
{
	struct world *world = *state;
	int fd;

	world->rig.channel_error = -ENFILE;
	assert_int_equal(rig_comp_channel(&world->rig, &fd), -ENFILE);
	assert_int_equal(rig_async(&world->rig, &fd), -ENFILE);
	world->rig.channel_error = 0;
	assert_int_equal(rig_comp_channel(&world->rig, &fd), 0);
	assert_int_equal(fd, RIG_FD_FIRST);
}

/* An application closes a channel that a completion queue still names: events go nowhere. */
static void released_channel(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct rig_cq cq = {.cqe = 15, .user_handle = 5};
	struct rig_channel *channel;
	struct nic_event event = {.kind = NIC_EVENT_CQ_COMPLETION};
	struct ib_uverbs_destroy_cq_resp resp;

	assert_int_equal(rig_comp_channel(rig, &cq.comp_fd), 0);
	channel = &rig->channels[cq.comp_fd - RIG_FD_FIRST];
	assert_int_equal(rig_uar(rig, &cq.handle, &cq.uar_page), 0);
	assert_int_equal(rig_cq(rig, &cq), 0);
	event.cookie = cq.handle;
	kern_nic_event(rig->kern, &event);
	kern_nic_event(rig->kern, &event);
	assert_int_equal(channel->count, 2);
	channel->count--; /* one is read */
	kern_channel_release(channel->kern);
	channel->open = false;
	assert_int_equal(channel->count, 0);
	kern_nic_event(rig->kern, &event);
	assert_int_equal(rig_destroy_cq(rig, cq.handle, &resp), 0);
	assert_int_equal(resp.comp_events_reported, 1);
	/* The slot is free again. */
	assert_int_equal(rig_comp_channel(rig, &cq.comp_fd), 0);
	assert_ptr_equal(&rig->channels[cq.comp_fd - RIG_FD_FIRST], channel);
}

static void port_events_go_to_every_context(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct ib_uverbs_async_event_desc record;
	int one, also_one, two;

	kern_port_event(rig->kern, UV_EVENT_PORT_ERR); /* nobody listens yet */
	assert_int_equal(rig_async(rig, &one), 0);
	assert_int_equal(rig_async(rig, &also_one), 0);
	rig->file = world->two;
	assert_int_equal(rig_async(rig, &two), 0);
	kern_port_event(rig->kern, UV_EVENT_PORT_ERR);
	assert_int_equal(rig->channels[one - RIG_FD_FIRST].count, 1);
	assert_int_equal(rig->channels[also_one - RIG_FD_FIRST].count, 0);
	assert_int_equal(rig->channels[two - RIG_FD_FIRST].count, 1);
	memcpy(&record, rig->channels[two - RIG_FD_FIRST].records[0], sizeof(record));
	assert_int_equal(record.element, 1);
	assert_int_equal(record.event_type, UV_EVENT_PORT_ERR);
}

/* Objects, pages and channels of a context go with it; the other context's stay. */
static void close_takes_all(void **state)
{
	struct world *world = *state;
	struct kern_rig *rig = &world->rig;
	struct rig_cq cq = {.cqe = 15};
	struct rig_qp qp = {.sq_count = 4, .rq_count = 4};
	uint32_t other_pd, pages = 0;
	int async, other_async;

	rig->file = world->two;
	assert_int_equal(rig_pd(rig, &other_pd), 0);
	assert_int_equal(rig_async(rig, &other_async), 0);
	rig->file = world->one;
	assert_int_equal(rig_async(rig, &async), 0);
	assert_int_equal(rig_comp_channel(rig, &cq.comp_fd), 0);
	assert_int_equal(rig_pd(rig, &qp.pd), 0);
	assert_int_equal(rig_uar(rig, &cq.handle, &cq.uar_page), 0);
	assert_int_equal(rig_cq(rig, &cq), 0);
	qp.send_cq = qp.recv_cq = cq.handle;
	qp.uar_page = cq.uar_page;
	for (unsigned int i = 0; i < 10; i++) {
		qp.ring = NULL;
		assert_int_equal(rig_qp(rig, &qp), 0);
		assert_int_equal(rig_connect(rig, &qp, qp.number), 0);
	}
	kern_close(world->one, 0);
	assert_false(rig->channels[async - RIG_FD_FIRST].open);
	assert_false(rig->channels[cq.comp_fd - RIG_FD_FIRST].open);
	assert_true(rig->channels[other_async - RIG_FD_FIRST].open);
	nic_check(rig->nic);
	rig->file = world->two;
	assert_int_equal(pd_destroy(rig, other_pd), 0);
	while (rig_uar(rig, &cq.handle, &cq.uar_page) == 0)
		pages++;
	assert_int_equal(pages, RIG_PAGES);
	assert_int_equal(kern_open(rig->kern, &world->one), 0);
}

static void contexts_run_out(void **state)
{
	struct world *world = *state;
	struct kern_file *files[KERN_FILE_MAX];
	unsigned int count = 0;

	while (kern_open(world->rig.kern, &files[count]) == 0)
		count++;
	assert_int_equal(count, KERN_FILE_MAX - 2);
	assert_int_equal(kern_open(world->rig.kern, &files[count]), -EMFILE);
	while (count > 0)
		kern_close(files[--count], 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(handles),
	    TEST(as_many_as_promised),
	    TEST(register_pages),
	    TEST(channels_belong_to_a_context_and_kind),
	    TEST(no_descriptor_no_channel),
	    TEST(released_channel),
	    TEST(port_events_go_to_every_context),
	    TEST(close_takes_all),
	    TEST(contexts_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
