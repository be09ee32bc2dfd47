/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/faulty: each kind of fault does to the packets of the local wire what its name says, by
 * number, so that the expected sequence can be written down.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host/faulty.h"

#include <errno.h>
#include <string.h>

enum { QPN = 0x111000 };

static struct host_registry registry;
static struct host_local local;
static struct host_udp udp; /* down */
static struct host_wire wire = {.local = &local, .udp = &udp, .gid = {1}};
static const struct nic_path here = {.dgid = {1}};
static struct host_faulty faulty;
static char got[256]; /* the first bytes of the packets, in the order of arrival */

static int setup(void **state)
{
	static const uint8_t gid[16] = {1};

	(void)state;
	if (host_registry_found(&registry, "test", gid) != 0 || host_registry_claim(&registry) != 0)
		return 1;
	atomic_store(&host_registry_port(&registry)->owners[QPN >> 12],
		     (uint16_t)(registry.slot + 1));
	host_local_init(&local, &registry);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	host_local_free(&local);
	host_registry_release(&registry);
	host_registry_close(&registry);
	return 0;
}

static void take(void *ctx, const uint8_t *packet, size_t len)
{
	size_t *bytes = (size_t *)ctx;

	*bytes = len;
	got[strlen(got)] = (char)packet[0];
	for (size_t i = 0; i < len; i++)
		assert_int_equal(packet[i], packet[0]);
}

static void receive(size_t *bytes)
{
	static const struct host_local_limit limit = {1000, 1 << 30};

	host_local_receive(&local, &limit, take, bytes);
}

/* Sends "ABC..." of len bytes each and gives what arrives. */
static const char *through(const char *faults, int count, size_t len)
{
	size_t wrong, bytes = len;

	memset(got, 0, sizeof(got));
	assert_int_equal(host_faulty_init(&faulty, &wire, faults, &wrong), 0);
	for (int i = 0; i < count; i++) {
		uint8_t *room = host_faulty_reserve(&faulty, &here, QPN, len);

		if (!room) { /* the first time: the ring has to be opened */
			receive(&bytes);
			room = host_faulty_reserve(&faulty, &here, QPN, len);
		}
		assert_non_null(room);
		memset(room, 'A' + i, len);
		host_faulty_commit(&faulty, 0);
	}
	receive(&bytes);
	assert_int_equal(bytes, len);
	return got;
}

static void test_kinds(void **state)
{
	static const struct {
		const char *faults, *want;
	} cases[] = {
	    {"", "ABCDEFGH"},
	    {"drop@2,drop@5/2", "ACDFH"},
	    {"drop=100%", ""},
	    {"duplicate@3", "ABCCDEFGH"},
	    {"corrupt@1", "BCDEFGH"},
	    {"reorder@2,behind=1", "ACBDEFGH"},
	    {"reorder@1,reorder@2,behind=1", "CABDEFGH"},
	    {"reorder@8,behind=1", "ABCDEFG"},
	    {"drop@1,duplicate@2,reorder@3,behind=1", "BBDCEFGH"},
	};
	static const size_t lens[] = {12, 56, 57, 4200};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t n = 0; n < sizeof(lens) / sizeof(lens[0]); n++)
			assert_string_equal(through(cases[i].faults, 8, lens[n]), cases[i].want);
}

/* By chance: of 50 packets with everything on, those that arrive are whole, and some do not. */
static void test_everything(void **state)
{
	const char *seen = through("drop=10%,duplicate=10%,reorder=20%,corrupt=5%,seed=4", 50, 300);

	(void)state;
	assert_true(strlen(seen) > 25);
	assert_true(faulty.fault.counts[FAULT_DROP] > 0);
	assert_true(faulty.fault.counts[FAULT_REORDER] > 0);
}

/* Sends "ABC...", interval_ns apart, over a slow wire. */
static void send_slowly(const char *faults, int count, uint64_t interval_ns)
{
	size_t wrong, bytes;

	memset(got, 0, sizeof(got));
	assert_int_equal(host_faulty_init(&faulty, &wire, faults, &wrong), 0);
	for (int i = 0; i < count; i++) {
		uint8_t *room = host_faulty_reserve(&faulty, &here, QPN, 100);

		assert_non_null(room);
		memset(room, 'A' + i, 100);
		host_faulty_commit(&faulty, (uint64_t)i * interval_ns);
		receive(&bytes);
	}
}

/* What has arrived by now_ns. */
static const char *by(uint64_t now_ns)
{
	size_t bytes;

	host_faulty_run(&faulty, now_ns);
	receive(&bytes);
	return got;
}

/* A fixed delay keeps the order, and each packet comes when its time has come and no earlier. */
static void test_delay(void **state)
{
	(void)state;
	send_slowly("delay=5us,drop@3,duplicate@4,corrupt@5", 6, 1000);
	assert_int_equal(host_faulty_due_ns(&faulty), 5000);
	assert_string_equal(by(4999), "");
	assert_string_equal(by(5000), "A");
	assert_string_equal(by(6999), "AB");
	assert_string_equal(by(8000), "ABDD");
	assert_int_equal(host_faulty_due_ns(&faulty), 9000); /* that it is harmed shows there */
	assert_string_equal(by(9999), "ABDD");
	assert_string_equal(by(10000), "ABDDF");
	assert_int_equal(host_faulty_due_ns(&faulty), UINT64_MAX);
	send_slowly("delay=5us,reorder@1,behind=2", 4, 1000);
	assert_string_equal(by(6000), "B");
	assert_string_equal(by(7000), "BCA");
	assert_string_equal(by(8000), "BCAD");
	/* All at once, as when the port is left, and when there is none. */
	send_slowly("delay=5us", 3, 1000);
	assert_string_equal(by(UINT64_MAX), "ABC");
	assert_string_equal(by(UINT64_MAX), "ABC");
}

/* With jitter packets overtake one another: all come, once each, in another order. */
static void test_jitter(void **state)
{
	uint32_t seen = 0;

	(void)state;
	send_slowly("delay=5us,jitter=10us,seed=3", 26, 1000);
	for (uint64_t now_ns = 0; now_ns <= 41000; now_ns += 100)
		(void)by(now_ns);
	assert_int_equal(strlen(got), 26);
	assert_string_not_equal(got, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	for (int i = 0; i < 26; i++)
		seen |= 1u << (got[i] - 'A');
	assert_int_equal(seen, (1u << 26) - 1);
}

static void count_packet(void *ctx, const uint8_t *packet, size_t len)
{
	(void)packet;
	(void)len;
	++*(int *)ctx;
}

/* The slow wire holds so many and no more: then there is no room until the first is through. */
static void test_slow_wire_is_bounded(void **state)
{
	static const struct host_local_limit limit = {1000, 1 << 30};
	size_t wrong;
	int count = 0, arrived = 0;

	(void)state;
	memset(got, 0, sizeof(got));
	assert_int_equal(host_faulty_init(&faulty, &wire, "delay=5us", &wrong), 0);
	for (uint8_t *room; (room = host_faulty_reserve(&faulty, &here, QPN, 12)); count++) {
		memset(room, 'x', 12);
		host_faulty_commit(&faulty, 0);
	}
	assert_in_range(count, 1000, FAULT_QUEUE_MAX);
	host_faulty_run(&faulty, 4999);
	assert_null(host_faulty_reserve(&faulty, &here, QPN, 12));
	/* More at once than the ring may take: the rest stays. */
	for (int i = 0; i < 100 && arrived < count; i++) {
		host_faulty_run(&faulty, 5000);
		host_local_receive(&local, &limit, count_packet, &arrived);
	}
	assert_int_equal(arrived, count);
	assert_int_equal(host_faulty_due_ns(&faulty), UINT64_MAX);
	assert_non_null(host_faulty_reserve(&faulty, &here, QPN, 12));
	host_wire_cancel(&wire);
}

static void test_not_understood(void **state)
{
	size_t wrong = 0;

	(void)state;
	assert_int_equal(host_faulty_init(&faulty, &wire, "drop=1%,loss=2%", &wrong), -EINVAL);
	assert_int_equal(wrong, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_everything),
	    cmocka_unit_test(test_delay),
	    cmocka_unit_test(test_jitter),
	    cmocka_unit_test(test_slow_wire_is_bounded),
	    cmocka_unit_test(test_not_understood),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
