/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pacing_bench.c [DESTINATIONS] - what congestion control adds to an entry: finding the
 * destination's flow among so many (16), all mapped and told of congestion, asking whether a packet
 * may go, and saying that it went. Prints "<name> <nanoseconds>" lines, the least of repeated runs:
 * other programs only add to it.
 *
 * An entry leaves each 700 ns, whatever the destination: with many, each has many events of its
 * rate timer to make up for when it is looked at.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nic/nic_priv.h"

enum {
	RUNS = 31,
	ENTRIES = 20000,
	PACKET_BYTES = 4096,
};

#define LINE_BPS 100000000000ull

_Noreturn void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
	abort();
}

static struct nic *nic;
static struct nic_path *paths; /* in the order of the entries */
static uint32_t dest_count = 16;
static uint64_t waited; /* keeps the compiler from leaving things out */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void make_nic(enum nic_cc_algorithm algorithm)
{
	nic = (struct nic *)calloc(1, sizeof(*nic));
	if (nic == NULL)
		abort();
	nic->config.cc_algorithm = (uint8_t)algorithm;
	nic->config.mtu_max_bytes = PACKET_BYTES;
	nic->cong.params = &nic_cc_paper;
	nic->cong.line_rate_bps = LINE_BPS;
	nic->cong.dests = (struct nic_dest *)calloc(NIC_DESTS_MAX, sizeof(struct nic_dest));
	nic->cong.mappings =
	    (struct nic_mapping *)calloc(NIC_MAPPINGS_MAX + 1, sizeof(struct nic_mapping));
	if (nic->cong.dests == NULL || nic->cong.mappings == NULL)
		abort();
}

static void free_nic(void)
{
	free(nic->cong.dests);
	free(nic->cong.mappings);
	free(nic);
}

/* Each destination is mapped. */
static void make_dests(enum nic_cc_algorithm algorithm)
{
	for (uint32_t i = 0; i < dest_count; i++) {
		struct nic_path path = {.dgid = {[10] = 0xff, 0xff, 10, 0, i >> 8 & 255, i & 255}};
		struct nic_dest_key key = nic_dest_key_of(&path);
		uint32_t mapping;

		if (nic_dest_map(nic, &key, algorithm, 1, &mapping) != 0)
			abort();
	}
}

static void make_paths(void)
{
	struct base_prng prng;

	base_prng_seed(&prng, 1);
	paths = (struct nic_path *)calloc(ENTRIES, sizeof(*paths));
	if (paths == NULL)
		abort();
	for (uint32_t i = 0; i < ENTRIES; i++) {
		uint64_t dest = base_prng_below(&prng, dest_count);

		paths[i] = (struct nic_path){
		    .dgid = {[10] = 0xff, 0xff, 10, 0, dest >> 8 & 255, dest & 255}};
	}
}

/* ---- what is measured -------------------------------------------------------------------------
 */

static void look_up(void)
{
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct nic_dest_key key = nic_dest_key_of(&paths[i]);

		waited += nic_dest_get(nic, &key)->used_ns;
	}
}

static uint64_t virtual_ns = 1000;

static void pace_one(struct nic_cc *cc)
{
	uint64_t at_ns = nic_cc_may_send(cc, virtual_ns);

	if (at_ns == 0)
		nic_cc_on_send(cc, PACKET_BYTES, virtual_ns);
	else
		waited++;
	virtual_ns += 700; /* a packet at half of the line's rate: none waits long */
}

static void pace(void)
{
	struct nic_dest_key key = nic_dest_key_of(&paths[0]);
	struct nic_cc *cc = &nic_dest_get(nic, &key)->flow.cc;

	for (uint32_t i = 0; i < ENTRIES; i++)
		pace_one(cc);
}

static void both(void)
{
	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct nic_dest_key key = nic_dest_key_of(&paths[i]);

		pace_one(&nic_dest_get(nic, &key)->flow.cc);
	}
}

/* Each is told of congestion, if its algorithm listens, so that it is paced for some time. */
static void notify_all(void)
{
	for (uint32_t i = 0; i < dest_count; i++)
		nic_cc_on_cnp(&nic->cong.dests[i].flow.cc, virtual_ns);
}

static void measure(const char *name, enum nic_cc_algorithm algorithm, void (*work)(void))
{
	double least_ns = 1e9;

	make_nic(algorithm);
	make_dests(algorithm);
	for (uint32_t run = 0; run < RUNS; run++) {
		notify_all();
		double from_ns = now_ns();

		work();
		from_ns = (now_ns() - from_ns) / ENTRIES;
		least_ns = from_ns < least_ns ? from_ns : least_ns;
	}
	free_nic();
	printf("%s %.2f\n", name, least_ns);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		dest_count = (uint32_t)strtoul(argv[1], NULL, 0);
	if (dest_count < 1 || dest_count > NIC_DESTS_MAX) {
		fprintf(stderr, "usage: pacing_bench [1..%d]\n", NIC_DESTS_MAX);
		return 2;
	}
	make_paths();
	measure("lookup", NIC_CC_DCQCN, look_up);
	measure("none_pace", NIC_CC_NONE, pace);
	measure("dcqcn_pace", NIC_CC_DCQCN, pace);
	measure("rtt_pace", NIC_CC_RTT, pace);
	measure("dcqcn_both", NIC_CC_DCQCN, both);
	measure("rtt_both", NIC_CC_RTT, both);
	free(paths);
	return waited == 0;
}
