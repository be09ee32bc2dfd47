/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two_processes.c - a child process writes into its parent's memory, by RDMA.
 *
 * Each opens a NIC and connects a queue pair to the other's. They tell each other what they need,
 * an endpoint and a piece of memory, over a socket; two hosts would use TCP. The write carries
 * immediate data, so the parent gets a completion when the bytes are there.
 */
#include <rig5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What one end tells the other: plain data, of one machine's byte order here. */
struct greeting {
	struct rig_endpoint endpoint;
	struct rig_remote memory;
};

struct end {
	struct rig_nic *nic;
	struct rig_region *region;
	struct rig_cq *cq;
	struct rig_qp *qp;
	char buf[4096];
};

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, rig_error());
	exit(1);
}

/* Opens a NIC, makes a queue pair, and connects it to the one at the other end of the socket. */
static struct greeting meet(struct end *end, int sock)
{
	struct greeting mine, theirs;
	struct rig_local nothing;

	check(rig_open("soft0", &end->nic), "open");
	check(
	    rig_region_create(end->nic, end->buf, sizeof(end->buf), RIG_REMOTE_WRITE, &end->region),
	    "region");
	check(rig_cq_create(end->nic, 32, &end->cq), "completion queue");
	check(rig_qp_create(end->cq, 16, 4, &end->qp), "queue pair");
	check(rig_qp_endpoint(end->qp, &mine.endpoint), "endpoint");
	check(rig_region_remote(end->region, 0, sizeof(end->buf), &mine.memory), "memory");
	if (write(sock, &mine, sizeof(mine)) != sizeof(mine) ||
	    read(sock, &theirs, sizeof(theirs)) != sizeof(theirs)) {
		fprintf(stderr, "the other process is gone\n");
		exit(1);
	}
	check(rig_qp_connect(end->qp, RIG_REMOTE_WRITE, &theirs.endpoint, NULL), "connect");
	/* Immediate data takes a receive; the bytes go where the write says. */
	check(rig_region_local(end->region, 0, 0, &nothing), "piece");
	check(rig_qp_receive(end->qp, &nothing), "receive");
	return theirs;
}

static struct rig_wc await(struct end *end)
{
	struct rig_wc wc;
	char line[256];
	int n;

	while ((n = rig_cq_poll(end->cq, &wc, 1)) == 0)
		;
	check(n, "poll");
	rig_wc_text(&wc, line, sizeof(line));
	printf("%s\n", line);
	if (wc.status != RIG_OK)
		exit(1);
	return wc;
}

static void be_child(int sock)
{
	static const char text[] = "written by another process";
	static struct end end;
	struct greeting parent = meet(&end, sock);
	const struct rig_entry entry = {
	    .op = RIG_WRITE,
	    .flags = RIG_SIGNAL_F | RIG_INLINE_F | RIG_IMM_F,
	    .imm = sizeof(text),
	    .inline_data = text,
	    .inline_len_bytes = sizeof(text),
	    .remote_addr = parent.memory.addr,
	    .remote_key = parent.memory.key,
	};

	check(rig_qp_post(end.qp, &entry), "post");
	check(rig_qp_ring(end.qp), "ring");
	await(&end);
	rig_close(end.nic);
	exit(0);
}

int main(void)
{
	static struct end end;
	struct rig_wc wc;
	int socks[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
		return 1;
	/* Before the NIC is opened: a child may not use its parent's. */
	if (fork() == 0)
		be_child(socks[1]);
	meet(&end, socks[0]);
	wc = await(&end);
	printf("parent: got %u bytes: %s\n", wc.imm, end.buf);
	wait(&status);
	rig_close(end.nic);
	return status || strcmp(end.buf, "written by another process");
}
