/* SPDX-License-Identifier: BSD-2-Clause */
/* link: ibverbs */
/*
 * agent.c - the program in the guest that does what a test says, through libibverbs.
 *
 *	agent <device>
 *	agent <device> <number>: does `spin` and ends
 *
 * Says READY on stderr, reads a command a line, `verb key=value ...`, and answers each with one
 * line, `ok ...` or `error ...`. Numbers are C's; a GID is 32 hexadecimal digits. There is one
 * memory (memory.h) at an address that the test chooses, and queue pairs with a completion queue
 * each.
 *
 *	hello                              ok agent
 *	gids                               ok <gid> ...: the port's, from index 0
 *	memory va= len=                    ok key= bare=: keys of all of it, with all rights
 *	                                   and with those of a local write only
 *	clear
 *	fill off= len= seed=
 *	fill64 off= value=
 *	expect off= len= seed=
 *	expect64 off= value=
 *	any off= len=
 *	verify                             ok same, or ok differs at=
 *	qp type=rc|uc|ud                   ok qp= qpn=: in INIT
 *	spin qpn=                          makes and destroys queue pairs until the next has
 *	                                   a number over that
 *	connect qp= dqpn= gid= gid_index= mtu= rq_psn= sq_psn=
 *	        timeout= retry= rnr_retry= rnr_timer=
 *	post qp= id= op=send|send_imm|write|write_imm|read|cas|faa
 *	     off= len= imm= addr= key= add= compare= swap= bare
 *	receive qp= id= off= len=
 *	wait qp= count= ms=                ok wc=<id>,<status>,<opcode>,<length>,<imm or -> ...:
 *	                                   what came; fewer than count after ms
 *	state qp=                          ok state=
 *	destroy qp=
 *	run <command>                      ok status=: the exit status of a shell command,
 *	                                   whose output goes to the console
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/interop/memory.h"

enum {
	QPS = 16,
	RING = 64,
	ARGS = 24,
	ACCESS_ALL = 0xf,
	SPIN_MAX = 100000,
	QKEY = 0x11111111,
};

static struct ibv_context *device;
static struct ibv_pd *pd;
static struct interop_memory memory;
static struct ibv_mr *region, *bare_region;
static struct agent_qp {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_ah *ah; /* UD: where its datagrams go, and the next */
	uint32_t dqpn;
} qps[QPS];

/* The command that is being done. */
static struct {
	char *words[ARGS];
	int count;
} args;

/* ---- lines ----------------------------------------------------------------------------------- */

static bool fail(const char *what, int error)
{
	printf("error %s: %s\n", what, strerror(error));
	return false;
}

static bool ok(void)
{
	printf("ok\n");
	return true;
}

/* The value of key=value, or NULL. */
static const char *text(const char *key)
{
	size_t len = strlen(key);

	for (int i = 1; i < args.count; i++)
		if (strncmp(args.words[i], key, len) == 0 && args.words[i][len] == '=')
			return args.words[i] + len + 1;
	return NULL;
}

static uint64_t number(const char *key)
{
	const char *value = text(key);

	return value ? strtoull(value, NULL, 0) : 0;
}

static bool parse_gid(const char *hex, union ibv_gid *gid)
{
	for (int i = 0; i < 16; i++)
		if (!hex || sscanf(hex + 2 * i, "%2hhx", &gid->raw[i]) != 1)
			return false;
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool print_keys(void)
{
	printf("ok key=0x%x bare=0x%x\n", region->rkey, bare_region->lkey);
	return true;
}

static bool do_memory(void)
{
	void *at = (void *)(uintptr_t)number("va"); /* NOLINT: the test names the address */

	if (memory.bytes)
		return print_keys();
	memory.len_bytes = number("len");
	memory.bytes = mmap(at, memory.len_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	memory.image = malloc(memory.len_bytes);
	if (memory.bytes == MAP_FAILED || !memory.image)
		return fail("mmap", errno);
	interop_memory_clear(&memory);
	region = ibv_reg_mr(pd, memory.bytes, memory.len_bytes, ACCESS_ALL);
	bare_region = ibv_reg_mr(pd, memory.bytes, memory.len_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!region || !bare_region)
		return fail("ibv_reg_mr", errno);
	return print_keys();
}

static bool do_clear(void)
{
	interop_memory_clear(&memory);
	return ok();
}

static bool do_fill(void)
{
	interop_memory_fill(&memory, number("off"), number("len"), (uint32_t)number("seed"));
	return ok();
}

static bool do_fill64(void)
{
	interop_memory_fill64(&memory, number("off"), number("value"));
	return ok();
}

static bool do_expect(void)
{
	interop_memory_expect(&memory, number("off"), number("len"), (uint32_t)number("seed"));
	return ok();
}

static bool do_expect64(void)
{
	interop_memory_expect64(&memory, number("off"), number("value"));
	return ok();
}

static bool do_any(void)
{
	interop_memory_any(&memory, number("off"), number("len"));
	return ok();
}

static bool do_verify(void)
{
	size_t at = interop_memory_differs(&memory);

	if (at == memory.len_bytes)
		printf("ok same\n");
	else
		printf("ok differs at=0x%zx: 0x%02x, not 0x%02x\n", at, memory.bytes[at],
		       memory.image[at]);
	return true;
}

/* ---- queue pairs ----------------------------------------------------------------------------- */

static enum ibv_qp_type named_type(void)
{
	const char *type = text("type");

	if (type && strcmp(type, "uc") == 0)
		return IBV_QPT_UC;
	return type && strcmp(type, "ud") == 0 ? IBV_QPT_UD : IBV_QPT_RC;
}

static bool qp_make(struct agent_qp *q)
{
	struct ibv_qp_init_attr attr = {
	    .qp_type = named_type(),
	    .cap = {
		.max_send_wr = RING, .max_recv_wr = RING, .max_send_sge = 1, .max_recv_sge = 1}};

	q->cq = ibv_create_cq(device, 2 * RING, NULL, NULL, 0);
	if (!q->cq)
		return false;
	attr.send_cq = attr.recv_cq = q->cq;
	q->qp = ibv_create_qp(pd, &attr);
	return q->qp != NULL;
}

static void qp_destroy(struct agent_qp *q)
{
	ibv_destroy_qp(q->qp);
	if (q->ah)
		ibv_destroy_ah(q->ah);
	ibv_destroy_cq(q->cq);
	memset(q, 0, sizeof(*q));
}

static bool do_qp(void)
{
	struct ibv_qp_attr attr = {
	    .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS_ALL, .qkey = QKEY};
	int rights = named_type() == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	int i = 0, error;

	while (i < QPS - 1 && qps[i].qp)
		i++;
	if (!qp_make(&qps[i]))
		return fail("ibv_create_qp", errno);
	error = ibv_modify_qp(qps[i].qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
	if (error)
		return fail("to INIT", error);
	printf("ok qp=%d qpn=0x%x\n", i, qps[i].qp->qp_num);
	return true;
}

/* Linux numbers queue pairs upwards, so the next one's number is over that of the last. */
static int spin(uint32_t qpn, uint32_t *last)
{
	struct ibv_qp_init_attr attr = {
	    .qp_type = IBV_QPT_RC,
	    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

	attr.send_cq = attr.recv_cq = ibv_create_cq(device, 1, NULL, NULL, 0);
	for (int i = 0; *last < qpn; i++) {
		struct ibv_qp *qp = i < SPIN_MAX ? ibv_create_qp(pd, &attr) : NULL;

		if (!qp)
			return i < SPIN_MAX ? errno : ERANGE;
		*last = qp->qp_num;
		ibv_destroy_qp(qp);
	}
	ibv_destroy_cq(attr.send_cq);
	return 0;
}

static bool do_spin(void)
{
	uint32_t last = 0;
	int error = spin((uint32_t)number("qpn"), &last);

	if (error)
		return fail("ibv_create_qp", error);
	printf("ok qpn=0x%x\n", last);
	return true;
}

static struct agent_qp *named_qp(void)
{
	return &qps[number("qp") % QPS];
}

/* enum ibv_mtu of bytes: 256 is 1, 4096 is 5. */
static enum ibv_mtu mtu_code(uint64_t bytes)
{
	return (enum ibv_mtu)(__builtin_ctzll(bytes | 1 << 20) - 7);
}

static bool connect_unacked(struct agent_qp *q, struct ibv_qp_attr *attr)
{
	bool ud = q->qp->qp_type == IBV_QPT_UD;
	int peer = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int error = ibv_modify_qp(q->qp, attr, IBV_QP_STATE | (ud ? 0 : peer));

	if (error)
		return fail("to RTR", error);
	q->dqpn = attr->dest_qp_num;
	if (ud) {
		q->ah = ibv_create_ah(pd, &attr->ah_attr);
		if (!q->ah)
			return fail("ibv_create_ah", errno);
	}
	*attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = (uint32_t)number("sq_psn")};
	error = ibv_modify_qp(q->qp, attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return error ? fail("to RTS", error) : ok();
}

static bool do_connect(void)
{
	struct ibv_qp_attr attr = {
	    .qp_state = IBV_QPS_RTR,
	    .dest_qp_num = (uint32_t)number("dqpn"),
	    .rq_psn = (uint32_t)number("rq_psn"),
	    .path_mtu = mtu_code(number("mtu")),
	    .max_dest_rd_atomic = 4,
	    .min_rnr_timer = (uint8_t)number("rnr_timer"),
	    .ah_attr = {.is_global = 1,
			.port_num = 1,
			.grh = {.hop_limit = 64, .sgid_index = (uint8_t)number("gid_index")}},
	};
	int error;

	if (!parse_gid(text("gid"), &attr.ah_attr.grh.dgid))
		return fail("gid", EINVAL);
	if (named_qp()->qp->qp_type != IBV_QPT_RC)
		return connect_unacked(named_qp(), &attr);
	error = ibv_modify_qp(named_qp()->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (error)
		return fail("to RTR", error);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .sq_psn = (uint32_t)number("sq_psn"),
				    .timeout = (uint8_t)number("timeout"),
				    .retry_cnt = (uint8_t)number("retry"),
				    .rnr_retry = (uint8_t)number("rnr_retry"),
				    .max_rd_atomic = 4};
	error = ibv_modify_qp(named_qp()->qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return error ? fail("to RTS", error) : ok();
}

static bool do_state(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int error = ibv_query_qp(named_qp()->qp, &attr, IBV_QP_STATE, &init);

	if (error)
		return fail("ibv_query_qp", error);
	printf("ok state=%d\n", attr.qp_state);
	return true;
}

static bool do_destroy(void)
{
	qp_destroy(named_qp());
	return ok();
}

/* ---- work ------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} ops[] = {
    {"send", IBV_WR_SEND},
    {"send_imm", IBV_WR_SEND_WITH_IMM},
    {"write", IBV_WR_RDMA_WRITE},
    {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
    {"read", IBV_WR_RDMA_READ},
    {"cas", IBV_WR_ATOMIC_CMP_AND_SWP},
    {"faa", IBV_WR_ATOMIC_FETCH_AND_ADD},
};

static bool named_opcode(enum ibv_wr_opcode *opcode)
{
	const char *name = text("op");

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!name || strcmp(name, ops[i].name) != 0)
			continue;
		*opcode = ops[i].opcode;
		return true;
	}
	return false;
}

static struct ibv_sge named_piece(void)
{
	return (struct ibv_sge){.addr = (uintptr_t)memory.bytes + number("off"),
				.length = (uint32_t)number("len"),
				.lkey = region->lkey};
}

static bool do_post(void)
{
	struct ibv_sge piece = named_piece();
	struct ibv_send_wr wr = {.wr_id = number("id"),
				 .sg_list = &piece,
				 .num_sge = piece.length != 0,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl((uint32_t)number("imm"))};
	struct ibv_send_wr *bad;
	int error;

	if (!named_opcode(&wr.opcode))
		return fail("op", EINVAL);
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		bool cas = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		wr.wr.atomic.remote_addr = number("addr");
		wr.wr.atomic.rkey = (uint32_t)number("key");
		wr.wr.atomic.compare_add = cas ? number("compare") : number("add");
		wr.wr.atomic.swap = number("swap");
	} else if (named_qp()->ah) {
		wr.wr.ud.ah = named_qp()->ah;
		wr.wr.ud.remote_qpn = named_qp()->dqpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else {
		wr.wr.rdma.remote_addr = number("addr");
		wr.wr.rdma.rkey = (uint32_t)number("key");
	}
	error = ibv_post_send(named_qp()->qp, &wr, &bad);
	return error ? fail("ibv_post_send", error) : ok();
}

static bool do_receive(void)
{
	struct ibv_sge piece = named_piece();
	struct ibv_recv_wr wr = {
	    .wr_id = number("id"), .sg_list = &piece, .num_sge = piece.length != 0};
	struct ibv_recv_wr *bad;
	int error = ibv_post_recv(named_qp()->qp, &wr, &bad);

	return error ? fail("ibv_post_recv", error) : ok();
}

static void print_completion(const struct ibv_wc *wc)
{
	char imm[16] = "-";

	if (wc->status == IBV_WC_SUCCESS && (wc->wc_flags & IBV_WC_WITH_IMM))
		snprintf(imm, sizeof(imm), "0x%x", ntohl(wc->imm_data));
	printf(" wc=%u,%d,%d,%u,%s", (unsigned int)wc->wr_id, wc->status, wc->opcode, wc->byte_len,
	       imm);
}

static bool do_wait(void)
{
	uint64_t deadline_ms = now_ms() + number("ms"), left = number("count");
	struct ibv_wc wc;

	printf("ok");
	do {
		int n = ibv_poll_cq(named_qp()->cq, 1, &wc);

		if (n > 0) {
			print_completion(&wc);
			left--;
		} else if (left != 0) {
			usleep(200);
		}
	} while (left != 0 && now_ms() < deadline_ms);
	printf("\n");
	return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool do_hello(void)
{
	printf("ok agent\n");
	return true;
}

static bool do_gids(void)
{
	union ibv_gid gid;

	printf("ok");
	for (int index = 0; ibv_query_gid(device, 1, index, &gid) == 0; index++) {
		printf(" ");
		for (int i = 0; i < 16; i++)
			printf("%02x", gid.raw[i]);
		if (index == 7)
			break;
	}
	printf("\n");
	return true;
}

static bool do_run(void)
{
	char command[1024] = "";
	size_t used = 0;
	int status;

	for (int i = 1; i < args.count; i++)
		used +=
		    (size_t)snprintf(command + used, sizeof(command) - used, "%s ", args.words[i]);
	snprintf(command + used, sizeof(command) - used, "</dev/null >/dev/console 2>&1");
	status = system(command); /* NOLINT: that is what it is for */
	printf("ok status=%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return true;
}

static const struct {
	const char *verb;
	bool (*act)(void);
} commands[] = {
    {"hello", do_hello},     {"gids", do_gids},   {"memory", do_memory},
    {"clear", do_clear},     {"fill", do_fill},   {"fill64", do_fill64},
    {"expect", do_expect},   {"any", do_any},     {"expect64", do_expect64},
    {"verify", do_verify},   {"qp", do_qp},       {"spin", do_spin},
    {"connect", do_connect}, {"post", do_post},   {"receive", do_receive},
    {"wait", do_wait},       {"state", do_state}, {"destroy", do_destroy},
    {"run", do_run},
};

static void obey(char *line)
{
	char *save = NULL;

	args.count = 0;
	for (char *word = strtok_r(line, " \r\n", &save); word && args.count < ARGS;
	     word = strtok_r(NULL, " \r\n", &save))
		args.words[args.count++] = word;
	if (args.count == 0)
		return;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(args.words[0], commands[i].verb) != 0)
			continue;
		commands[i].act();
		return;
	}
	printf("error no such command: %s\n", args.words[0]);
}

static bool open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			device = ibv_open_device(list[i]);
	if (device)
		pd = ibv_alloc_pd(device);
	return pd != NULL;
}

int main(int argc, char **argv)
{
	static char line[4096];
	uint32_t last = 0;

	if (argc < 2 || !open_device(argv[1])) {
		fprintf(stderr, "agent: no such device\n");
		return 1;
	}
	if (argc > 2 && nice(19) == 19)
		return spin((uint32_t)strtoul(argv[2], NULL, 0), &last);
	setvbuf(stdout, NULL, _IOFBF, 16384);
	fprintf(stderr, "READY\n"); /* what comes over the line before it is open gets lost */
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		fflush(stdout);
	}
	return 0;
}
