/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/group: the program sends every block to the index of its owner, as a model of the kernel's
 * interpreter and the kernel itself say; the list follows joins and leaves, and a wrong one is put
 * right by what comes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/icrc.h"
#include "abi/roce.h"
#include "base/be.h"
#include "base/prng.h"
#include "host/group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct host_group_program program;
static uint16_t owners[SHM_BLOCK_COUNT];

/* ---- the program ----------------------------------------------------------------------------- */

/* What the instructions that we use do [socket(7) SO_ATTACH_REUSEPORT_CBPF, linux/filter.h]. */
static uint32_t interpret(const uint8_t *payload)
{
	uint32_t acc = 0;

	for (uint32_t pc = 0, steps = 0; pc < program.count && steps < 64; pc++, steps++) {
		const struct sock_filter *at = &program.filter[pc];

		switch (at->code) {
		case BPF_LD | BPF_H | BPF_ABS:
			acc = be16_load(payload + at->k);
			continue;
		case BPF_ALU | BPF_RSH | BPF_K:
			acc >>= at->k;
			continue;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += acc >= at->k ? at->jt : at->jf;
			continue;
		case BPF_JMP | BPF_JA:
			pc += at->k;
			continue;
		case BPF_RET | BPF_K:
			return at->k;
		}
		fail_msg("instruction %#x at %u", at->code, pc);
	}
	fail_msg("no end");
	return 0;
}

static bool mapped(uint32_t block)
{
	return program.mapped[block / 64] >> block % 64 & 1;
}

static void check_program(const uint16_t *slots, uint32_t count)
{
	uint16_t index_of[SHM_MEMBER_MAX];

	memset(index_of, 0xff, sizeof(index_of));
	for (uint32_t i = 0; i < count; i++)
		index_of[slots[i]] = (uint16_t)i;
	assert_in_range(program.count, 1, HOST_GROUP_PROGRAM_MAX);
	for (uint32_t block = 0; block < SHM_BLOCK_COUNT; block++) {
		uint8_t bth[12] = {0};
		uint32_t index;

		be24_store(bth + ROCE_BTH_DQPN_OFF, block << SHM_BLOCK_LOG2 | (block & 0xfff));
		index = interpret(bth);
		if (mapped(block) && index != index_of[owners[block] - 1])
			fail_msg("block %u goes to %u", block, index);
		assert_true(count == 0 || index < count);
	}
}

static uint32_t count_mapped(void)
{
	uint32_t count = 0;

	for (uint32_t block = 0; block < SHM_BLOCK_COUNT; block++)
		count += mapped(block);
	return count;
}

static void test_programs(void **state)
{
	struct base_prng prng;
	uint16_t slots[SHM_MEMBER_MAX];

	(void)state;
	base_prng_seed(&prng, 8);
	print_message("seed 8\n");
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t count = (uint32_t)base_prng_below(&prng, round % 3 ? 8 : 257);
		uint32_t blocks = (uint32_t)base_prng_below(&prng, round % 5 ? 40 : 1300);
		uint32_t owned = 0;

		memset(owners, 0, sizeof(owners));
		for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++)
			slots[i] = (uint16_t)i;
		for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++) {
			uint32_t other = (uint32_t)base_prng_below(&prng, SHM_MEMBER_MAX);
			uint16_t slot = slots[i];

			slots[i] = slots[other];
			slots[other] = slot;
		}
		for (uint32_t i = 0; i < blocks && count; i++)
			owners[base_prng_below(&prng, SHM_BLOCK_COUNT)] =
			    (uint16_t)(slots[base_prng_below(&prng, count)] + 1);
		for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
			owned += owners[i] != 0;
		host_group_program(&program, owners, slots, count);
		check_program(slots, count);
		assert_int_equal(count_mapped(), owned);
	}
}

/* More than a program can say: it says as much as it can. And owners that make no sense. */
static void test_too_many(void **state)
{
	static const uint16_t slots[2] = {3, 4};

	(void)state;
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
		owners[i] = (uint16_t)(4 + i % 2);
	host_group_program(&program, owners, slots, 2);
	check_program(slots, 2);
	assert_in_range(count_mapped(), 1300, 1400);
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
		owners[i] = (uint16_t)(i % 3 ? 9 : 60000);
	host_group_program(&program, owners, slots, 2);
	assert_int_equal(count_mapped(), 0);
}

/* ---- the group ------------------------------------------------------------------------------- */

enum { MEMBERS = 4 };

/* Four memberships of one process, each with its socket: member i has slot i + 1. That they live is
 * shown by the locks of a child, for nobody sees locks of his own; that is also why the slot that
 * this process claimed first is no member's, and may be taken for dead. */
static struct {
	pid_t child;
	struct host_registry root;
	struct host_registry registry[MEMBERS];
	struct host_udp udp[MEMBERS];
	uint32_t block[MEMBERS];
	uint32_t got[MEMBERS];
} group;

static void gid_of(uint8_t gid[static 16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, 0xff};
	uint8_t address[4] = {127, 7, (uint8_t)getpid(), 1};

	memcpy(gid, prefix, 12);
	memcpy(gid + 12, address, 4);
}

static void member_join(uint32_t i)
{
	struct host_registry *registry = &group.registry[i];
	uint8_t gid[16];

	gid_of(gid);
	*registry = group.root;
	registry->slot = i + 1;
	atomic_store(&host_registry_member(registry, i + 1)->state, SHM_LIVE);
	host_udp_init(&group.udp[i]);
	assert_int_equal(host_udp_open(&group.udp[i], NULL), 0);
	assert_int_equal(host_udp_prepare(&group.udp[i], gid, false), 0);
	assert_int_equal(host_registry_block(registry, &group.block[i]), 0);
	assert_int_equal(host_group_join(registry, &group.udp[i]), 0);
}

static void member_leave(uint32_t i)
{
	host_group_leave(&group.registry[i], &group.udp[i]);
	host_udp_close_app(&group.udp[i]);
	host_udp_close(&group.udp[i]);
}

/* Locks the members' slots and waits. */
static void child_main(int memfd, int ready)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = SHM_LOCK_MEMBER(1),
			     .l_len = MEMBERS};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fcntl(memfd, F_SETLK, &lock) != 0 || write(ready, "", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static bool child_start(void)
{
	int ready[2];
	char byte;
	bool good;

	if (pipe(ready) != 0)
		return false;
	group.child = fork();
	if (group.child == 0)
		child_main(group.root.memfd, ready[1]);
	close(ready[1]);
	good = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return good;
}

static int setup(void **state)
{
	uint8_t gid[16];

	(void)state;
	memset(&group, 0, sizeof(group));
	gid_of(gid);
	if (host_registry_found(&group.root, "test", gid) != 0 ||
	    host_registry_claim(&group.root) != 0 || !child_start())
		return 1;
	for (uint32_t i = 0; i < MEMBERS; i++)
		member_join(i);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (group.udp[i].opened)
			member_leave(i);
	kill(group.child, SIGKILL);
	waitpid(group.child, NULL, 0);
	host_registry_release(&group.root);
	host_registry_close(&group.root);
	return 0;
}

static void take(void *ctx, const struct host_udp_packet *packet)
{
	(void)packet;
	++*(uint32_t *)ctx;
}

/* Sends one datagram to each member's block and counts what each socket gets. */
static void datagrams(void)
{
	static const struct host_udp_limit limit = {64, 65536};
	union host_addr addr;
	socklen_t len = host_addr_from_gid(&addr, group.udp[1].gid, ROCE_UDP_PORT, 0);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	memset(group.got, 0, sizeof(group.got));
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint8_t bth[16] = {0};

		be24_store(bth + ROCE_BTH_DQPN_OFF, group.block[i] << SHM_BLOCK_LOG2 | 7);
		assert_int_equal(sendto(fd, bth, sizeof(bth), 0, &addr.any, len), sizeof(bth));
	}
	close(fd);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint64_t before = group.udp[i].counters.rx_drop_icrc;

		if (group.udp[i].up)
			(void)host_udp_receive(&group.udp[i], &limit, 1, take, &group.got[i]);
		/* Their ICRC is wrong; where they came to is all that matters. */
		group.got[i] += (uint32_t)(group.udp[i].counters.rx_drop_icrc - before);
	}
}

static void test_each_gets_its_own(void **state)
{
	(void)state;
	assert_int_equal(host_group_refresh(&group.registry[1], &group.udp[1]), 0);
	for (int round = 0; round < 3; round++) {
		datagrams();
		for (uint32_t i = 0; i < MEMBERS; i++)
			assert_int_equal(group.got[i], 1);
	}
}

/* One after the other leaves: the last takes its index, and the rest still get their own. */
static void test_leaving(void **state)
{
	(void)state;
	for (uint32_t gone = 1; gone < MEMBERS; gone++) {
		member_leave(gone);
		datagrams();
		assert_int_equal(group.got[0] >= 1, true);
		for (uint32_t i = gone + 1; i < MEMBERS; i++)
			assert_true(group.got[i] >= 1);
	}
}

static struct shm_group *list_of_group(void)
{
	return &host_registry_port(&group.root)->group;
}

/* Whom the list has at index. */
static uint32_t member_at(uint32_t index)
{
	return atomic_load(&list_of_group()->slots[index]) - 1u;
}

/*
 * The list says another order than the kernel has. Members that get what is another's say so, and
 * after some rounds every one gets its own again.
 */
static void test_learning(void **state)
{
	struct shm_group *list = list_of_group();
	uint32_t rounds = 0;

	(void)state;
	for (uint32_t i = 0; i < MEMBERS; i++)
		atomic_store(&list->slots[i], (uint16_t)((i + 1) % MEMBERS + 1));
	assert_int_equal(host_group_refresh(&group.registry[0], &group.udp[0]), 0);
	datagrams();
	assert_true(group.got[0] == 1 && group.got[1] == 1);
	/* As the engine does it: index i belongs to i, and gets what the list gives to i + 1. */
	for (bool wrong = true; wrong && rounds < 10; rounds++) {
		wrong = false;
		for (uint32_t i = 0; i < MEMBERS; i++) {
			uint32_t owner = member_at(i);
			bool enough = false;

			if (owner == i)
				continue;
			wrong = true;
			for (int n = 0; n < 1000 && !enough; n++) {
				group.udp[i].rx_empties = (uint64_t)n;
				enough = host_group_misplaced(
				    &group.registry[i], &group.udp[i], owner + 1,
				    group.block[owner] << SHM_BLOCK_LOG2);
			}
			assert_true(enough);
			assert_int_equal(host_group_refresh(&group.registry[i], &group.udp[i]), 0);
		}
	}
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(member_at(i), i);
	assert_in_range(rounds, 2, 4);
}

/* A member that died without a word: who finds out takes it from the list, as the kernel did. */
static void test_death(void **state)
{
	(void)state;
	host_udp_close_rx(&group.udp[1]);
	kill(group.child, SIGKILL);
	waitpid(group.child, NULL, 0);
	assert_int_equal(host_group_refresh(&group.registry[0], &group.udp[0]), 0);
	/* The child's locks were those of all. */
	assert_int_equal(atomic_load(&list_of_group()->count), 1);
	assert_true(child_start());
}

/* Members died, so that the list has indices that the kernel has not: what is for those goes
 * anywhere, and teaches nothing; but who gets it looks for the dead. */
static void test_no_index(void **state)
{
	uint32_t asked = 0;

	(void)state;
	group.udp[1].rx_empties = 1;
	for (uint32_t n = 0; n < 1000; n++) {
		uint32_t owner = 2 + n % 2;

		asked += host_group_misplaced(&group.registry[1], &group.udp[1], owner + 1,
					      group.block[owner] << SHM_BLOCK_LOG2);
		group.udp[1].rx_empties++;
	}
	assert_true(asked > 0);
	assert_int_equal(host_group_refresh(&group.registry[1], &group.udp[1]), 0);
	assert_false(host_group_misplaced(&group.registry[1], &group.udp[1], 3,
					  group.block[2] << SHM_BLOCK_LOG2));
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(member_at(i), i);
}

/* What came by an older program teaches nothing. */
static void test_learning_from_old_news(void **state)
{
	(void)state;
	/* It was in the socket before the program was written. */
	for (int n = 0; n < 1000; n++)
		(void)host_group_misplaced(&group.registry[2], &group.udp[2], 4,
					   group.block[3] << SHM_BLOCK_LOG2);
	assert_int_equal(group.udp[2].learnt.count, 0);
	assert_int_equal(host_group_refresh(&group.registry[2], &group.udp[2]), 0);
	/* It has come since, but then the program was written again. */
	group.udp[2].rx_empties++;
	for (int n = 0; n < 1000; n++)
		(void)host_group_misplaced(&group.registry[2], &group.udp[2], 4,
					   group.block[3] << SHM_BLOCK_LOG2);
	assert_int_equal(host_group_refresh(&group.registry[0], &group.udp[0]), 0);
	assert_int_equal(host_group_refresh(&group.registry[2], &group.udp[2]), 0);
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(member_at(i), i);
}

/* Whatever a member writes into the list, the others go on. */
static void test_scribbled(void **state)
{
	struct shm_group *list = list_of_group();

	(void)state;
	for (uint32_t i = 0; i < SHM_MEMBER_MAX; i++)
		atomic_store(&list->slots[i], (uint16_t)(i * 7919));
	atomic_store(&list->count, 60000);
	assert_int_equal(host_group_refresh(&group.registry[1], &group.udp[1]), 0);
	(void)host_group_misplaced(&group.registry[1], &group.udp[1], 3,
				   group.block[2] << SHM_BLOCK_LOG2);
	atomic_store(&list->count, 0);
	assert_int_equal(host_group_refresh(&group.registry[1], &group.udp[1]), 0);
	datagrams();
}

#define GROUP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_programs),
	    cmocka_unit_test(test_too_many),
	    GROUP(test_each_gets_its_own),
	    GROUP(test_leaving),
	    GROUP(test_learning),
	    GROUP(test_no_index),
	    GROUP(test_death),
	    GROUP(test_learning_from_old_news),
	    GROUP(test_scribbled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
