/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: flows that share a bottleneck on a host's terms - Swift with the host's parameters, some
 * packets lost, hosts that are not run for a while now and then - get like parts, and none is left
 * behind. How: two NICs over the links of tests/support/fake_net.h, in virtual time, each
 * weather with a dozen seeds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nic/nic_priv.h"
#include "tests/support/fake_net.h"
#include "tests/support/nic_bed.h"

enum {
	FLOWS = 4,
	FIRST_SEED = 21,
	SEEDS = 5,
	WINDOW_BYTES = 512 << 10,
	MESSAGE_BYTES = 65536,
	DEPTH = 16,
	DELAY_NS = 20000,
};

#define NECK_BPS 400000000ull
#define MS       1000000ull

struct weather {
	uint32_t lost_ppm;
	uint64_t pause_ns; /* of either host, at most */
	uint64_t gap_ns;   /* between two of them, at most */
};

/* Who shares, and how far each has come. */
struct share {
	struct weather weather;
	struct base_prng prng;
	struct fake_world *w;
	struct fake_net net;
	struct fake_region src, dst;
	struct fake_pair pairs[FLOWS];
	uint64_t posted[FLOWS], done[FLOWS];
	uint64_t pause_at_ns[FAKE_NICS]; /* when each is paused next */
};

static const struct nic_config config = {
    .qp_count_max = 4096,
    .cq_count_max = 64,
    .mkey_count_max = 64,
    .pd_count_max = 4,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
    .cc_algorithm = NIC_CC_RTT,
    .cc_params = &nic_cc_host,
    .line_rate_bps = 100000000000ull,
};

static void open_share(struct share *s, const struct weather *weather, uint64_t seed)
{
	const struct fake_opts opts = {.mtu_bytes = 2048};

	*s = (struct share){.weather = *weather, .w = fake_world_new(&config)};
	base_prng_seed(&s->prng, seed);
	s->w->alien = true;
	s->w->window_bytes = WINDOW_BYTES;
	s->src = fake_region(s->w, 0, MESSAGE_BYTES, BED_LOCAL);
	s->dst = fake_region(s->w, 1, MESSAGE_BYTES, BED_ALL);
	for (int i = 0; i < FLOWS; i++)
		fake_pair_connect(s->w, &s->pairs[i], &opts);
	s->net = (struct fake_net){
	    .w = s->w,
	    .count = 2,
	    .links = {{.rate_bps = NECK_BPS, .delay_ns = DELAY_NS}, {.delay_ns = DELAY_NS}},
	};
}

static void post(struct share *s, int flow)
{
	struct fake_wr wr = {
	    .opcode = WQE_OP_WRITE,
	    .signal = true,
	    .pieces = {{s->src.va, MESSAGE_BYTES, s->src.key}},
	    .piece_count = 1,
	    .remote_va = s->dst.va,
	    .rkey = s->dst.key,
	};

	fake_post(&s->pairs[flow].a, &wr);
	s->posted[flow]++;
}

static void feed(struct share *s)
{
	for (int i = 0; i < FLOWS; i++) {
		uint64_t before = s->posted[i];
		struct fake_cqe cqe;

		while (fake_poll(&s->pairs[i].a.send_cq, &cqe) == 1) {
			assert_int_equal(cqe.opcode, CQE_REQ);
			s->done[i]++;
		}
		while (s->posted[i] - s->done[i] < DEPTH)
			post(s, i);
		if (s->posted[i] != before)
			fake_ring(&s->pairs[i].a);
	}
}

/* Neither host is run all the time. */
static void pause_hosts(struct share *s)
{
	uint64_t now_ns = s->w->now_ns;

	if (s->weather.pause_ns == 0)
		return;
	for (uint32_t nic = 0; nic < FAKE_NICS; nic++) {
		if (now_ns < s->pause_at_ns[nic])
			continue;
		s->w->paused_until_ns[nic] =
		    now_ns + base_prng_below(&s->prng, s->weather.pause_ns);
		s->pause_at_ns[nic] =
		    s->w->paused_until_ns[nic] + base_prng_below(&s->prng, s->weather.gap_ns);
	}
}

/* Each packet is looked at once: as the newest. */
static void happened(void *ctx)
{
	struct share *s = (struct share *)ctx;

	for (size_t i = s->w->queue_count; i > 0 && s->w->queue[i - 1]->due_ns == 0; i--)
		if (base_prng_chance(&s->prng, s->weather.lost_ppm))
			fake_drop(s->w, i - 1);
	pause_hosts(s);
	if (s->w->now_ns >= s->w->paused_until_ns[0])
		feed(s);
}

static void run(struct share *s, uint64_t ms)
{
	fake_net_run(&s->net, s->w->now_ns + ms * MS, happened, s);
}

static void close_share(struct share *s)
{
	fake_world_free(s->w);
}

static double jain(const uint64_t of[static FLOWS])
{
	double sum = 0, squares = 0;

	for (int i = 0; i < FLOWS; i++) {
		sum += (double)of[i];
		squares += (double)of[i] * (double)of[i];
	}
	return squares > 0 ? sum * sum / (FLOWS * squares) : 0;
}

/* What each brought across in the second after the first 400 ms. */
static double contest(struct share *s, uint64_t of[static FLOWS])
{
	uint64_t before[FLOWS];

	feed(s);
	run(s, 400);
	for (int i = 0; i < FLOWS; i++)
		before[i] = s->done[i];
	run(s, 1000);
	for (int i = 0; i < FLOWS; i++)
		of[i] = s->done[i] - before[i];
	return jain(of);
}

static void shares_alike(const struct weather *weather)
{
	double worst = 1;

	for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
		struct share s;
		uint64_t of[FLOWS];
		double index;

		open_share(&s, weather, seed);
		index = contest(&s, of);
		if (index < 0.95)
			fail_msg("seed %u: %.3f", (unsigned int)seed, index);
		worst = index < worst ? index : worst;
		close_share(&s);
	}
	print_message("Jain's index %.3f at the worst of %d seeds\n", worst, SEEDS);
}

static void on_a_good_path(void **state)
{
	(void)state;
	shares_alike(&(struct weather){0});
}

/* The oldest packet of a flow is asked for while its pace holds it back. */
static void with_losses(void **state)
{
	(void)state;
	shares_alike(&(struct weather){.lost_ppm = 1000});
	shares_alike(&(struct weather){.lost_ppm = 10000});
}

static void with_pauses(void **state)
{
	(void)state;
	shares_alike(&(struct weather){.pause_ns = 10 * MS, .gap_ns = 3 * MS, .lost_ppm = 1000});
	shares_alike(&(struct weather){.pause_ns = 30 * MS, .gap_ns = 300 * MS});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(on_a_good_path),
	    cmocka_unit_test(with_losses),
	    cmocka_unit_test(with_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
