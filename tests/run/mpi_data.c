/* SPDX-License-Identifier: BSD-2-Clause */
/* package: ompi-c */
/*
 * mpi_data.c - an MPI program that checks every byte it gets, for openmpi.sh.
 *
 *   run_mpi_data [LARGEST]
 *
 * Messages around the ring of ranks up to LARGEST bytes (5 MiB), Allreduce, Alltoall, puts into the
 * next rank's window, and counters that all ranks count up. Rank 0 prints the time of a message
 * there and back, and the bandwidth of large ones. Exit status 0: all was as it should be.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GUARD = 64, /* bytes before and behind what comes */
	FILLER = 0x5a,
	COUNTS = 20,
	ROUND_TRIPS = 50,
	RANKS_MAX = 64,
};

static const size_t sizes[] = {1,    8,    63,    64,    200,    1024,    2049,
			       4095, 8192, 20001, 65536, 262144, 1048577, 5 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int rank, ranks;
static size_t largest = 5 << 20;

static void die(const char *what, size_t size, size_t at)
{
	fprintf(stderr, "mpi_data: rank %d: %s of %zu: wrong at %zu\n", rank, what, size, at);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char *allocate(size_t size)
{
	unsigned char *memory = malloc(size);

	if (!memory) {
		fprintf(stderr, "mpi_data: no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memset(memory, FILLER, size);
}

static unsigned char byte_of(unsigned int from, unsigned int to, size_t i)
{
	return (unsigned char)(((from * 64 + to) * 2654435761u + i * 40503u) >> 11 ^ i);
}

static void fill(unsigned char *bytes, size_t size, int from, int to)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_of((unsigned int)from, (unsigned int)to, i);
}

static void check(const char *what, const unsigned char *bytes, size_t size, int from)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != byte_of((unsigned int)from, (unsigned int)rank, i))
			die(what, size, i);
}

static void check_guard(const char *what, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < GUARD; i++)
		if (bytes[i] != FILLER)
			die(what, size, i);
}

static void ring(size_t size)
{
	int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	unsigned char *out = allocate(size), *in = allocate(size + 2 * (size_t)GUARD);

	fill(out, size, rank, right);
	MPI_Sendrecv(out, (int)size, MPI_BYTE, right, 1, in + GUARD, (int)size, MPI_BYTE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	check("Sendrecv", in + GUARD, size, left);
	check_guard("Sendrecv, before", in, size);
	check_guard("Sendrecv, behind", in + GUARD + size, size);
	free(out);
	free(in);
}

static void allreduce(int count)
{
	size_t bytes = (size_t)count * sizeof(uint64_t);
	uint64_t *in = (uint64_t *)allocate(bytes), *out = (uint64_t *)allocate(bytes);

	for (int i = 0; i < count; i++)
		in[i] = (uint64_t)(rank + 1) * 0x100000001ull + (uint64_t)i;
	MPI_Allreduce(in, out, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < count; i++)
		if (out[i] != (uint64_t)ranks * (uint64_t)(ranks + 1) / 2 * 0x100000001ull +
				  (uint64_t)ranks * (uint64_t)i)
			die("Allreduce", bytes, (size_t)i);
	free(in);
	free(out);
}

static void alltoall(size_t size)
{
	unsigned char *out = allocate(size * (size_t)ranks), *in = allocate(size * (size_t)ranks);

	for (int to = 0; to < ranks; to++)
		fill(out + size * (size_t)to, size, rank, to);
	MPI_Alltoall(out, (int)size, MPI_BYTE, in, (int)size, MPI_BYTE, MPI_COMM_WORLD);
	for (int from = 0; from < ranks; from++)
		check("Alltoall", in + size * (size_t)from, size, from);
	free(out);
	free(in);
}

/* Into the next rank's window, from an offset on; get brings the same back. */
static void put(size_t size)
{
	int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	size_t window_bytes = size + 2 * (size_t)GUARD;
	unsigned char *out = allocate(size), *back = allocate(size), *window;
	MPI_Win win;

	MPI_Win_allocate((MPI_Aint)window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
	memset(window, FILLER, window_bytes);
	fill(out, size, rank, right);
	MPI_Win_fence(0, win);
	MPI_Put(out, (int)size, MPI_BYTE, right, GUARD, (int)size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	check("Put", window + GUARD, size, left);
	check_guard("Put, before", window, size);
	check_guard("Put, behind", window + GUARD + size, size);
	MPI_Get(back, (int)size, MPI_BYTE, right, GUARD, (int)size, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	if (memcmp(back, out, size) != 0)
		die("Get", size, 0);
	MPI_Win_free(&win);
	free(out);
	free(back);
}

/* Each rank counts rank 0's counter up; all that they read together is 0, 1, 2 ... */
static void count(void)
{
	static bool seen[RANKS_MAX * COUNTS];
	uint64_t mine[COUNTS], all[RANKS_MAX * COUNTS], one = 1, *counter;
	MPI_Win win;

	MPI_Win_allocate(rank == 0 ? sizeof(*counter) : 0, sizeof(*counter), MPI_INFO_NULL,
			 MPI_COMM_WORLD, &counter, &win);
	if (rank == 0)
		*counter = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < COUNTS; i++) {
		MPI_Fetch_and_op(&one, &mine[i], MPI_UINT64_T, 0, 0, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Allgather(mine, COUNTS, MPI_UINT64_T, all, COUNTS, MPI_UINT64_T, MPI_COMM_WORLD);
	for (int i = 0; i < ranks * COUNTS; i++) {
		if (all[i] >= (uint64_t)(ranks * COUNTS) || seen[all[i]])
			die("Fetch_and_op", sizeof(one), (size_t)i);
		seen[all[i]] = true;
	}
	MPI_Win_free(&win);
}

/* Rank 0 with rank 1: what one way of `size` bytes takes, in seconds. */
static double one_way(size_t size, int times)
{
	unsigned char *bytes = allocate(size);
	double start = MPI_Wtime();

	for (int i = 0; i < times && rank < 2; i++) {
		if (rank == 0)
			MPI_Send(bytes, (int)size, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
		MPI_Recv(bytes, (int)size, MPI_BYTE, !rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(bytes, (int)size, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
	}
	free(bytes);
	return (MPI_Wtime() - start) / times / 2;
}

static void measure(void)
{
	double small_s = one_way(8, ROUND_TRIPS), large_s = one_way(largest, 4);

	if (rank == 0)
		printf("latency %.1f us, bandwidth %.1f MB/s\n", small_s * 1e6,
		       (double)largest / large_s / 1e6);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc > 1)
		largest = strtoul(argv[1], NULL, 0);
	if (ranks < 2 || ranks > RANKS_MAX || largest < 1)
		die("ranks", (size_t)ranks, 0);
	for (int i = 0; i < SIZES && sizes[i] <= largest; i++)
		ring(sizes[i]);
	for (int elements = 1; (size_t)elements * sizeof(uint64_t) <= largest; elements *= 9)
		allreduce(elements);
	for (size_t bytes = 1; bytes * (size_t)ranks <= largest; bytes *= 17)
		alltoall(bytes);
	for (int i = 0; i < SIZES && sizes[i] <= largest; i += 3)
		put(sizes[i]);
	count();
	measure();
	if (rank == 0)
		printf("%d ranks: all right\n", ranks);
	MPI_Finalize();
	return 0;
}
