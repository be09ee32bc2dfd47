/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_bench.c A B - the time in ns that a cache line takes from processor A to B, one way: the
 * probe that says how near two processors are just now, without which figures of two processes on
 * a virtual machine cannot be compared from one run to another. Two threads answer each other, with
 * two pauses between looks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200000
#define CHUNKS 20 /* the median of that many stretches is printed */

static _Atomic uint32_t ball __attribute__((aligned(128)));

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("line_bench: sched_setaffinity");
		exit(1);
	}
}

static void await(uint32_t value)
{
	while (atomic_load_explicit(&ball, memory_order_acquire) != value) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
		__builtin_ia32_pause();
#endif
	}
}

static void *answer(void *arg)
{
	pin(*(const int *)arg);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		await(2 * i + 1);
		atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
	}
	return NULL;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double samples[CHUNKS];
	pthread_t thread;
	uint32_t i = 0;
	int other;

	if (argc != 3) {
		fprintf(stderr, "usage: line_bench A B\n");
		return 2;
	}
	other = atoi(argv[2]);
	if (pthread_create(&thread, NULL, answer, &other))
		return 1;
	pin(atoi(argv[1]));
	for (int chunk = 0; chunk < CHUNKS; chunk++) {
		double start = now_ns();

		for (; i < ROUNDS / CHUNKS * (uint32_t)(chunk + 1); i++) {
			atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
			await(2 * i + 2);
		}
		samples[chunk] = (now_ns() - start) / (ROUNDS / CHUNKS) / 2;
	}
	pthread_join(thread, NULL);
	qsort(samples, CHUNKS, sizeof(samples[0]), compare);
	printf("%.1f\n", samples[CHUNKS / 2]);
	return 0;
}
