/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_ask.c - the asking half. */
#include "host/stats_ask.h"

#include "host/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A socket's queue may be as short as 10 datagrams [unix(7) max_dgram_qlen]: so many are asked at a
 * time. */
enum { GROUP = 8, LOOK_MS = 20, TRIES = 5 };

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.';
}

/* A line of the list of sockets ends in "@name", where the name is abstract. */
static void take_line(struct host_stats_names *names, const char *line, const char *prefix)
{
	const char *at = strrchr(line, '@');
	size_t len = 0;

	if (!at || strncmp(at + 1, prefix, strlen(prefix)) != 0)
		return;
	at++;
	while (is_name_char(at[len]))
		len++;
	if (at[len] != '\0' || len >= HOST_STATS_NAME_BYTES || names->count == HOST_STATS_NAMES_MAX)
		return;
	memcpy(names->names[names->count], at, len);
	names->names[names->count++][len] = '\0';
}

/* The lines of fd; what is longer than a name can be is cut. */
static void take_lines(struct host_stats_names *names, int fd, const char *prefix)
{
	char chunk[4096], line[256];
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (chunk[i] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = chunk[i] != '\0' ? chunk[i] : ' ';
				continue;
			}
			line[len] = '\0';
			take_line(names, line, prefix);
			len = 0;
		}
	}
}

int host_stats_find(struct host_stats_names *names, bool everybody)
{
	char prefix[HOST_STATS_NAME_BYTES] = STATS_SOCKET_PREFIX;
	int fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);

	names->count = 0;
	if (fd < 0)
		return -errno;
	if (!everybody || geteuid() != 0)
		snprintf(prefix, sizeof(prefix), STATS_SOCKET_PREFIX "%u.",
			 (unsigned int)geteuid());
	take_lines(names, fd, prefix);
	close(fd);
	return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

enum asked {
	ASK_DONE,    /* it has answered, or will not */
	ASK_TO_SEND, /* its queue is full */
	ASK_WAITING,
};

struct ask {
	int fd;
	uint32_t from;
	uint32_t serial; /* of the first of the group */
	void (*each)(void *ctx, const struct host_stats_answer *answer);
	void *ctx;
	struct host_stats_missed *missed;
	/* The group. */
	const char (*names)[HOST_STATS_NAME_BYTES];
	uint32_t count;
	uint8_t asked[GROUP]; /* enum asked */
	struct stats_reply reply;
};

static socklen_t address_of(struct sockaddr_un *addr, const char *name)
{
	size_t len = strlen(name);

	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(addr->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int socket_open(void)
{
	const int on = 1;
	/* No name is bound to a name that the kernel chooses [unix(7)]. */
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&own, sizeof(own.sun_family)) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static struct stats_request request_of(const struct ask *ask, uint32_t i)
{
	return (struct stats_request){.magic = STATS_MAGIC,
				      .version = STATS_VERSION,
				      .serial = ask->serial + i,
				      .from = ask->from};
}

static void send_to(struct ask *ask, uint32_t i)
{
	struct stats_request request = request_of(ask, i);
	struct sockaddr_un addr;
	socklen_t len = address_of(&addr, ask->names[i]);

	ask->asked[i] = ASK_WAITING;
	if (sendto(ask->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL,
		   (struct sockaddr *)&addr, len) == sizeof(request))
		return;
	ask->asked[i] = errno == EAGAIN || errno == ENOBUFS ? ASK_TO_SEND : ASK_DONE;
	if (errno == ECONNREFUSED)
		ask->missed->gone++;
	else if (ask->asked[i] == ASK_DONE)
		ask->missed->silent++;
}

static bool sender_of(struct msghdr *msg, struct ucred *cred)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_CREDENTIALS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(*cred)))
		return false;
	memcpy(cred, CMSG_DATA(cmsg), sizeof(*cred));
	return true;
}

/* One datagram; false: none has come. What is not an answer to this group is thrown away. */
static bool receive_one(struct ask *ask)
{
	struct iovec iov = {.iov_base = &ask->reply, .iov_len = sizeof(ask->reply)};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.buf,
			     .msg_controllen = sizeof(control.buf)};
	ssize_t got = recvmsg(ask->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	uint32_t i = got >= (ssize_t)stats_reply_bytes(0) ? ask->reply.serial - ask->serial : GROUP;
	struct host_stats_answer answer = {.reply = &ask->reply};
	struct stats_request request;
	struct ucred cred;

	if (got < 0)
		return false;
	if (i >= ask->count || ask->asked[i] != ASK_WAITING)
		return true;
	request = request_of(ask, i);
	ask->asked[i] = ASK_DONE;
	if (msg.msg_flags & MSG_TRUNC || !sender_of(&msg, &cred) ||
	    (cred.uid != geteuid() && geteuid() != 0) ||
	    !stats_reply_check(&ask->reply, (size_t)got, &request)) {
		ask->missed->refused++;
		return true;
	}
	answer.name = ask->names[i];
	answer.pid = (uint32_t)cred.pid;
	answer.uid = cred.uid;
	ask->each(ask->ctx, &answer);
	return true;
}

/* Whether nobody has that name any more. */
static bool is_gone(const char *name)
{
	struct sockaddr_un addr;
	socklen_t len = address_of(&addr, name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool gone =
	    fd >= 0 && connect(fd, (struct sockaddr *)&addr, len) < 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return gone;
}

static uint32_t count_waiting(struct ask *ask, bool look)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ask->count; i++) {
		if (look && ask->asked[i] != ASK_DONE && is_gone(ask->names[i])) {
			ask->asked[i] = ASK_DONE;
			ask->missed->gone++;
		}
		count += ask->asked[i] != ASK_DONE;
	}
	return count;
}

/* until_ns: when the next group has its turn. */
static void ask_group(struct ask *ask, uint64_t until_ns)
{
	struct pollfd pollfd = {.fd = ask->fd, .events = POLLIN};

	memset(ask->asked, ASK_TO_SEND, sizeof(ask->asked));
	for (;;) {
		for (uint32_t i = 0; i < ask->count; i++)
			if (ask->asked[i] == ASK_TO_SEND)
				send_to(ask, i);
		if (count_waiting(ask, false) == 0 || host_now_ns() >= until_ns)
			break;
		if (poll(&pollfd, 1, LOOK_MS) > 0)
			/* Anybody can send here, without end. */
			while (host_now_ns() < until_ns && receive_one(ask))
				;
		else
			count_waiting(ask, true);
	}
	ask->missed->silent += count_waiting(ask, false);
	ask->serial += ask->count;
}

int host_stats_ask(const char (*names)[HOST_STATS_NAME_BYTES], uint32_t count, uint32_t from,
		   int timeout_ms, void (*each)(void *ctx, const struct host_stats_answer *answer),
		   void *ctx, struct host_stats_missed *missed)
{
	struct ask ask = {
	    .fd = socket_open(), .from = from, .each = each, .ctx = ctx, .missed = missed};
	uint64_t end_ns = host_now_ns() + (uint64_t)timeout_ms * 1000000u;

	*missed = (struct host_stats_missed){0};
	if (ask.fd < 0)
		return ask.fd;
	if (getrandom(&ask.serial, sizeof(ask.serial), 0) != sizeof(ask.serial))
		ask.serial = (uint32_t)host_now_ns();
	/* Each group has its part of what time is left: one that is silent takes none of the
	 * others'. */
	for (uint32_t at = 0; at < count; at += GROUP) {
		uint64_t now_ns = host_now_ns();
		uint64_t left_ns = now_ns < end_ns ? end_ns - now_ns : 0;
		uint32_t groups = (count - at + GROUP - 1) / GROUP;

		ask.names = names + at;
		ask.count = count - at < GROUP ? count - at : GROUP;
		ask_group(&ask, now_ns + left_ns / groups);
	}
	close(ask.fd);
	return 0;
}

/* ---- adding up ------------------------------------------------------------------------------- */

struct sum {
	const uint8_t *gid;
	uint64_t *total;
	uint32_t answers;
	uint32_t left_count;
	bool torn; /* a process left in between: it may be in there twice, or not at all */
};

static void add(void *ctx, const struct host_stats_answer *answer)
{
	struct sum *sum = (struct sum *)ctx;
	const struct stats_reply *reply = answer->reply;

	if (answer->uid != geteuid() || memcmp(reply->gid, sum->gid, sizeof(reply->gid)) != 0)
		return;
	if (sum->answers++ == 0) {
		sum->left_count = reply->left_count;
		memcpy(sum->total, reply->left, sizeof(reply->left));
	}
	sum->torn |= reply->left_count != sum->left_count;
	for (unsigned int i = 0; i < STATS_COUNT; i++)
		sum->total[i] += reply->counters[i];
}

int host_stats_total(const uint8_t gid[static 16], int timeout_ms,
		     uint64_t total[static STATS_COUNT])
{
	struct host_stats_names names;
	bool torn = true;
	int result = 0;

	for (int i = 0; i < TRIES && torn && result == 0; i++) {
		struct sum sum = {.gid = gid, .total = total};
		struct host_stats_missed missed;

		memset(total, 0, STATS_COUNT * sizeof(*total));
		result = host_stats_find(&names, false);
		if (result == 0)
			result = host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names.names,
						names.count, 0, timeout_ms, add, &sum, &missed);
		torn = sum.torn || (result == 0 && missed.gone != 0);
	}
	return result;
}
