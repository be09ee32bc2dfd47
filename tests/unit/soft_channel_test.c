/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that an event channel loses no record, takes back what was not read, keeps the order of the
 * rest, and ends when it is closed. By sending to channels whose reader is slow, or never comes.
 */
#include "soft/channel.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { MANY = 3000 };

struct world {
	struct kern_rig rig;
	struct soft_channels channels;
	struct kern_channel *kern[2];
	int fd[2];
};

static int open_world(void **state)
{
	static struct world world;
	int fd;

	memset(&world, 0, sizeof(world));
	kern_rig_open(&world.rig);
	assert_int_equal(rig_context(&world.rig), 0);
	assert_int_equal(soft_channels_init(&world.channels), 0);
	soft_channels_hand_over(&world.channels, false);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rig_comp_channel(&world.rig, &fd), 0);
		world.kern[i] = world.rig.channels[fd - RIG_FD_FIRST].kern;
		world.fd[i] = soft_channel_open(&world.channels, world.kern[i]);
		assert_true(world.fd[i] >= 0);
	}
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	for (unsigned int i = 0; i < 2; i++) {
		if (world->channels.slots[i])
			soft_channel_close(&world->channels, world->kern[i]);
		close(world->fd[i]);
	}
	soft_channels_free(&world->channels);
	kern_rig_close(&world->rig);
	return 0;
}

static void send_one(struct world *world, unsigned int channel, uint64_t handle, uint64_t number)
{
	uint64_t record[2] = {handle, number};

	soft_channel_send(&world->channels, world->kern[channel], record, sizeof(record));
}

/* The number of the next record, or -1 if there is none now. */
static int64_t read_one(struct world *world, unsigned int channel, uint64_t *handle)
{
	uint64_t record[2];

	if (recv(world->fd[channel], record, sizeof(record), MSG_DONTWAIT) != sizeof(record))
		return -1;
	*handle = record[0];
	return (int64_t)record[1];
}

static void slow_reader_loses_nothing(void **state)
{
	struct world *world = *state;
	uint64_t handle = 0, expected = 0;

	for (uint64_t i = 0; i < MANY; i++)
		send_one(world, 0, 5, i);
	assert_true(world->channels.waiting > 0); /* or the test tests nothing */
	while (expected < MANY) {
		int64_t number = read_one(world, 0, &handle);

		if (number < 0) {
			soft_channels_tend(&world->channels);
			number = read_one(world, 0, &handle);
		}
		assert_int_equal(number, expected);
		expected++;
	}
	soft_channels_tend(&world->channels);
	assert_int_equal(world->channels.waiting, 0);
	assert_int_equal(read_one(world, 0, &handle), -1);
}

/* One of three handles is taken back, from the socket and from what waits; the rest stays in order.
 */
static void withdrawn_by_handle(void **state)
{
	struct world *world = *state;
	uint64_t handle = 0, next[3] = {0, 1, 2};
	unsigned int left = 0;

	for (uint64_t i = 0; i < MANY; i++)
		send_one(world, 0, i % 3, i);
	for (unsigned int i = 0; i < 30; i++) {
		assert_int_equal(read_one(world, 0, &handle), i);
		next[handle] += 3;
	}
	assert_int_equal(soft_channel_withdraw(&world->channels, world->kern[0], 1), MANY / 3 - 10);
	assert_int_equal(soft_channel_withdraw(&world->channels, world->kern[0], 1), 0);
	assert_int_equal(soft_channel_withdraw(&world->channels, world->kern[0], 9), 0);
	for (;;) {
		int64_t number = read_one(world, 0, &handle);

		if (number < 0) {
			soft_channels_tend(&world->channels);
			number = read_one(world, 0, &handle);
		}
		if (number < 0)
			break;
		assert_int_not_equal(handle, 1);
		assert_int_equal(number, next[handle]);
		next[handle] += 3;
		left++;
	}
	assert_int_equal(left, 2 * (MANY / 3 - 10));
}

static void channels_are_apart(void **state)
{
	struct world *world = *state;
	uint64_t handle;

	send_one(world, 0, 5, 1);
	send_one(world, 1, 5, 2);
	assert_int_equal(soft_channel_withdraw(&world->channels, world->kern[0], 5), 1);
	assert_int_equal(read_one(world, 0, &handle), -1);
	assert_int_equal(read_one(world, 1, &handle), 2);
}

/* A descriptor is known by what it is, not by its number. */
static void found_by_descriptor(void **state)
{
	struct world *world = *state;
	int other = dup(world->fd[1]);

	assert_true(other >= 0);
	assert_ptr_equal(soft_channel_of(&world->channels, world->fd[0]), world->kern[0]);
	assert_ptr_equal(soft_channel_of(&world->channels, other), world->kern[1]);
	assert_null(soft_channel_of(&world->channels, 0));
	assert_null(soft_channel_of(&world->channels, -1));
	close(other);
	/* The number now belongs to another file. */
	assert_int_equal(dup2(0, world->fd[1]), world->fd[1]);
	assert_null(soft_channel_of(&world->channels, world->fd[1]));
}

static void a_closed_channel_ends(void **state)
{
	struct world *world = *state;
	uint64_t handle;
	char byte;

	send_one(world, 0, 5, 1);
	soft_channel_close(&world->channels, world->kern[0]);
	assert_int_equal(read_one(world, 0, &handle), 1);
	assert_int_equal(recv(world->fd[0], &byte, 1, 0), 0);
	assert_null(soft_channel_of(&world->channels, world->fd[0]));
	/* The other one goes on. */
	send_one(world, 1, 5, 2);
	assert_int_equal(read_one(world, 1, &handle), 2);
}

static void a_released_channel_is_gone(void **state)
{
	struct world *world = *state;
	int slot = (int)kern_channel_slot(world->kern[0]);

	assert_true(soft_channel_release(&world->channels, world->fd[0]));
	world->rig.channels[slot].open = false;
	assert_false(soft_channel_release(&world->channels, world->fd[0]));
	assert_false(soft_channel_release(&world->channels, -1));
	assert_null(world->channels.slots[slot]);
}

/* The application's end closed behind our back: no signal, no error. */
static void reader_gone(void **state)
{
	struct world *world = *state;

	close(world->fd[0]);
	for (uint64_t i = 0; i < 10; i++)
		send_one(world, 0, 5, i);
	assert_int_equal(soft_channel_withdraw(&world->channels, world->kern[0], 5), 10);
	world->fd[0] = dup(0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(slow_reader_loses_nothing),
	    TEST(withdrawn_by_handle),
	    TEST(channels_are_apart),
	    TEST(found_by_descriptor),
	    TEST(a_closed_channel_ends),
	    TEST(a_released_channel_is_gone),
	    TEST(reader_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
