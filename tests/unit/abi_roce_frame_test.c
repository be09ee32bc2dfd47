/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_roce_frame_test.c - frames: round trips, every verdict, random damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/icrc.h"
#include "abi/roce_frame.h"
#include "base/be.h"
#include "base/prng.h"

enum {
	SEED = 1,
	CAP = 256,
	BTH_BYTES = 16,
};

static const uint8_t bth[BTH_BYTES] = {0x04, 0, 0xff, 0xff, 0, 0, 0, 0x11,
				       0x80, 0, 0,    5,    1, 2, 3, 4};

static struct roce_frame good_frame(uint8_t version, bool has_eth)
{
	struct roce_frame f = {
	    .has_eth = has_eth,
	    .eth_dst = {2, 0, 0, 0, 0, 1},
	    .eth_src = {2, 0, 0, 0, 0, 2},
	    .ip_version = version,
	    .traffic_class = 0x69,
	    .hop_limit = 33,
	    .ip_id = version == 4 ? 0xbeef : 0,
	    .dont_fragment = version == 4,
	    .flow_label = version == 4 ? 0 : 0xabcde,
	    .udp_sport = 0xc123,
	    .bth = bth,
	    .bth_bytes = BTH_BYTES,
	};

	memset(f.src, 0, 16);
	memset(f.src + 10, 0xff, 2);
	memcpy(f.dst, f.src, 16);
	f.src[15] = 1;
	f.dst[15] = 2;
	return f;
}

/* Shows that a frame decodes to what was encoded, with a right IP checksum and ICRC.
 * By IPv4 and IPv6, with and without Ethernet; the capacity is exactly enough, or one short. */
static void frames_round_trip(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct roce_frame in = good_frame(i & 1 ? 4 : 6, i & 2), out;
		size_t want = (i & 2 ? 14 : 0) + (i & 1 ? 20 : 40) + 8 + BTH_BYTES + 4;
		uint8_t buf[CAP];

		memset(buf, 0xa5, sizeof(buf));
		assert_int_equal(roce_frame_bytes(&in), want);
		assert_int_equal(roce_frame_encode(buf, want - 1, &in), 0);
		assert_int_equal(buf[0], 0xa5);
		assert_int_equal(roce_frame_encode(buf, want, &in), want);
		assert_int_equal(buf[want], 0xa5);
		assert_int_equal(
		    (i & 2 ? roce_frame_decode : roce_frame_decode_ip)(&out, buf, want),
		    ROCE_FRAME_OK);
		assert_int_equal(out.has_eth, in.has_eth);
		assert_int_equal(out.ip_version, in.ip_version);
		assert_int_equal(out.traffic_class, 0x69);
		assert_int_equal(out.hop_limit, 33);
		assert_int_equal(out.ip_id, in.ip_id);
		assert_int_equal(out.dont_fragment, in.dont_fragment);
		assert_int_equal(out.flow_label, in.flow_label);
		assert_memory_equal(out.src, in.src, 16);
		assert_memory_equal(out.dst, in.dst, 16);
		assert_int_equal(out.udp_sport, 0xc123);
		assert_int_equal(out.bth_bytes, BTH_BYTES);
		assert_memory_equal(out.bth, bth, BTH_BYTES);
		assert_int_equal(out.icrc,
				 icrc_packet(out.ip, out.ip_bytes, out.ip_bytes + 8 + BTH_BYTES));
	}
}

/* Shows that a packet already in its place is sealed where it is.
 * By encoding twice, the second time from inside the output. */
static void encode_in_place(void **state)
{
	struct roce_frame f = good_frame(4, true);
	uint8_t a[CAP], b[CAP];
	size_t len_bytes;

	(void)state;
	len_bytes = roce_frame_encode(a, sizeof(a), &f);
	memset(b, 0, sizeof(b));
	memcpy(b + 42, bth, BTH_BYTES);
	f.bth = b + 42;
	assert_int_equal(roce_frame_encode(b, sizeof(b), &f), len_bytes);
	assert_memory_equal(a, b, len_bytes);
}

/* One change to a good IPv4 Ethernet frame: the byte at `at` becomes `value`. */
struct change {
	const char *name;
	size_t at;
	uint8_t value;
	bool fix_checksum;
	enum roce_frame_verdict want;
};

/* Shows each verdict on damaged IPv4 frames.
 * By one changed byte each, the header checksum mended where it is not the point. */
static void verdicts_ipv4(void **state)
{
	static const struct change rows[] = {
	    {"unchanged", 0, 2, false, ROCE_FRAME_OK},
	    {"ARP", 13, 0x06, false, ROCE_FRAME_OTHER},
	    {"IP version 5", 14, 0x55, true, ROCE_FRAME_OTHER},
	    {"header of 16 bytes", 14, 0x44, true, ROCE_FRAME_BAD_IP},
	    {"header of 60 bytes, in 48", 14, 0x4f, true, ROCE_FRAME_BAD_IP},
	    {"total length 0", 17, 0, true, ROCE_FRAME_BAD_IP},
	    {"total length one more than there is", 17, 49, true, ROCE_FRAME_TOO_SHORT},
	    {"TCP", 23, 6, true, ROCE_FRAME_OTHER},
	    {"checksum", 25, 0, false, ROCE_FRAME_BAD_IP_CHECKSUM},
	    {"more fragments", 20, 0x20, true, ROCE_FRAME_FRAGMENT},
	    {"fragment offset", 21, 1, true, ROCE_FRAME_FRAGMENT},
	    {"another port", 37, 0xb8, false, ROCE_FRAME_OTHER},
	    {"UDP length 7", 39, 7, false, ROCE_FRAME_BAD_UDP},
	    {"UDP length over IP's", 39, 29, false, ROCE_FRAME_BAD_UDP},
	    {"UDP too short for BTH and ICRC", 39, 23, false, ROCE_FRAME_TOO_SHORT},
	    {"UDP just long enough", 39, 24, false, ROCE_FRAME_OK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_frame f = good_frame(4, true);
		enum roce_frame_verdict got;
		uint8_t buf[CAP];
		size_t len_bytes = roce_frame_encode(buf, sizeof(buf), &f);
		size_t header_bytes;

		buf[rows[i].at] = rows[i].value;
		header_bytes = (buf[14] & 15u) * 4;
		if (rows[i].fix_checksum) {
			be16_store(buf + 24, 0);
			be16_store(buf + 24, roce_ip_checksum(buf + 14, header_bytes));
		}
		got = roce_frame_decode(&f, buf, len_bytes);
		if (got != rows[i].want)
			fail_msg("%s: %s", rows[i].name, roce_frame_verdict_words(got));
	}
}

/* Shows that a frame cut anywhere is cut short or not ours, and never read past its end.
 * By every length, in heap blocks of exactly that size, IPv4 and IPv6 (ASan in make ci). */
static void every_cut_is_seen(void **state)
{
	(void)state;
	for (uint8_t version = 4; version <= 6; version += 2) {
		struct roce_frame f = good_frame(version, true);
		uint8_t buf[CAP];
		size_t len_bytes = roce_frame_encode(buf, sizeof(buf), &f);

		for (size_t cut = 0; cut < len_bytes; cut++) {
			uint8_t *exact = malloc(cut ? cut : 1);

			assert_non_null(exact);
			memcpy(exact, buf, cut);
			assert_int_equal(roce_frame_decode(&f, exact, cut), ROCE_FRAME_TOO_SHORT);
			free(exact);
		}
	}
}

/* Shows that VLAN tags are skipped, two at most, and that Ethernet padding is not packet.
 * By putting 0 to 3 tags and ten bytes behind. */
static void tags_and_padding(void **state)
{
	(void)state;
	for (int tags = 0; tags <= 3; tags++) {
		struct roce_frame f = good_frame(4, true);
		uint8_t plain[CAP], buf[CAP + 32] = {0};
		size_t len_bytes = roce_frame_encode(plain, sizeof(plain), &f), at = 12;

		memcpy(buf, plain, 12);
		for (int i = 0; i < tags; i++, at += 4)
			be32_store(buf + at, i == 0 ? 0x88a80001 : 0x81000002);
		memcpy(buf + at, plain + 12, len_bytes - 12);
		assert_int_equal(roce_frame_decode(&f, buf, at + len_bytes - 12 + 10),
				 tags <= 2 ? ROCE_FRAME_OK : ROCE_FRAME_OTHER);
		if (tags <= 2)
			assert_int_equal(f.bth_bytes, BTH_BYTES);
	}
}

/* Shows that IPv4 options are stepped over, and the ICRC covers them.
 * By a header of 24 bytes built by hand. */
static void ipv4_options(void **state)
{
	struct roce_frame f = good_frame(4, false);
	uint8_t plain[CAP], buf[CAP];
	size_t len_bytes = roce_frame_encode(plain, sizeof(plain), &f);

	(void)state;
	memcpy(buf, plain, 20);
	memset(buf + 20, 1, 4);
	memcpy(buf + 24, plain + 20, len_bytes - 20);
	buf[0] = 0x46;
	be16_store(buf + 2, (uint16_t)(len_bytes + 4));
	be16_store(buf + 10, 0);
	be16_store(buf + 10, roce_ip_checksum(buf, 24));
	assert_int_equal(roce_frame_decode_ip(&f, buf, len_bytes + 4), ROCE_FRAME_OK);
	assert_int_equal(f.ip_bytes, 24);
	assert_memory_equal(f.bth, bth, BTH_BYTES);
	assert_int_not_equal(f.icrc, icrc_packet(buf, 24, len_bytes));
}

/* Shows that random damage never takes decode out of its bytes.
 * By changing up to four bytes of good frames in exact heap blocks (fixed seed; ASan in make ci).
 */
static void random_damage(void **state)
{
	struct base_prng prng;
	int ok = 0;

	(void)state;
	print_message("seed %d\n", SEED);
	base_prng_seed(&prng, SEED);
	for (int i = 0; i < 20000; i++) {
		struct roce_frame f = good_frame(i & 1 ? 4 : 6, true);
		size_t len_bytes = roce_frame_bytes(&f);
		uint8_t *buf = malloc(len_bytes);

		assert_non_null(buf);
		roce_frame_encode(buf, len_bytes, &f);
		for (uint64_t n = base_prng_below(&prng, 5); n > 0; n--)
			buf[base_prng_below(&prng, len_bytes)] = (uint8_t)base_prng_u64(&prng);
		if (roce_frame_decode(&f, buf, len_bytes) == ROCE_FRAME_OK) {
			ok++;
			assert_true(f.bth >= buf && f.bth + f.bth_bytes + 4 <= buf + len_bytes);
			assert_true(f.bth_bytes >= ROCE_BTH_BYTES);
		}
		free(buf);
	}
	assert_true(ok > 1000);
}

/* Shows what encode refuses.
 * By a version that is none, a packet without a whole BTH, and ones too long for an IP length. */
static void encode_refuses(void **state)
{
	static uint8_t big[70000], out[70100];
	struct roce_frame f = good_frame(5, false);

	(void)state;
	assert_int_equal(roce_frame_encode(out, sizeof(out), &f), 0);
	f = good_frame(4, false);
	f.bth_bytes = ROCE_BTH_BYTES - 1;
	assert_int_equal(roce_frame_encode(out, sizeof(out), &f), 0);
	f.bth = big;
	f.bth_bytes = 65535 - 20 - 8 - 4;
	assert_int_equal(roce_frame_encode(out, sizeof(out), &f), 65535);
	f.bth_bytes++;
	assert_int_equal(roce_frame_encode(out, sizeof(out), &f), 0);
	f.bth_bytes = SIZE_MAX;
	assert_int_equal(roce_frame_encode(out, sizeof(out), &f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_round_trip), cmocka_unit_test(encode_in_place),
	    cmocka_unit_test(verdicts_ipv4),     cmocka_unit_test(every_cut_is_seen),
	    cmocka_unit_test(tags_and_padding),  cmocka_unit_test(ipv4_options),
	    cmocka_unit_test(random_damage),     cmocka_unit_test(encode_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
