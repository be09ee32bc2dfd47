/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs */
/*
 * life.c - a program on libibverbs that ends, forks or closes what it should not, for life.sh.
 *
 * Writes 4 KiB to itself through the first device, does what its argument says, and where it lives
 * on, writes once more. Exit status 0: all went as it should. What is called late opens nothing
 * before.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192, HALF = 4096 };

struct objects {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned char *buf;
};

static void need(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(3);
}

static void device_open(struct objects *o)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	need(list && list[0], "no device");
	o->context = ibv_open_device(list[0]);
	need(o->context, "ibv_open_device");
	ibv_free_device_list(list);
}

static void qp_connect(struct objects *o)
{
	struct ibv_qp_attr init = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
				  .path_mtu = IBV_MTU_1024,
				  .dest_qp_num = o->qp->qp_num,
				  .max_dest_rd_atomic = 1,
				  .min_rnr_timer = 12,
				  .ah_attr = {.is_global = 1, .port_num = 1}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7,
				  .max_rd_atomic = 1};

	need(!ibv_query_gid(o->context, 1, 0, &rtr.ah_attr.grh.dgid), "ibv_query_gid");
	rtr.ah_attr.grh.hop_limit = 1;
	need(!ibv_modify_qp(o->qp, &init,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "to INIT");
	need(!ibv_modify_qp(o->qp, &rtr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "to RTR");
	need(!ibv_modify_qp(o->qp, &rts,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "to RTS");
}

static void make(struct objects *o)
{
	struct ibv_qp_init_attr attr = {
	    .cap = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1},
	    .qp_type = IBV_QPT_RC};

	device_open(o);
	o->pd = ibv_alloc_pd(o->context);
	o->buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(o->pd && o->buf != MAP_FAILED, "memory");
	o->mr = ibv_reg_mr(o->pd, o->buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	o->channel = ibv_create_comp_channel(o->context);
	need(o->mr && o->channel, "ibv_reg_mr or ibv_create_comp_channel");
	o->cq = ibv_create_cq(o->context, 64, NULL, o->channel, 0);
	need(o->cq, "ibv_create_cq");
	attr.send_cq = attr.recv_cq = o->cq;
	o->qp = ibv_create_qp(o->pd, &attr);
	need(o->qp, "ibv_create_qp");
	qp_connect(o);
}

/* 4 KiB of the buffer to its other half; whether they arrived. */
static bool write_once(struct objects *o)
{
	static unsigned char value;
	struct ibv_sge piece = {.addr = (uintptr_t)o->buf, .length = HALF, .lkey = o->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &piece,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
	int got = 0;

	wr.wr.rdma.remote_addr = (uintptr_t)o->buf + HALF;
	wr.wr.rdma.rkey = o->mr->rkey;
	memset(o->buf, ++value, HALF);
	need(!ibv_post_send(o->qp, &wr, &bad), "ibv_post_send");
	while (got == 0)
		got = ibv_poll_cq(o->cq, 1, &wc);
	return got == 1 && wc.status == IBV_WC_SUCCESS && o->buf[BYTES - 1] == value;
}

/* The child's status, and whether the parent still works. */
static int await_child(pid_t child, struct objects *o)
{
	int status = -1;

	need(child > 0 && waitpid(child, &status, 0) == child, "the child");
	if (status != 0)
		fprintf(stderr, "the child ended with status %#x\n", status);
	return status == 0 && write_once(o) ? 0 : 4;
}

/* All of its parent's objects are no one's; its own work. */
static int fork_and_open(struct objects *o)
{
	pid_t child = fork();

	if (child == 0) {
		struct objects own;
		bool refused = ibv_destroy_qp(o->qp) != 0;

		ibv_close_device(o->context);
		make(&own);
		_exit(refused && write_once(&own) ? 0 : 5);
	}
	return await_child(child, o);
}

static int fork_and_exit(struct objects *o)
{
	pid_t child = fork();

	if (child == 0)
		exit(0);
	return await_child(child, o);
}

/* As who starts programs in a hurry: the child shares our memory and closes all descriptors. */
static int vfork_and_close(struct objects *o)
{
	pid_t child = vfork();

	if (child == 0) {
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		execl("/bin/true", "true", NULL);
		_exit(6);
	}
	return await_child(child, o);
}

static int close_each(struct objects *o)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	make(o);
	return !write_once(o);
}

static int close_at_once(struct objects *o)
{
	closefrom(3);
	make(o);
	return !write_once(o);
}

/* A thread that polls does not know that another one closed the file. */
static int poll_after_close(struct objects *o)
{
	struct ibv_wc wc;

	close(o->context->cmd_fd);
	for (int i = 0; i < 1000; i++)
		if (ibv_poll_cq(o->cq, 1, &wc) != 0)
			return 7;
	make(o);
	return !write_once(o);
}

/* The file lives as long as one descriptor of it does. */
static int duplicate(struct objects *o)
{
	int copy = dup(o->context->cmd_fd);

	close(o->context->cmd_fd);
	o->context->cmd_fd = copy;
	if (!write_once(o) || ibv_destroy_qp(o->qp) || ibv_destroy_cq(o->cq))
		return 8;
	need(dup2(0, copy) == copy, "dup2");
	return ibv_dealloc_pd(o->pd) == 0 ? 9 : 0; /* it is no verbs file any more */
}

/* Of two descriptors of a channel one may go. */
static int channel_duplicate(struct objects *o)
{
	int copy = dup(o->channel->fd);
	struct ibv_cq *cq;
	void *context;

	close(o->channel->fd);
	o->channel->fd = copy;
	need(!ibv_req_notify_cq(o->cq, 0), "ibv_req_notify_cq");
	if (!write_once(o) || ibv_get_cq_event(o->channel, &cq, &context) || cq != o->cq)
		return 10;
	ibv_ack_cq_events(cq, 1);
	return 0;
}

/* The rings' memory goes while the queue pair lives: as a program that ends in the wrong order. */
static int free_memory(struct objects *o)
{
	munmap(o->buf, BYTES);
	return ibv_destroy_qp(o->qp) ? 11 : 0;
}

static int end_exit(struct objects *o)
{
	(void)o;
	exit(0);
}

static int end_at_once(struct objects *o)
{
	(void)o;
	_exit(0);
}

static int end_abort(struct objects *o)
{
	(void)o;
	abort();
}

/* Until it is killed. */
static int stay(struct objects *o)
{
	(void)o;
	puts("ready");
	fflush(stdout);
	sleep(60);
	return 12;
}

/* Another user's rights, as a server gives its own away. */
static int nobody(struct objects *o)
{
	enum { NOBODY = 65534 };

	need(!setgid(NOBODY) && !setuid(NOBODY), "setuid");
	if (o->qp && !write_once(o))
		return 14;
	make(o);
	return !write_once(o);
}

static void *work(void *arg)
{
	struct objects *o = arg;

	usleep(100000); /* until the main thread has ended */
	if (!o->qp)
		make(o);
	if (!write_once(o))
		exit(15);
	return NULL;
}

/* The process ends with its last thread. */
static int main_ends(struct objects *o)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, work, o) == 0, "pthread_create");
	pthread_exit(NULL);
}

static void *open_and_work(void *arg)
{
	struct objects *o = arg;

	make(o);
	return write_once(o) ? o : NULL;
}

/* A thread with little stack opens the device. */
static int little_stack(struct objects *o)
{
	enum { STACK_BYTES = 64 << 10 };
	void *result = NULL;
	pthread_attr_t attr;
	pthread_t thread;

	need(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 &&
		 pthread_create(&thread, &attr, open_and_work, o) == 0,
	     "a thread");
	pthread_join(thread, &result);
	return result ? 0 : 16;
}

/* In the background, without a descriptor of its parents; says how it went in a file. */
static int daemon_late(struct objects *o)
{
	pid_t child = fork();
	int file;

	need(child >= 0, "fork");
	if (child != 0)
		return 0;
	setsid();
	closefrom(0);
	sleep(1); /* the program that was started has long ended */
	file = open("daemon", O_CREAT | O_WRONLY, 0600);
	make(o);
	if (write_once(o))
		dprintf(file, "good\n");
	return 0;
}

static int return_at_once(struct objects *o)
{
	(void)o;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct objects *o);
} modes[] = {
    {"return", return_at_once},
    {"exit", end_exit},
    {"_exit", end_at_once},
    {"abort", end_abort},
    {"stay", stay},
    {"free", free_memory},
    {"fork", fork_and_open},
    {"fork_exit", fork_and_exit},
    {"vfork", vfork_and_close},
    {"close_each", close_each},
    {"close_at_once", close_at_once},
    {"poll_after_close", poll_after_close},
    {"dup", duplicate},
    {"channel_dup", channel_duplicate},
    {"nobody", nobody},
    {"nobody_late", nobody},
    {"main_ends", main_ends},
    {"main_ends_late", main_ends},
    {"little_stack_late", little_stack},
    {"daemon_late", daemon_late},
};

int main(int argc, char **argv)
{
	static struct objects o; /* of a thread, too, that goes on without main */

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc < 2 || strcmp(argv[1], modes[i].name) != 0)
			continue;
		if (!strstr(argv[1], "_late")) {
			make(&o);
			need(write_once(&o), "the first write");
		}
		return modes[i].run(&o);
	}
	return 2;
}
