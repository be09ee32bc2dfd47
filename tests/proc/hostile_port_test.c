/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_port_test.c - peers that forge keys or lie about their endpoints, a member that scribbles
 * over the port's memory, crashes, and limits of the system: a clear error for the one concerned,
 * and nothing for the others.
 */
#include "tests/support/peer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	FOREVER = 1000000000,
	PAGE = 4096,
	KEEP = 0xee,
	LIES_WAIT_MS = 4000,
	SCRIBBLES = 3000,
};

/* ---- one request, whatever it asks for ------------------------------------------------------- */

/* A request of 8 bytes on link v[0]: operation v[1] at address v[2] with key v[3]. */
static int poke_post(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	struct rig_local local;
	struct rig_entry entry = {.op = (uint8_t)msg->v[1],
				  .flags = RIG_SIGNAL_F,
				  .pieces = &local,
				  .piece_count = 1,
				  .remote_addr = msg->v[2],
				  .remote_key = (uint32_t)msg->v[3]};

	proc_idle(NULL);
	memset(link->mem->old, KEEP, sizeof(link->mem->old));
	PEER_TRY(rig_region_local(link->region, offsetof(struct peer_memory, old), 8, &local));
	PEER_TRY(rig_qp_post(link->qp, &entry));
	PEER_TRY(rig_qp_ring(link->qp));
	return 0;
}

/* The same, and its completion: status v[4], syndrome v[5]. */
static int poke(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	struct rig_wc wc;
	int result = poke_post(msg);

	do {
		if (result == 0)
			result = peer_next(peer.cq, &wc, LIES_WAIT_MS);
		if (result < 0)
			return result;
	} while (wc.qp != rig_qp_number(link->qp) || wc.kind != RIG_WC_ENTRY);
	msg->v[4] = wc.status;
	msg->v[5] = wc.vendor_syndrome;
	return 0;
}

/* The card of link v[0], once more. */
static int card_of(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];
	struct peer_card card;

	PEER_TRY(rig_qp_endpoint(link->qp, &card.endpoint));
	PEER_TRY(rig_region_remote(link->region, 0, sizeof(*link->mem), &card.remote));
	memcpy(msg->blob, &card, sizeof(card));
	return 0;
}

static struct peer_card get_card(struct proc *child, unsigned int link)
{
	struct proc_msg msg = {.v = {link}};
	struct peer_card card;

	proc_ok(child, card_of, &msg);
	memcpy(&card, msg.blob, sizeof(card));
	return card;
}

static int keep_memory(struct proc_msg *msg)
{
	memset(peer.links[msg->v[0]].mem, KEEP, sizeof(struct peer_memory));
	return 0;
}

static int kept_memory(struct proc_msg *msg)
{
	const uint8_t *mem = (const uint8_t *)peer.links[msg->v[0]].mem;

	for (size_t i = 0; i < sizeof(struct peer_memory); i++)
		if (mem[i] != KEEP)
			return proc_fail(-EPROTO, "byte %zu was changed", i);
	return 0;
}

/* A newcomer works with child. */
static void works(struct proc *child)
{
	struct proc *newcomer = peer_start(77);
	struct peer_pair link = peer_pair(newcomer, child);

	peer_run_on(newcomer, 100);
	proc_ok(newcomer, peer_drain, NULL);
	peer_agree(newcomer, link.a, child, link.b);
	proc_kill(newcomer);
}

/* ---- forged keys ----------------------------------------------------------------------------- */

static const struct forged {
	const char *name;
	enum rig_op op;
	int64_t addr; /* from the start of the peer's region */
	uint32_t key_xor;
	uint8_t status, vendor;
} forged_rows[] = {
    {"write with another tag", RIG_WRITE, 0, 0x01, RIG_REMOTE_ACCESS, 0x88},
    {"read with another tag", RIG_READ, 0, 0x80, RIG_REMOTE_ACCESS, 0x88},
    {"atomic with another tag", RIG_FETCH_ADD, 0, 0xff, RIG_REMOTE_ACCESS, 0x88},
    {"write with the key of no region", RIG_WRITE, 0, 0xffff0000, RIG_REMOTE_ACCESS, 0x88},
    {"read before the region", RIG_READ, -8, 0, RIG_REMOTE_ACCESS, 0x88},
    {"write behind the region", RIG_WRITE, sizeof(struct peer_memory), 0, RIG_REMOTE_ACCESS, 0x88},
    {"write over its end", RIG_WRITE, sizeof(struct peer_memory) - 4, 0, RIG_REMOTE_ACCESS, 0x88},
    {"a good key", RIG_READ, 0, 0, RIG_OK, 0},
};

/*
 * A key or range that the peer's regions do not have ends in remote access error (0x88), and no
 * byte of the peer's changes. By a table of requests, each on a link of its own.
 */
static void test_forged_remote_keys(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);

	(void)state;
	for (unsigned int i = 0; i < sizeof(forged_rows) / sizeof(forged_rows[0]); i++) {
		const struct forged *row = &forged_rows[i];
		struct peer_pair link = peer_pair(a, b);
		struct peer_card card = get_card(b, link.b);
		struct proc_msg keep = {.v = {link.b}};
		struct proc_msg msg = {.v = {link.a, row->op,
					     card.remote.addr + (uint64_t)row->addr,
					     card.remote.key ^ row->key_xor}};

		proc_ok(b, keep_memory, &keep);
		proc_ok(a, poke, &msg);
		if (msg.v[4] != row->status || msg.v[5] != row->vendor)
			fail_msg("%s: %s, %#llx", row->name,
				 rig_status_text((enum rig_status)msg.v[4]),
				 (unsigned long long)msg.v[5]);
		proc_ok(b, kept_memory, &keep);
	}
	works(b);
}

/*
 * A key is worth nothing once its region is destroyed.
 * By a read with it before, which works, and one after.
 */
static int drop_region(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[msg->v[0]];

	PEER_TRY(rig_region_destroy(link->region));
	return 0;
}

static void test_the_key_of_a_destroyed_region(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct peer_pair link = peer_pair(a, b);
	struct peer_card card = get_card(b, link.b);
	struct proc_msg drop = {.v = {link.b}};
	struct proc_msg msg = {.v = {link.a, RIG_READ, card.remote.addr, card.remote.key}};

	(void)state;
	proc_ok(a, poke, &msg);
	assert_int_equal(msg.v[4], RIG_OK);
	proc_ok(b, drop_region, &drop);
	proc_ok(a, poke, &msg);
	assert_int_equal(msg.v[4], RIG_REMOTE_ACCESS);
}

/* ---- equal keys ------------------------------------------------------------------------------ */

/* A page at a fixed address, filled with v[1], and a region of it, with key v[0] unless that is 0.
 */
static int page_with_key(struct proc_msg *msg)
{
	uint8_t *page = mmap((void *)0x200000000000, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	struct rig_region *region;
	struct rig_remote remote;

	PEER_CHECK(page != MAP_FAILED);
	memset(page, (int)msg->v[1], PAGE);
	for (int tries = 0; tries < 50000; tries++) {
		PEER_TRY(rig_region_create(peer.nic, page, PAGE, RIG_REMOTE_ALL, &region));
		PEER_TRY(rig_region_remote(region, 0, PAGE, &remote));
		if (msg->v[0] == 0 || msg->v[0] == remote.key) {
			msg->v[0] = remote.key;
			msg->v[2] = remote.addr;
			return 0;
		}
		PEER_TRY(rig_region_destroy(region));
	}
	return proc_fail(-ENOKEY, "key %#llx does not come", (unsigned long long)msg->v[0]);
}

static int first_byte(struct proc_msg *msg)
{
	return *(const volatile uint8_t *)(uintptr_t)msg->v[2];
}

/*
 * Keys belong to a process: the same key and address in two processes name each one's own memory.
 * By making regions in the second until one has the first's key, and writing to both from a third.
 */
static void test_two_processes_with_the_same_key(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *b = peer_start(2);
	struct proc *writer = peer_start(3);
	struct peer_pair to_a = peer_pair(writer, a);
	struct peer_pair to_b = peer_pair(writer, b);
	struct proc_msg at_a = {.v = {0, 0xaa}};
	struct proc_msg at_b;
	struct proc_msg msg;

	(void)state;
	proc_ok(a, page_with_key, &at_a);
	at_b = (struct proc_msg){.v = {at_a.v[0], 0xbb}};
	proc_ok(b, page_with_key, &at_b);
	assert_int_equal(at_a.v[0], at_b.v[0]);
	assert_int_equal(at_a.v[2], at_b.v[2]);
	msg = (struct proc_msg){.v = {to_b.a, RIG_WRITE, at_b.v[2], at_b.v[0]}};
	proc_ok(writer, poke, &msg);
	assert_int_equal(msg.v[4], RIG_OK);
	assert_int_equal(proc_call(a, first_byte, &at_a), 0xaa);
	assert_int_equal(proc_call(b, first_byte, &at_b), KEEP);
	msg = (struct proc_msg){.v = {to_a.a, RIG_WRITE, at_a.v[2], at_a.v[0]}};
	proc_ok(writer, poke, &msg);
	assert_int_equal(msg.v[4], RIG_OK);
	assert_int_equal(proc_call(a, first_byte, &at_a), KEEP);
}

/* ---- lies ------------------------------------------------------------------------------------ */

enum { LIES = 6 };

/* What b says of itself to a, in lie number `lie`; c is somebody else's endpoint. */
static void tell_lie(unsigned int lie, struct rig_endpoint *b, const struct rig_endpoint *a,
		     const struct rig_endpoint *c)
{
	switch (lie) {
	case 0: /* a host that is not there */
		memcpy(b->address.gid + 12, (const uint8_t[]){127, 9, 9, 9}, 4);
		break;
	case 1: /* an address of no port, in another family */
		memset(b->address.gid, 0x20, 16);
		break;
	case 2: /* somebody else's number */
		b->qp = c->qp;
		break;
	case 3: /* nobody's number */
		b->qp = (b->qp ^ 0x800000) | 2;
		break;
	case 4: /* the number of the one it is told to */
		b->qp = a->qp;
		b->psn = (a->psn + 5000) & 0xffffff;
		break;
	}
}

/* Connects link b.a to what b says in lie number `lie`; in lie 5 b is told a wrong PSN of a. */
static struct peer_pair lying_pair(struct proc *a, struct proc *b, unsigned int lie,
				   const struct rig_endpoint *c)
{
	struct proc_msg card_a = {0}, card_b = {0};
	struct peer_card a_says, b_says;
	struct peer_pair pair;

	pair.a = (unsigned int)proc_ok(a, peer_link, &card_a);
	pair.b = (unsigned int)proc_ok(b, peer_link, &card_b);
	memcpy(&a_says, card_a.blob, sizeof(a_says));
	memcpy(&b_says, card_b.blob, sizeof(b_says));
	tell_lie(lie, &b_says.endpoint, &a_says.endpoint, c);
	if (lie == 5)
		a_says.endpoint.psn ^= 0x400000;
	memcpy(card_a.blob, &a_says, sizeof(a_says));
	memcpy(card_b.blob, &b_says, sizeof(b_says));
	card_a.v[0] = pair.b;
	card_b.v[0] = pair.a;
	proc_ok(a, peer_connect, &card_b);
	proc_ok(b, peer_connect, &card_a);
	return pair;
}

/* Takes `v[0]` failures: v[1] becomes how many of them were retry exceeded. */
static int take_failures(struct proc_msg *msg)
{
	struct rig_wc wc;

	for (uint64_t left = msg->v[0]; left > 0;) {
		int result = peer_next(peer.cq, &wc, LIES_WAIT_MS);

		if (result < 0)
			return result;
		if (wc.kind != RIG_WC_ENTRY)
			continue;
		left--;
		msg->v[1] += wc.status == RIG_RETRY_EXCEEDED && wc.vendor_syndrome == 0x81;
	}
	return 0;
}

/*
 * A peer that lies about its endpoint (address, number, PSN) gets nothing and harms nobody: the
 * requests to it end in retry exceeded, no byte moves, and its real links, and those of the one
 * whose number it gave, go on. By one link for each lie, all at once, under a third's traffic.
 */
static void test_a_peer_that_lies_about_its_endpoint(void **state)
{
	struct proc *a = peer_start(1), *b = peer_start(2), *c = peer_start(3);
	struct peer_pair bc = peer_pair(b, c);
	struct peer_card c_card = get_card(c, bc.b);
	struct proc_msg failures = {.v = {LIES}};
	struct peer_pair lies[LIES];

	(void)state;
	peer_run_on(b, 3000);
	peer_run_on(c, 3000);
	for (unsigned int i = 0; i < LIES; i++) {
		struct proc_msg keep;

		lies[i] = lying_pair(a, b, i, &c_card.endpoint);
		keep = (struct proc_msg){.v = {lies[i].b}};
		proc_ok(b, keep_memory, &keep);
	}
	peer_run_on(b, 0);
	for (unsigned int i = 0; i < LIES; i++) {
		struct peer_card card = get_card(b, lies[i].b);
		struct proc_msg msg = {
		    .v = {lies[i].a, RIG_WRITE, card.remote.addr, card.remote.key}};

		proc_ok(a, poke_post, &msg);
	}
	proc_ok(a, take_failures, &failures);
	assert_int_equal(failures.v[1], LIES);
	for (unsigned int i = 0; i < LIES; i++) {
		struct proc_msg keep = {.v = {lies[i].b}};

		proc_ok(b, kept_memory, &keep);
	}
	proc_ok(b, peer_halt, NULL);
	proc_ok(c, peer_halt, NULL);
	peer_agree(b, bc.a, c, bc.b);
	works(a);
}

static int connect_lie(struct proc_msg *msg)
{
	struct peer_link *link = &peer.links[0];
	struct rig_endpoint endpoint, own;

	PEER_TRY(rig_qp_endpoint(link->qp, &own));
	memcpy(&endpoint, msg->blob, sizeof(endpoint));
	PEER_CHECK(rig_qp_connect(link->qp, RIG_REMOTE_ALL, &endpoint, NULL) == -EINVAL);
	msg->v[0] = strlen(rig_error());
	return 0;
}

/*
 * An endpoint that cannot be is refused, with a sentence, and the queue pair can be connected
 * after. By a table of impossible endpoints.
 */
static void test_impossible_endpoints_are_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t qp, psn, mtu;
		enum rig_link link;
	} rows[] = {
	    {"number 0", 0, 1, 4096, RIG_LINK_ETHERNET},
	    {"number of 25 bits", 0x1000002, 1, 4096, RIG_LINK_ETHERNET},
	    {"PSN of 25 bits", 0x123456, 0x1000000, 4096, RIG_LINK_ETHERNET},
	    {"MTU 0", 0x123456, 1, 0, RIG_LINK_ETHERNET},
	    {"MTU 3000", 0x123456, 1, 3000, RIG_LINK_ETHERNET},
	    {"other link layer", 0x123456, 1, 4096, RIG_LINK_INFINIBAND},
	};
	struct proc *a = peer_start(1), *b = peer_start(2);
	struct proc_msg card_a = {0}, card_b = {0};
	struct peer_card good;

	(void)state;
	proc_ok(a, peer_link, &card_a);
	proc_ok(b, peer_link, &card_b);
	memcpy(&good, card_b.blob, sizeof(good));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_endpoint endpoint = good.endpoint;
		struct proc_msg msg = {0};

		endpoint.qp = rows[i].qp;
		endpoint.psn = rows[i].psn;
		endpoint.mtu_bytes = rows[i].mtu;
		endpoint.address.link = rows[i].link;
		endpoint.address.lid = rows[i].link == RIG_LINK_INFINIBAND;
		memcpy(msg.blob, &endpoint, sizeof(endpoint));
		if (proc_call(a, connect_lie, &msg) < 0 || msg.v[0] == 0)
			fail_msg("%s: %s", rows[i].name, msg.text);
	}
	proc_ok(a, peer_connect, &card_b);
	proc_ok(b, peer_connect, &card_a);
	peer_run_on(a, 100);
	proc_ok(a, peer_drain, NULL);
	peer_agree(a, 0, b, 0);
}

/* ---- a member that scribbles ----------------------------------------------------------------- */

/* The port's memory, as this process maps it. */
static uint8_t *port_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:rig5-port") && sscanf(line, "%llx-", &start) == 1)
			break;
	if (maps)
		fclose(maps);
	return (uint8_t *)(uintptr_t)start;
}

/* Where scribbling hurts: what the port is, its members, the rings between the first of them. */
static const struct area {
	const char *name;
	uint64_t offset, len;
} areas[] = {
    {"port", 0, 128 << 10},
    {"members", 128 << 10, 8 * 256},
    {"rings", 1 << 20, 4 * 256 * 1024},
    {"rings of the second", (1 << 20) + 256ull * 256 * 1024, 4 * 256 * 1024},
};

static uint64_t scribble_value(struct base_prng *prng, uint64_t old)
{
	switch (base_prng_below(prng, 4)) {
	case 0:
		return base_prng_u64(prng);
	case 1:
		return old + 1;
	case 2:
		return old ^ 1ull << base_prng_below(prng, 64);
	}
	return base_prng_below(prng, 300);
}

/* Area v[0], seed v[1]. */
static int scribble(struct proc_msg *msg)
{
	const struct area *area = &areas[msg->v[0]];
	uint8_t *memory = port_memory();
	struct base_prng prng;

	PEER_CHECK(memory);
	base_prng_seed(&prng, msg->v[1]);
	for (int i = 0; i < SCRIBBLES; i++) {
		/* Mostly near the front of a page: that is where the words are. */
		uint64_t at = base_prng_below(&prng, area->len / 8) * 8;
		_Atomic uint64_t *word;

		if (base_prng_below(&prng, 2))
			at = (at & ~(uint64_t)4095) | (at & 0x1ff);
		word = (_Atomic uint64_t *)(void *)(memory + area->offset + at);
		*word = scribble_value(&prng, *word);
		if (i % 64 == 0)
			proc_sleep_ms(1);
	}
	return 0;
}

static int open_somehow(struct proc_msg *msg)
{
	int result = rig_open("soft0", &peer.nic);

	PEER_CHECK(result == 0 || rig_error()[0]);
	msg->v[0] = (uint64_t)-result;
	return 0;
}

/* Everything that a member may want to do ends, one way or the other. */
static void must_end(struct proc *child)
{
	struct proc_msg msg = {0};

	peer_report_of(child, 0);
	(void)proc_call(child, peer_link, &msg);
	msg = (struct proc_msg){.v = {0}};
	(void)proc_call(child, peer_unlink, &msg);
	(void)proc_call(child, peer_close, &msg);
}

static void scribble_over(unsigned int area, uint64_t seed)
{
	struct proc *hostile = peer_start(1), *a = peer_start(2), *b = peer_start(3);
	struct proc *late = proc_start();
	struct proc_msg msg = {.v = {area, seed}};

	peer_pair(hostile, a);
	peer_pair(hostile, b);
	peer_pair(a, b);
	peer_run_on(hostile, FOREVER);
	peer_run_on(a, FOREVER);
	peer_run_on(b, FOREVER);
	proc_ok(hostile, scribble, &msg);
	msg = (struct proc_msg){0};
	proc_ok(late, open_somehow, &msg);
	must_end(a);
	must_end(b);
	proc_quit(a);
	proc_quit(b);
	proc_kill(hostile);
	proc_kill(late);
	/* With its last member the port is gone, and the next one is as good as new. */
	a = peer_start(4);
	works(a);
	proc_kill(a);
}

/*
 * A member that writes nonsense into the port's memory can spoil what passes through it (it is the
 * same user's), but crashes and hangs nobody: every call of the others ends, they end with status
 * 0, and the port can be founded anew. By 3,000 seeded words in each part of it, under traffic.
 */
static void test_a_member_that_scribbles(void **state)
{
	(void)state;
	for (unsigned int area = 0; area < sizeof(areas) / sizeof(areas[0]); area++) {
		uint64_t seed = 20260731 + area;

		print_message("%s, seed %llu\n", areas[area].name, (unsigned long long)seed);
		scribble_over(area, seed);
		proc_new_port();
	}
}

/* ---- crashes --------------------------------------------------------------------------------- */

/*
 * A port whose founder is killed goes on and takes newcomers; one whose members are all killed at
 * once is founded anew. By SIGKILL, each time followed by newcomers that work.
 */
static void test_a_registry_left_by_a_crash(void **state)
{
	struct proc *founder = peer_start(1), *a = peer_start(2), *b = peer_start(3);
	struct peer_pair ab = peer_pair(a, b);

	(void)state;
	peer_pair(founder, a);
	peer_run_on(founder, FOREVER);
	peer_run_on(a, 500);
	proc_kill(founder);
	works(a);
	proc_ok(b, peer_drain, NULL);
	assert_true(peer_progress(a, ab.a, 0, PEER_PATIENCE_MS));
	peer_run_on(a, FOREVER);
	peer_run_on(b, FOREVER);
	proc_signal(a, SIGKILL);
	proc_signal(b, SIGKILL);
	proc_wait(a);
	proc_wait(b);
	a = peer_start(4);
	works(a);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* Opens with 0, 1, 2 ... descriptors to spare, until it works: v[0] of them were needed. */
static int open_with_few_files(struct proc_msg *msg)
{
	struct rlimit old, few;
	unsigned int before = open_files();
	int result = -EMFILE;
	int lowest = dup(0);

	PEER_CHECK(lowest >= 0 && close(lowest) == 0);
	PEER_CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	for (msg->v[0] = 0; result < 0 && msg->v[0] < 40; msg->v[0]++) {
		few = (struct rlimit){(rlim_t)lowest + msg->v[0], old.rlim_max};
		PEER_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
		result = rig_open("soft0", &peer.nic);
		PEER_CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
		if (result < 0 && (result != -EMFILE || !strstr(rig_error(), "soft0")))
			return proc_fail(-EPROTO, "%llu spare: %d, %s",
					 (unsigned long long)msg->v[0], result, rig_error());
		PEER_CHECK(result == 0 || open_files() == before);
	}
	PEER_CHECK(result == 0);
	PEER_TRY(rig_cq_create(peer.nic, PEER_CQE, &peer.cq));
	return 0;
}

/*
 * Without descriptors rig_open returns -EMFILE, with a sentence, and leaks none; with enough it
 * works. By RLIMIT_NOFILE, one more each time.
 */
static void test_no_descriptors(void **state)
{
	struct proc *a = peer_start(1);
	struct proc *few = proc_start();
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(few, open_with_few_files, &msg);
	assert_true(msg.v[0] > 2);
	works(few);
	works(a);
}

static rlim_t address_space(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file) {
		if (fscanf(file, "%llu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return (rlim_t)pages * PAGE;
}

static int no_memory(struct proc_msg *msg)
{
	struct rlimit old, few;
	struct rig_cq *cq;
	struct rig_qp *qp;

	(void)msg;
	PEER_CHECK(getrlimit(RLIMIT_AS, &old) == 0);
	few = (struct rlimit){256 << 20, old.rlim_max};
	PEER_CHECK(setrlimit(RLIMIT_AS, &few) == 0);
	PEER_CHECK(rig_open("soft0", &peer.nic) == -ENOMEM);
	PEER_CHECK(setrlimit(RLIMIT_AS, &old) == 0);
	if (!strstr(rig_error(), "ulimit -v"))
		return proc_fail(-EPROTO, "does not say what to do: %s", rig_error());
	PEER_TRY(rig_open("soft0", &peer.nic));
	PEER_TRY(rig_cq_create(peer.nic, 1 << 17, &peer.cq));
	few.rlim_cur = address_space() + (1 << 19);
	PEER_CHECK(setrlimit(RLIMIT_AS, &few) == 0);
	PEER_CHECK(rig_cq_create(peer.nic, 1 << 20, &cq) == -ENOMEM && rig_error()[0]);
	PEER_CHECK(rig_qp_create(peer.cq, 1 << 15, 0, &qp) == -ENOMEM && rig_error()[0]);
	PEER_CHECK(rig_qp_create(peer.cq, 16, 16, &qp) == 0);
	PEER_CHECK(setrlimit(RLIMIT_AS, &old) == 0);
	PEER_TRY(rig_qp_create(peer.cq, 1 << 15, 0, &qp));
	return 0;
}

/*
 * Without memory rig_open, rig_cq_create and rig_qp_create return -ENOMEM, with a sentence that for
 * rig_open says what to do, and what exists goes on. By RLIMIT_AS.
 */
static void test_no_memory(void **state)
{
	const char *sanitize = getenv("RIG5_SANITIZE");
	struct proc *child = proc_start();
	struct proc_msg msg = {0};

	(void)state;
	if (sanitize && *sanitize)
		skip(); /* its shadow is larger than any limit */
	proc_ok(child, no_memory, &msg);
	works(child);
}

static int small_files(struct proc_msg *msg)
{
	struct rlimit old, few;

	(void)msg;
	PEER_CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
	few = (struct rlimit){1 << 20, old.rlim_max};
	PEER_CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
	PEER_CHECK(rig_open("soft0", &peer.nic) == -EFBIG);
	PEER_CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
	if (!strstr(rig_error(), "ulimit -f"))
		return proc_fail(-EPROTO, "does not name the limit: %s", rig_error());
	PEER_TRY(rig_open("soft0", &peer.nic));
	PEER_TRY(rig_cq_create(peer.nic, 1 << 17, &peer.cq));
	return 0;
}

/* Where files may not be as large as the registry, rig_open names the limit, and no signal comes.
 * By RLIMIT_FSIZE. */
static void test_small_files(void **state)
{
	struct proc *child = proc_start();
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, small_files, &msg);
	works(child);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_forged_remote_keys),
	    PEER_TEST(test_the_key_of_a_destroyed_region),
	    PEER_TEST(test_two_processes_with_the_same_key),
	    PEER_TEST(test_a_peer_that_lies_about_its_endpoint),
	    PEER_TEST(test_impossible_endpoints_are_refused),
	    PEER_TEST(test_a_member_that_scribbles),
	    PEER_TEST(test_a_registry_left_by_a_crash),
	    PEER_TEST(test_no_descriptors),
	    PEER_TEST(test_no_memory),
	    PEER_TEST(test_small_files),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
