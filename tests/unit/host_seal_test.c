/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/seal: the ICRC of a packet whose IP header the kernel writes, against that of the whole
 * frame; on receive any identification is found again, with DF or without, and damage is not taken
 * for one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/roce_frame.h"
#include "base/be.h"
#include "base/prng.h"
#include "host/seal.h"

#include <string.h>

enum { LEN_MAX = 4136 };

static const uint8_t v4_src[16] = {[10] = 0xff, 0xff, 10, 1, 2, 3};
static const uint8_t v4_dst[16] = {[10] = 0xff, 0xff, 192, 0, 2, 200};
static const uint8_t v6_src[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
static const uint8_t v6_dst[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 2};

static struct base_prng prng;
static uint8_t packet[LEN_MAX];
static uint8_t bytes[LEN_MAX + 100];

static int setup(void **state)
{
	(void)state;
	base_prng_seed(&prng, 20261129);
	print_message("seed 20261129\n");
	base_prng_fill(&prng, packet, sizeof(packet));
	return 0;
}

/* The ICRC that a whole frame has, as abi/roce_frame.c makes it. */
static uint32_t frame_icrc(bool ipv4, size_t len, uint16_t ip_id, bool dont_fragment)
{
	struct roce_frame frame = {.ip_version = ipv4 ? 4 : 6,
				   .traffic_class = (uint8_t)base_prng_below(&prng, 256),
				   .hop_limit = (uint8_t)base_prng_below(&prng, 256),
				   .flow_label = (uint32_t)base_prng_below(&prng, 1 << 20),
				   .ip_id = ip_id,
				   .dont_fragment = dont_fragment,
				   .udp_sport = 0xc123,
				   .udp_checksum = (uint16_t)base_prng_below(&prng, 65536),
				   .bth = packet,
				   .bth_bytes = len};
	size_t total;

	memcpy(frame.src, ipv4 ? v4_src : v6_src, 16);
	memcpy(frame.dst, ipv4 ? v4_dst : v6_dst, 16);
	total = roce_frame_encode(bytes, sizeof(bytes), &frame);
	assert_true(total > 4);
	return le32_load(bytes + total - 4);
}

static void seal_of(struct host_seal *seal, bool ipv4)
{
	host_seal_init(seal, ipv4 ? v4_src : v6_src, ipv4 ? v4_dst : v6_dst, 0xc123);
}

static void test_sealing(void **state)
{
	struct host_seal seal;

	(void)state;
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		seal_of(&seal, ipv4);
		for (size_t len = 12; len <= LEN_MAX; len += 4 * (1 + base_prng_below(&prng, 40)))
			for (uint16_t id = 0; id < 64; id = (uint16_t)(id + 21))
				assert_int_equal(host_seal_icrc(&seal, id, packet, len),
						 frame_icrc(ipv4, len, id, true));
	}
}

/* Every identification there is, from several guesses, with DF and without. */
static void test_every_identification(void **state)
{
	static const size_t lens[] = {12, 24, 68, 1040, 4112, 4136};
	struct host_seal_memory memory = {0};
	struct host_seal_found found;
	struct host_seal seal;

	(void)state;
	seal_of(&seal, true);
	for (uint32_t i = 0; i < 2 * 65536; i++) {
		uint16_t id = (uint16_t)i;
		bool dont_fragment = i < 65536;
		size_t len = lens[i % (i % 64 ? 3 : 6)];
		uint32_t icrc = frame_icrc(true, len, id, dont_fragment);
		uint16_t guess = (uint16_t)(i * 7);

		if (!host_seal_check(&seal, &memory, guess, packet, len, icrc, &found) ||
		    found.ip_id != id || found.dont_fragment != dont_fragment)
			fail_msg("id %u len %zu: found %u %d", id, len, found.ip_id,
				 found.dont_fragment);
	}
}

/* Random ICRCs: over IPv4 one of 32,768 passes, over IPv6 none. */
static void test_random_icrcs(void **state)
{
	struct host_seal_memory memory = {0};
	struct host_seal_found found;
	struct host_seal seal;
	uint32_t passed[2] = {0, 0};

	(void)state;
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		seal_of(&seal, ipv4);
		for (int i = 0; i < 1 << 18; i++)
			passed[ipv4] += host_seal_check(
			    &seal, &memory, 0, packet, 28,
			    (uint32_t)base_prng_below(&prng, 1ull << 32), &found);
	}
	assert_int_equal(passed[0], 0);
	assert_in_range(passed[1], 1, 24); /* 8 expected */
}

/* A packet that was changed on the way: one bit, or bytes of it. */
static void test_damage(void **state)
{
	struct host_seal_memory memory = {0};
	struct host_seal_found found;
	struct host_seal seal;
	uint32_t passed = 0;

	(void)state;
	for (int ipv4 = 0; ipv4 < 2; ipv4++) {
		uint32_t icrc = frame_icrc(ipv4, 300, 0, true);

		seal_of(&seal, ipv4);
		for (uint32_t bit = 0; bit < 300 * 8; bit++) {
			if (bit / 8 == 4)
				continue; /* FECN, BECN and reserved bits are not covered */
			packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
			passed += host_seal_check(&seal, &memory, 0, packet, 300, icrc, &found);
			packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		if (!ipv4)
			assert_int_equal(passed, 0);
	}
	assert_true(passed <= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sealing),
	    cmocka_unit_test(test_every_identification),
	    cmocka_unit_test(test_random_icrcs),
	    cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
