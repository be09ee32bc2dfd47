/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host_bench.c - what the local wire and the guarded copies cost, without a NIC above them.
 *
 * Two processes on two processors; each figure is the median of rounds that alternate with the
 * probe beside it (a bare cache line sent to and fro), because virtual processors move about.
 */
#include "base/assert.h"
#include "host/clock.h"
#include "host/guard.h"
#include "host/local.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15, PING_COUNT = 20000, STREAM_BYTES = 64 << 20, QPN0 = 0x100000, QPN1 = 0x200000 };

/* Lines between the two processes beside the registry. */
struct shared {
	_Alignas(64) _Atomic uint64_t ping;
	_Alignas(64) _Atomic uint64_t pong;
	_Alignas(64) _Atomic uint64_t step;
};

static struct shared *shared;
static struct host_registry registry;
static struct host_local local;

void base_panic(const char *file, int line, const char *expr)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
	abort();
}

static void pause_twice(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
	__builtin_ia32_pause();
#endif
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[count / 2];
}

/* ---- between processes ---------------------------------------------------------------------- */

static uint64_t received;

static void take_count(void *ctx, const uint8_t *packet, size_t len)
{
	(void)ctx;
	(void)packet;
	(void)len;
	received++;
}

/* What a NIC does with payload: one guarded copy into application memory. */
static void take_copy(void *ctx, const uint8_t *packet, size_t len)
{
	received++;
	(void)host_guard_copy(NULL, ctx, packet, len);
}

static void send_bytes(uint32_t qpn, const uint8_t *payload, size_t len)
{
	uint8_t *room;

	while (!(room = host_local_reserve(&local, NULL, qpn, len)))
		pause_twice();
	(void)host_guard_copy(NULL, room, payload, len);
	host_local_commit(&local);
}

static void receive_until(uint64_t goal, void (*take)(void *, const uint8_t *, size_t), void *ctx)
{
	static const struct host_local_limit limit = {64, 256 * 1024};

	while (received < goal)
		if (!host_local_receive(&local, &limit, take, ctx))
			pause_twice();
}

static double ping_line(bool first)
{
	uint64_t start_ns = host_now_ns();

	for (uint64_t i = 1; i <= PING_COUNT; i++) {
		if (first)
			atomic_store_explicit(&shared->ping, i, memory_order_release);
		while (atomic_load_explicit(&shared->ping, memory_order_acquire) < i)
			pause_twice();
		if (!first)
			atomic_store_explicit(&shared->pong, i, memory_order_release);
		while (atomic_load_explicit(&shared->pong, memory_order_acquire) < i)
			pause_twice();
	}
	return (double)(host_now_ns() - start_ns) / PING_COUNT / 2;
}

static double ping_ring(bool first, size_t len)
{
	static uint8_t payload[8192], sink[8192];
	uint32_t peer = first ? QPN1 : QPN0;
	uint64_t start_ns = host_now_ns();

	received = 0;
	for (uint64_t i = 1; i <= PING_COUNT; i++) {
		if (first) {
			send_bytes(peer, payload, len);
			host_local_flush(&local);
		}
		receive_until(i, take_copy, sink);
		if (!first) {
			send_bytes(peer, payload, len);
			host_local_flush(&local);
		}
	}
	return (double)(host_now_ns() - start_ns) / PING_COUNT / 2;
}

/* count packets one way, then one back. */
static double stream(bool first, size_t len)
{
	static uint8_t payload[STREAM_BYTES / 64], sink[8192];
	uint64_t count = len > 64 ? STREAM_BYTES / len : 1000000;
	uint64_t start_ns = host_now_ns();

	received = 0;
	if (first) {
		for (uint64_t i = 0; i < count; i++) {
			send_bytes(QPN1, payload + i * len % (sizeof(payload) / 2), len);
			if (i % 32 == 31)
				host_local_flush(&local);
		}
		receive_until(1, take_count, NULL);
	} else {
		receive_until(count, take_copy, sink);
		send_bytes(QPN0, payload, len);
	}
	return (double)(host_now_ns() - start_ns) / (double)count;
}

/* Both processes come here; step n is done when both have. */
static void together(uint64_t step)
{
	atomic_fetch_add(&shared->step, 1);
	while (atomic_load(&shared->step) < 2 * step)
		pause_twice();
}

enum { PING_SMALL, PING_4K, PROBE, STREAM_SMALL, STREAM_1K, STREAM_4K, BENCH_COUNT };

static double bench_one(int which, bool first)
{
	switch (which) {
	case PING_SMALL:
		return ping_ring(first, 12 + 8);
	case PING_4K:
		return ping_ring(first, 12 + 4096);
	case STREAM_SMALL:
		return stream(first, 12 + 8);
	case STREAM_1K:
		return stream(first, 12 + 1024);
	case STREAM_4K:
		return stream(first, 12 + 4096);
	}
	return ping_line(first);
}

static void bench_pair(bool first, double values[BENCH_COUNT][ROUNDS])
{
	uint64_t step = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int which = 0; which < BENCH_COUNT; which++) {
			if (first)
				atomic_store(&shared->ping, 0);
			else
				atomic_store(&shared->pong, 0);
			together(++step);
			values[which][round] = bench_one(which, first);
			together(++step);
		}
	}
}

static void member_init(uint32_t slot)
{
	registry.slot = slot;
	registry.generation = host_registry_member(&registry, slot)->generation;
	host_local_init(&local, &registry);
}

static void run_pair(void)
{
	static const uint8_t gid[16] = {1};
	static double values[BENCH_COUNT][ROUNDS];
	double probe, small;
	pid_t pid;

	shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (host_registry_found(&registry, "bench", gid) != 0)
		exit(1);
	for (uint32_t slot = 0; slot < 2; slot++) {
		atomic_store(&host_registry_member(&registry, slot)->state, SHM_LIVE);
		atomic_store(&host_registry_port(&registry)->owners[QPN0 >> 12 << slot],
			     (uint16_t)(slot + 1));
	}
	pid = fork();
	if (pid == 0) {
		host_registry_attach(&registry, registry.memfd);
		pin(1);
		member_init(1);
		bench_pair(false, values);
		_exit(0);
	}
	pin(0);
	member_init(0);
	bench_pair(true, values);
	waitpid(pid, NULL, 0);
	probe = median(values[PROBE], ROUNDS);
	small = median(values[PING_SMALL], ROUNDS);
	printf("bare cache line, one way          %8.1f ns\n", probe);
	printf("8-byte packet, one way            %8.1f ns   %.2f times the line\n", small,
	       small / probe);
	printf("4 KiB packet, one way             %8.1f ns\n", median(values[PING_4K], ROUNDS));
	printf("8-byte packets                    %8.1f M/s\n",
	       1e3 / median(values[STREAM_SMALL], ROUNDS));
	printf("1 KiB packets, two copies         %8.1f GB/s\n",
	       1036 / median(values[STREAM_1K], ROUNDS));
	printf("4 KiB packets, two copies         %8.1f GB/s\n",
	       4108 / median(values[STREAM_4K], ROUNDS));
}

/* ---- guarded copies ------------------------------------------------------------------------- */

static double time_copy(bool (*copy)(void *, void *, const void *, size_t), uint8_t *to,
			const uint8_t *from, size_t len)
{
	uint64_t count = len < 1024 ? 1000000 : 400000000 / len;
	uint64_t start_ns = host_now_ns();

	for (uint64_t i = 0; i < count; i++)
		(void)copy(NULL, to, from, len);
	return (double)(host_now_ns() - start_ns) / (double)count;
}

static bool bare_copy(void *ctx, void *to, const void *from, size_t len)
{
	(void)ctx;
	memcpy(to, from, len);
	return true;
}

static void run_copies(void)
{
	static const size_t lens[] = {8, 28, 64, 100, 256, 1024, 4096, 65536};
	static _Alignas(4096) uint8_t from[65536 + 64], to[65536 + 64];

	memset(from, 1, sizeof(from));
	memset(to, 1, sizeof(to));
	printf("\ncopy, ns                 memcpy  guarded  from +12  plain C\n");
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		double t[4][5];

		for (int n = 0; n < 5; n++) {
			t[0][n] = time_copy(bare_copy, to, from, lens[i]);
			t[1][n] = time_copy(host_guard_copy, to, from, lens[i]);
			t[2][n] = time_copy(host_guard_copy, to, from + 12, lens[i]);
			t[3][n] = time_copy(host_guard_portable_copy, to, from, lens[i]);
		}
		printf("%6zu bytes          %9.1f%9.1f%10.1f%9.1f\n", lens[i], median(t[0], 5),
		       median(t[1], 5), median(t[2], 5), median(t[3], 5));
	}
}

int main(void)
{
	if (host_guard_install() != 0)
		return 1;
	run_pair();
	run_copies();
	return 0;
}
