/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_bench.c - the driver library's data path alone: 8-byte inline writes, posted, rung and
 * polled.
 *
 * The NIC is a script (tests/support/script_os.h): no progress, rings in plain memory, completions
 * written before the poll. bench/lib_instructions.sh runs it under callgrind, which counts inside
 * rig_qp_post, rig_qp_ring and rig_cq_poll only. Alone it prints nanoseconds, to be compared within
 * one run.
 *
 *   lib_bench BATCH ROUNDS
 */
#include "include/rig5.h"
#include "tests/support/script_os.h"

#include <time.h>

enum { BATCH_MAX = 64, RING = 1024 };

static struct rig_nic *nic;
static struct rig_cq *cq;
static struct rig_qp *qp;
static uint64_t data;
static const struct rig_entry entry = {
	.op = RIG_WRITE,
	.flags = RIG_INLINE_F | RIG_SIGNAL_F,
	.inline_data = &data,
	.inline_len_bytes = sizeof(data),
	.remote_addr = 0x7f0000001000,
	.remote_key = 0x1234,
};

static void must(int ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "lib_bench: %s: %s\n", what, rig_error());
		exit(1);
	}
}

static void set_up(void)
{
	struct rig_endpoint self;

	script_reset();
	must(rig_open("mlx5_0", &nic), "open");
	must(rig_cq_create(nic, RING, &cq), "completion queue");
	must(rig_qp_create(cq, RING, 0, &qp), "queue pair");
	must(rig_qp_endpoint(qp, &self), "endpoint");
	must(rig_qp_connect(qp, RIG_REMOTE_ALL, &self, NULL), "connect");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct times {
	uint64_t post_ns;
	uint64_t poll_ns;
};

static void round_run(int batch, struct times *times)
{
	uint16_t index = rig_qp_index(qp, RIG_RING_SEND);
	struct rig_wc wc[BATCH_MAX];
	uint64_t start_ns = now_ns();

	for (int i = 0; i < batch; i++)
		must(rig_qp_post(qp, &entry), "post");
	must(rig_qp_ring(qp), "ring");
	times->post_ns += now_ns() - start_ns;
	for (int i = 0; i < batch; i++)
		script_done(0, 0, (uint16_t)(index + i));
	start_ns = now_ns();
	if (rig_cq_poll(cq, wc, batch) != batch)
		must(-1, "poll");
	times->poll_ns += now_ns() - start_ns;
	for (int i = 0; i < batch; i++)
		if (wc[i].index != (uint16_t)(index + i) || wc[i].status != RIG_OK)
			must(-1, "completion");
}

int main(int argc, char **argv)
{
	int batch = argc > 1 ? atoi(argv[1]) : BATCH_MAX;
	int rounds = argc > 2 ? atoi(argv[2]) : 100000;
	struct times times = {0};

	if (batch < 1 || batch > BATCH_MAX || rounds < 1) {
		fprintf(stderr, "lib_bench BATCH ROUNDS: a batch has 1 to %d entries\n", BATCH_MAX);
		return 2;
	}
	set_up();
	for (int i = 0; i < rounds; i++)
		round_run(batch, &times);
	printf("batch %d: post and ring %.1f ns, poll %.1f ns each\n", batch,
	       (double)times.post_ns / rounds / batch, (double)times.poll_ns / rounds / batch);
	return rig_close(nic) ? 1 : 0;
}
