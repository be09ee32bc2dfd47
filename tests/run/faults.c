/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs */
/*
 * faults.c - a program on libibverbs that does one thing wrong, for trace.sh: the first argument
 * says what. With two more, files, it puts the second one where it has the first one open, behind
 * everybody's back. A child process is the peer. Prints the status of the first completion that is
 * not good, by its name in enum ibv_wc_status. Exit status 0: there was one.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 4096 };

/* What each wrong thing needs to be so. */
struct fault {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t len;
	int local_access;  /* of the requester's region */
	int remote_access; /* of the responder's */
	int qp_access;     /* and of its queue pair */
	int64_t at;        /* from the region's start */
	uint32_t rkey_flip;
	uint32_t lkey_flip;
	int receive_bytes; /* -1: none is posted */
	bool deaf;         /* the responder's queue pair stays in INIT */
};

#define LOCAL IBV_ACCESS_LOCAL_WRITE
#define ALL_REMOTE \
	(LOCAL | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define GOOD                                                                                    \
	.local_access = LOCAL, .remote_access = ALL_REMOTE, .qp_access = ALL_REMOTE, .len = 64, \
	.receive_bytes = BYTES

#pragma GCC diagnostic ignored "-Woverride-init"
static const struct fault faults[] = {
    {GOOD, .name = "bad_key", .opcode = IBV_WR_RDMA_WRITE, .rkey_flip = 0x7f0000},
    {GOOD, .name = "out_of_range", .opcode = IBV_WR_RDMA_WRITE, .at = BYTES + 8},
    {GOOD, .name = "too_long", .opcode = IBV_WR_RDMA_READ, .at = BYTES - 56},
    {GOOD, .name = "no_write", .opcode = IBV_WR_RDMA_WRITE,
     .remote_access = LOCAL | IBV_ACCESS_REMOTE_READ},
    {GOOD, .name = "no_atomic", .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
     .remote_access = LOCAL | IBV_ACCESS_REMOTE_WRITE},
    {GOOD, .name = "qp_no_write", .opcode = IBV_WR_RDMA_WRITE, .qp_access = IBV_ACCESS_REMOTE_READ},
    {GOOD, .name = "local_key", .opcode = IBV_WR_SEND, .lkey_flip = 0x7f0000},
    {GOOD, .name = "local_write", .opcode = IBV_WR_RDMA_READ, .local_access = 0},
    {GOOD, .name = "no_receive", .opcode = IBV_WR_SEND, .receive_bytes = -1},
    {GOOD, .name = "deaf", .opcode = IBV_WR_SEND, .deaf = true},
    {GOOD, .name = "short_receive", .opcode = IBV_WR_SEND, .receive_bytes = 16},
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* What one side tells the other. */
struct words {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t va;
	union ibv_gid gid;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(3);
}

static void open_side(struct side *side, int access)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	void *buf = aligned_alloc(BYTES, BYTES);

	need(list && list[0], "no device");
	side->context = ibv_open_device(list[0]);
	need(side->context && buf, "ibv_open_device");
	ibv_free_device_list(list);
	memset(buf, 0, BYTES);
	side->pd = ibv_alloc_pd(side->context);
	side->mr = ibv_reg_mr(side->pd, buf, BYTES, access);
	side->cq = ibv_create_cq(side->context, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = side->cq;
	need(side->mr && side->cq, "ibv_reg_mr");
	side->qp = ibv_create_qp(side->pd, &init);
	need(side->qp, "ibv_create_qp");
}

static void exchange(int socket, const struct side *side, struct words *peer)
{
	struct words own = {
	    .qpn = side->qp->qp_num, .rkey = side->mr->rkey, .va = (uintptr_t)side->mr->addr};

	need(ibv_query_gid(side->context, 1, 0, &own.gid) == 0, "ibv_query_gid");
	need(write(socket, &own, sizeof(own)) == sizeof(own), "write");
	need(read(socket, peer, sizeof(*peer)) == sizeof(*peer), "read");
}

static void connect_side(const struct side *side, const struct words *peer, int access, bool deaf)
{
	struct ibv_qp_attr init = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned int)access};
	struct ibv_qp_attr rtr = {
	    .qp_state = IBV_QPS_RTR,
	    .path_mtu = IBV_MTU_1024,
	    .dest_qp_num = peer->qpn,
	    .max_dest_rd_atomic = 1,
	    .min_rnr_timer = 1,
	    .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid, .hop_limit = 9}}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .timeout = 12,
				  .retry_cnt = 1,
				  .rnr_retry = 2,
				  .max_rd_atomic = 1};

	need(ibv_modify_qp(side->qp, &init,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
		 0,
	     "INIT");
	if (deaf)
		return;
	need(ibv_modify_qp(side->qp, &rtr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ==
		 0,
	     "RTR");
	need(ibv_modify_qp(side->qp, &rts,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
	     "RTS");
}

static void post(const struct side *side, const struct words *peer, const struct fault *fault)
{
	struct ibv_sge sge = {.addr = (uintptr_t)side->mr->addr,
			      .length = fault->len,
			      .lkey = side->mr->lkey ^ fault->lkey_flip};
	struct ibv_send_wr wr = {.opcode = fault->opcode,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED};
	uint64_t va = peer->va + (uint64_t)fault->at;
	uint32_t rkey = peer->rkey ^ fault->rkey_flip;
	struct ibv_send_wr *bad;

	if (fault->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = va;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = va;
		wr.wr.rdma.rkey = rkey;
	}
	need(ibv_post_send(side->qp, &wr, &bad) == 0, "ibv_post_send");
}

/* Past libc, as a program may that was linked statically in part. */
static void replace(const char *from, const char *to)
{
	int replaced = 0, other = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	need(other >= 0, to);
	for (int fd = 3; fd < 4096; fd++) {
		char name[32], target[PATH_MAX];
		ssize_t len;

		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		len = readlink(name, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (strcmp(target, from) == 0 && syscall(SYS_dup3, other, fd, O_CLOEXEC) == fd)
			replaced++;
	}
	need(replaced != 0, "nothing to replace");
}

static int requester(const struct fault *fault, int socket, char **files)
{
	struct side side;
	struct words peer;
	struct ibv_wc wc;
	char byte = 0;
	int got;

	open_side(&side, fault->local_access);
	exchange(socket, &side, &peer);
	connect_side(&side, &peer, 0, false);
	need(read(socket, &byte, 1) == 1, "read");
	if (files)
		replace(files[0], files[1]);
	post(&side, &peer, fault);
	while ((got = ibv_poll_cq(side.cq, 1, &wc)) == 0)
		;
	need(got == 1, "ibv_poll_cq");
	printf("%d\n", (int)wc.status);
	return wc.status == IBV_WC_SUCCESS;
}

static void responder(const struct fault *fault, int socket)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	struct side side;
	struct words peer;
	char byte = 0;

	open_side(&side, fault->remote_access);
	exchange(socket, &side, &peer);
	connect_side(&side, &peer, fault->qp_access, fault->deaf);
	sge = (struct ibv_sge){.addr = (uintptr_t)side.mr->addr,
			       .length = (uint32_t)fault->receive_bytes,
			       .lkey = side.mr->lkey};
	if (fault->receive_bytes >= 0)
		need(ibv_post_recv(side.qp, &wr, &bad) == 0, "ibv_post_recv");
	need(write(socket, &byte, 1) == 1, "write");
	/* Until the other has seen what it did: it closes its end. */
	need(read(socket, &byte, 1) == 0, "read");
}

int main(int argc, char **argv)
{
	const struct fault *fault = NULL;
	int ends[2], result, status;
	pid_t child;

	for (size_t i = 0; argc >= 2 && i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(argv[1], faults[i].name) == 0)
			fault = &faults[i];
	need(fault, "no such fault");
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		close(ends[0]);
		responder(fault, ends[1]);
		return 0;
	}
	close(ends[1]);
	result = requester(fault, ends[0], argc == 4 ? argv + 2 : NULL);
	close(ends[0]);
	need(waitpid(child, &status, 0) == child && status == 0, "the child");
	return result;
}
