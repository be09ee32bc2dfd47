/* SPDX-License-Identifier: BSD-2-Clause */
/* agent_side.c - see agent_side.h. Commands without a result are sent ahead and their answers read
 * before the next that has one: a serial line's round trip takes milliseconds. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/interop/agent_side.h"

enum { ANSWER_MS = 20000, AHEAD_MAX = 24, LINE_BYTES = 4096 };

static struct agent {
	int fd;
	struct pump pump;
	unsigned int ahead; /* commands whose answers were not read yet */
	char qp[16];        /* the agent's number of the queue pair */
	int gid_index[SIDE_GIDS];
	char in[LINE_BYTES];
	size_t in_bytes;
	char line[LINE_BYTES];
} agent;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool take_line(void)
{
	char *end = memchr(agent.in, '\n', agent.in_bytes);
	size_t len;

	if (!end)
		return false;
	len = (size_t)(end - agent.in);
	memcpy(agent.line, agent.in, len);
	agent.line[len] = '\0';
	agent.in_bytes -= len + 1;
	memmove(agent.in, end + 1, agent.in_bytes);
	return true;
}

/* The next line, in agent.line. */
static void read_line(unsigned int timeout_ms)
{
	uint64_t deadline_ms = now_ms() + timeout_ms;

	while (!take_line()) {
		uint64_t now = now_ms();
		ssize_t n;

		if (now >= deadline_ms)
			fail_msg("the guest does not answer");
		if (agent.in_bytes == sizeof(agent.in))
			fail_msg("the guest sends a line that is too long");
		agent.pump.until(agent.pump.ctx, agent.fd, (unsigned int)(deadline_ms - now));
		n = recv(agent.fd, agent.in + agent.in_bytes, sizeof(agent.in) - agent.in_bytes,
			 MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			fail_msg("the guest is gone");
		if (n > 0)
			agent.in_bytes += (size_t)n;
	}
}

/* The next answer, which must be a good one. */
static void hear(unsigned int timeout_ms)
{
	read_line(timeout_ms);
	if (strncmp(agent.line, "ok", 2) != 0)
		fail_msg("the guest says: %s", agent.line);
}

static void hear_ahead(void)
{
	while (agent.ahead > 0) {
		agent.ahead--;
		hear(ANSWER_MS);
	}
}

static void say(const char *format, va_list ap)
{
	char line[512];
	int len = vsnprintf(line, sizeof(line) - 1, format, ap);

	assert_in_range(len, 1, sizeof(line) - 2);
	line[len++] = '\n';
	if (send(agent.fd, line, (size_t)len, MSG_NOSIGNAL) != len)
		fail_msg("the guest is gone");
}

/* A command that has no result. */
__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	if (++agent.ahead == AHEAD_MAX)
		hear_ahead();
}

void agent_begin(struct side *side, const char *format, ...)
{
	va_list ap;

	(void)side;
	hear_ahead();
	va_start(ap, format);
	say(format, ap);
	va_end(ap);
}

const char *agent_end(struct side *side, unsigned int timeout_ms)
{
	(void)side;
	hear(timeout_ms);
	return agent.line[2] == ' ' ? agent.line + 3 : "";
}

const char *agent_ask(struct side *side, unsigned int timeout_ms, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	hear_ahead();
	return agent_end(side, timeout_ms);
}

int agent_gid_index(const struct side *side, enum side_family family)
{
	(void)side;
	return agent.gid_index[family];
}

/* ---- the side -------------------------------------------------------------------------------- */

static void make(struct side *side)
{
	static const char *const types[] = {"rc", "uc", "ud"};
	const char *answer = agent_ask(side, ANSWER_MS, "qp type=%s", types[side->service]);

	if (sscanf(answer, "qp=%15s qpn=%x", agent.qp, &side->qpn) != 2)
		fail_msg("the guest says: %s", answer);
}

static void destroy(struct side *side)
{
	(void)side;
	tell("destroy qp=%s", agent.qp);
}

static void settle(struct side *side)
{
	(void)side;
	hear_ahead();
}

/* However many answers are still to come: the one to hello is the last. */
static void greet(void)
{
	tell("hello");
	do
		read_line(ANSWER_MS);
	while (strcmp(agent.line, "ok agent") != 0);
	agent.ahead = 0;
}

static void abandon(struct side *side)
{
	(void)side;
	agent.ahead = 0;
	tell("destroy qp=%s", agent.qp);
	greet();
}

static void connect_to(struct side *side, const struct side_link *link)
{
	char gid[33];

	for (int i = 0; i < 16; i++)
		snprintf(gid + 2 * i, 3, "%02x", link->dgid[i]);
	agent_ask(side, ANSWER_MS,
		  "connect qp=%s dqpn=0x%x gid=%s gid_index=%d mtu=%u rq_psn=0x%x sq_psn=0x%x "
		  "timeout=%u retry=%u rnr_retry=%u rnr_timer=%u",
		  agent.qp, link->dqpn, gid, agent.gid_index[link->family], link->mtu_bytes,
		  link->rq_psn, link->sq_psn, link->timeout, link->retry, link->rnr_retry,
		  link->rnr_timer);
}

static void post(struct side *side, const struct side_work *work)
{
	static const char *const names[] = {"send", "send_imm", "write", "write_imm",
					    "read", "cas",      "faa"};
	char rest[96] = "";

	(void)side;
	if (work->op == SIDE_CAS)
		snprintf(rest, sizeof(rest), " compare=0x%llx swap=0x%llx",
			 (unsigned long long)work->compare, (unsigned long long)work->swap_add);
	else if (work->op == SIDE_FAA)
		snprintf(rest, sizeof(rest), " add=0x%llx", (unsigned long long)work->swap_add);
	tell("post qp=%s id=%u op=%s off=%u len=%u imm=0x%x addr=0x%llx key=0x%x%s", agent.qp,
	     work->id, names[work->op], work->off, work->len_bytes, work->imm,
	     (unsigned long long)work->addr, work->key, rest);
}

static void receive(struct side *side, uint32_t id, uint32_t off, uint32_t len_bytes)
{
	(void)side;
	tell("receive qp=%s id=%u off=%u len=%u", agent.qp, id, off, len_bytes);
}

/* enum ibv_wc_status [verbs.h]. */
static enum rig_status status_of(int status)
{
	static const enum rig_status map[] = {
	    RIG_OK,
	    RIG_LOCAL_LENGTH,
	    RIG_LOCAL_QP_OPERATION,
	    RIG_UNEXPECTED,
	    RIG_LOCAL_PROTECTION,
	    RIG_FLUSHED,
	    RIG_MW_BIND,
	    RIG_BAD_RESPONSE,
	    RIG_LOCAL_ACCESS,
	    RIG_REMOTE_INVALID_REQUEST,
	    RIG_REMOTE_ACCESS,
	    RIG_REMOTE_OPERATION,
	    RIG_RETRY_EXCEEDED,
	    RIG_RNR_EXCEEDED,
	};

	if (status < 0 || status >= (int)(sizeof(map) / sizeof(map[0])))
		return RIG_UNEXPECTED;
	return map[status];
}

/* One " wc=..." of an answer; the rest of it. */
static const char *parse_wc(const char *at, struct side_wc *wc)
{
	int status, opcode, used = 0;
	char imm[16];

	if (sscanf(at, " wc=%u,%d,%d,%u,%15[^ ]%n", &wc->id, &status, &opcode, &wc->len_bytes, imm,
		   &used) != 5)
		return NULL;
	wc->status = status_of(status);
	wc->receive = wc->id >= 1000; /* a failed completion has no opcode in Linux */
	wc->has_imm = imm[0] != '-';
	wc->imm = wc->has_imm ? (uint32_t)strtoul(imm, NULL, 0) : 0;
	if (status != 0 || !wc->receive)
		wc->len_bytes = 0;
	return at + used;
}

static int wait(struct side *side, struct side_wc *wc, int count, unsigned int timeout_ms)
{
	const char *at = agent_ask(side, timeout_ms + ANSWER_MS, "wait qp=%s count=%d ms=%u",
				   agent.qp, count, timeout_ms);
	int n = 0;

	while (n < count && *at != '\0') {
		at = parse_wc(at, &wc[n++]);
		if (!at)
			fail_msg("the guest says: %s", agent.line);
	}
	return n;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void clear(struct side *side)
{
	(void)side;
	tell("clear");
}

static void fill(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed)
{
	(void)side;
	tell("fill off=%u len=%u seed=%u", off, len_bytes, seed);
}

static void fill64(struct side *side, uint32_t off, uint64_t value)
{
	(void)side;
	tell("fill64 off=%u value=0x%llx", off, (unsigned long long)value);
}

static void expect(struct side *side, uint32_t off, uint32_t len_bytes, uint32_t seed)
{
	(void)side;
	tell("expect off=%u len=%u seed=%u", off, len_bytes, seed);
}

static void expect64(struct side *side, uint32_t off, uint64_t value)
{
	(void)side;
	tell("expect64 off=%u value=0x%llx", off, (unsigned long long)value);
}

static void any_bytes(struct side *side, uint32_t off, uint32_t len_bytes)
{
	(void)side;
	tell("any off=%u len=%u", off, len_bytes);
}

static bool verify(struct side *side, char *text, size_t size)
{
	const char *answer = agent_ask(side, ANSWER_MS, "verify");

	snprintf(text, size, "%s", answer);
	return strcmp(answer, "same") == 0;
}

static const struct side_ops ops = {
    .make = make,
    .connect = connect_to,
    .post = post,
    .receive = receive,
    .wait = wait,
    .destroy = destroy,
    .settle = settle,
    .abandon = abandon,
    .clear = clear,
    .fill = fill,
    .fill64 = fill64,
    .expect = expect,
    .expect64 = expect64,
    .any = any_bytes,
    .verify = verify,
};

/* ---- life ------------------------------------------------------------------------------------ */

/* The port's IPv4 GID, and its global IPv6 one: the index of each in the guest's table. */
static void find_gids(struct side *side)
{
	const char *at = agent_ask(side, ANSWER_MS, "gids");
	char hex[33];
	int used;

	agent.gid_index[SIDE_IPV4] = agent.gid_index[SIDE_IPV6] = -1;
	for (int index = 0; sscanf(at, "%32s%n", hex, &used) == 1; index++, at += used) {
		uint8_t gid[16];
		int family = strncmp(hex, "fd", 2) == 0 ? SIDE_IPV6 : SIDE_IPV4;

		for (int i = 0; i < 16; i++)
			sscanf(hex + 2 * i, "%2hhx", &gid[i]);
		if (family == SIDE_IPV4 && strncmp(hex, "00000000000000000000ffff", 24) != 0)
			continue;
		agent.gid_index[family] = index;
		memcpy(side->gids[family], gid, 16);
	}
	if (agent.gid_index[SIDE_IPV4] < 0 || agent.gid_index[SIDE_IPV6] < 0)
		fail_msg("the guest's port lacks a GID: %s", agent.line);
}

void agent_open(struct side *side, const char *path, uint64_t va, struct pump pump)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	agent = (struct agent){.pump = pump};
	*side = (struct side){.name = "Linux", .va = va, .psn = SIDE_PSN_ANY, .ops = &ops};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	agent.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (agent.fd < 0 || connect(agent.fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		fail_msg("%s: %s", path, strerror(errno));
	greet();
	if (sscanf(agent_ask(side, ANSWER_MS, "memory va=0x%llx len=%d", (unsigned long long)va,
			     SIDE_MEMORY_BYTES),
		   "key=%x bare=%x", &side->key, &side->bare_key) != 2)
		fail_msg("the guest says: %s", agent.line);
	find_gids(side);
}

void agent_close(struct side *side)
{
	(void)side;
	close(agent.fd);
}
