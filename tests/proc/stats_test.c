/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows: what a process's NIC has counted can be asked by this user's processes and by root, and by
 * nobody else; whoever asks, or answers, with nonsense does no harm; what processes counted that
 * have left stays with the port.
 * How: this process has NICs, children write with theirs; sockets of our own between them.
 */
#include "abi/stats.h"
#include "host/stats_ask.h"
#include "tests/support/soft_pair.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000, IMPATIENCE_MS = 300, NOBODY = 65534 };

/* ---- asking ---------------------------------------------------------------------------------- */

struct seen {
	uint32_t answers;
	uint32_t pid;
	uint32_t qps;
	uint64_t tx_packets;
	char name[HOST_STATS_NAME_BYTES];
	struct stats_reply last;
};

/* Answers of the port of soft.nic only: others' tests may run beside. */
static void see(void *ctx, const struct host_stats_answer *answer)
{
	struct seen *seen = ctx;

	if (memcmp(answer->reply->gid, soft.info.address.gid, 16) != 0)
		return;
	seen->answers++;
	seen->pid = answer->pid;
	seen->last = *answer->reply;
	snprintf(seen->name, sizeof(seen->name), "%s", answer->name);
	for (uint32_t i = 0; i < answer->reply->flow_count; i++) {
		seen->qps += answer->reply->flows[i].qpn != 0;
		if (answer->reply->flows[i].qpn != 0)
			seen->tx_packets += answer->reply->flows[i].qp.tx_packets;
	}
}

static struct host_stats_missed ask(struct seen *seen, int timeout_ms)
{
	static struct host_stats_names names;
	struct host_stats_missed missed;

	*seen = (struct seen){0};
	assert_int_equal(host_stats_find(&names, false), 0);
	assert_int_equal(host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names.names,
					names.count, 0, timeout_ms, see, seen, &missed),
			 0);
	return missed;
}

static struct host_stats_missed ask_name(const char *name, int timeout_ms, struct seen *seen)
{
	char names[1][HOST_STATS_NAME_BYTES];
	struct host_stats_missed missed;

	*seen = (struct seen){0};
	snprintf(names[0], sizeof(names[0]), "%s", name);
	assert_int_equal(host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names, 1, 0,
					timeout_ms, see, seen, &missed),
			 0);
	return missed;
}

static void write_some(int count)
{
	for (int i = 0; i < count; i++) {
		struct rig_entry entry = soft_entry(&soft.a, RIG_WRITE, 0, 64, 0);

		soft_post(&soft.a, &entry);
		soft_done(&soft.a);
	}
}

static void test_an_answer(void **state)
{
	struct seen seen;
	uint64_t total[STATS_COUNT];

	(void)state;
	soft_pair();
	write_some(10);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	assert_int_equal(seen.pid, getpid());
	assert_int_equal(seen.qps, 2);
	assert_string_equal(seen.last.nic, "soft0");
	assert_int_equal(seen.last.counters[STATS_rx_write_requests], 10);
	/* Each packet is one queue pair's. */
	assert_int_equal(seen.tx_packets, seen.last.counters[STATS_port_xmit_packets]);
	assert_int_equal(host_stats_total(soft.info.address.gid, PATIENCE_MS, total), 0);
	assert_int_equal(total[STATS_rx_write_requests], 10);
	write_some(5);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.last.counters[STATS_rx_write_requests], 15);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int go; /* a byte lets it end */
};

/* A process of its own on the same port that has made ten writes and waits. */
static struct child child_start(bool closes)
{
	int go[2], done[2];
	struct child child;
	char byte;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(done), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		alarm(60);
		close(go[1]);
		if (rig_open("soft0", &soft.nic) || rig_nic_info(soft.nic, &soft.info))
			_exit(1);
		soft_pair();
		write_some(10);
		if (write(done[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(2);
		if (!closes)
			exit(0);
		rig_close(soft.nic);
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	assert_int_equal(read(done[0], &byte, 1), 1);
	close(done[0]);
	child.go = go[1];
	return child;
}

static void child_end(struct child *child)
{
	int status;

	assert_int_equal(write(child->go, "", 1), 1);
	close(child->go);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

static void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	close(child->go);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

/* The port's sum goes on when a process closes its NIC, or only ends. */
static void leaving(bool closes)
{
	uint64_t total[STATS_COUNT];
	struct child child[2];
	struct seen seen;

	child[0] = child_start(closes);
	child[1] = child_start(true);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 3);
	assert_int_equal(seen.last.left_count, 0);
	assert_int_equal(host_stats_total(soft.info.address.gid, PATIENCE_MS, total), 0);
	assert_int_equal(total[STATS_rx_write_requests], 20);
	child_end(&child[0]);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 2);
	assert_int_equal(seen.last.left_count, 1);
	assert_int_equal(seen.last.left[STATS_rx_write_requests], 10);
	assert_int_equal(host_stats_total(soft.info.address.gid, PATIENCE_MS, total), 0);
	assert_int_equal(total[STATS_rx_write_requests], 20);
	/* What one had counted that is killed goes with it. */
	child_kill(&child[1]);
	assert_int_equal(host_stats_total(soft.info.address.gid, PATIENCE_MS, total), 0);
	assert_int_equal(total[STATS_rx_write_requests], 10);
}

static void test_leaving(void **state)
{
	(void)state;
	leaving(true);
}

static void test_ending(void **state)
{
	(void)state;
	leaving(false);
}

/* One that ends or is stopped costs who asks no more than its patience. */
static void test_who_does_not_answer(void **state)
{
	struct child child = child_start(true);
	struct host_stats_missed missed;
	struct seen seen;
	char name[HOST_STATS_NAME_BYTES];
	int status;

	(void)state;
	do
		ask(&seen, PATIENCE_MS);
	while (seen.pid != (uint32_t)child.pid);
	memcpy(name, seen.name, sizeof(name));
	kill(child.pid, SIGSTOP);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	missed = ask_name(name, IMPATIENCE_MS, &seen);
	assert_int_equal(missed.silent, 1);
	assert_int_equal(seen.answers, 0);
	kill(child.pid, SIGCONT);
	missed = ask_name(name, PATIENCE_MS, &seen);
	assert_int_equal(missed.silent + missed.gone + missed.refused, 0);
	assert_int_equal(seen.answers, 1);
	/* It is killed while it is asked. */
	kill(child.pid, SIGSTOP);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	if (fork() == 0) {
		usleep(100000);
		kill(child.pid, SIGKILL);
		_exit(0);
	}
	missed = ask_name(name, PATIENCE_MS, &seen);
	assert_int_equal(missed.gone, 1);
	close(child.go);
	while (wait(NULL) > 0)
		;
}

/* Whose queue is full is asked again, as long as there is time. */
static void test_a_full_queue(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct child child = child_start(true);
	struct host_stats_missed missed;
	char name[HOST_STATS_NAME_BYTES];
	struct seen seen;
	socklen_t len;
	int status, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	(void)state;
	do
		ask(&seen, PATIENCE_MS);
	while (seen.pid != (uint32_t)child.pid);
	memcpy(name, seen.name, sizeof(name));
	memcpy(addr.sun_path + 1, name, strlen(name));
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	kill(child.pid, SIGSTOP);
	assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
	while (sendto(fd, "", 1, 0, (struct sockaddr *)&addr, len) == 1)
		;
	assert_int_equal(errno, EAGAIN);
	if (fork() == 0) {
		usleep(100000);
		kill(child.pid, SIGCONT);
		_exit(0);
	}
	missed = ask_name(name, PATIENCE_MS, &seen);
	assert_int_equal(missed.silent + missed.gone + missed.refused, 0);
	assert_int_equal(seen.answers, 1);
	close(fd);
	child_kill(&child);
	while (wait(NULL) > 0)
		;
}

/* A socket that takes questions and answers none. */
static int silent_open(char name[static HOST_STATS_NAME_BYTES], unsigned int i)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	int len =
	    snprintf(name, HOST_STATS_NAME_BYTES, STATS_SOCKET_PREFIX "%u.%016llx",
		     (unsigned int)geteuid(), (unsigned long long)getpid() << 32 | 0xf0000000u | i);

	memcpy(addr.sun_path + 1, name, (size_t)len);
	len += (int)offsetof(struct sockaddr_un, sun_path) + 1;
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, (socklen_t)len), 0);
	return fd;
}

/* However many are silent, who does answer is heard. */
static void test_who_is_behind_the_silent(void **state)
{
	enum { SILENT = 20 };
	static char names[SILENT + 1][HOST_STATS_NAME_BYTES];
	struct host_stats_missed missed;
	int fds[SILENT];
	struct seen seen;

	(void)state;
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	memcpy(names[SILENT], seen.name, sizeof(seen.name));
	for (unsigned int i = 0; i < SILENT; i++)
		fds[i] = silent_open(names[i], i);
	seen = (struct seen){0};
	assert_int_equal(host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names, SILENT + 1, 0,
					1000, see, &seen, &missed),
			 0);
	assert_int_equal(missed.silent, SILENT);
	assert_int_equal(seen.answers, 1);
	for (unsigned int i = 0; i < SILENT; i++)
		close(fds[i]);
}

/* A child of fork has no part in its parent's socket. */
static void test_fork(void **state)
{
	struct seen seen;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		ask(&seen, PATIENCE_MS);
		_exit(seen.answers == 1 && seen.pid == (uint32_t)getppid() ? 0 : 1);
	}
	{
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* ---- other users ----------------------------------------------------------------------------- */

static int as_nobody(void (*body)(void *ctx), void *ctx)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		alarm(60);
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(9);
		body(ctx);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void ask_as_other(void *ctx)
{
	struct host_stats_missed missed;
	struct seen seen;

	missed = ask_name(ctx, IMPATIENCE_MS, &seen);
	if (seen.answers != 0 || missed.silent != 1)
		_exit(1);
}

/* Another user asks and gets no answer; root gets one of another user's process. */
static void test_another_user(void **state)
{
	struct seen seen;

	(void)state;
	if (geteuid() != 0)
		skip();
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	assert_int_equal(as_nobody(ask_as_other, seen.name), 0);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
}

static int socket_named(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memcpy(addr.sun_path + 1, name, strlen(name));
	assert_int_equal(
	    bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
	    0);
	return fd;
}

/* Answers each request that comes to fd with what damage makes of an answer. */
static void impostor(int fd, void (*damage)(struct stats_reply *reply, size_t *bytes))
{
	alarm(60);
	for (;;) {
		static struct stats_reply reply;
		struct stats_request request;
		struct sockaddr_un from;
		socklen_t len = sizeof(from);
		size_t bytes = stats_reply_bytes(2);

		if (recvfrom(fd, &request, sizeof(request), 0, (struct sockaddr *)&from, &len) !=
		    sizeof(request))
			continue;
		reply = (struct stats_reply){.magic = STATS_MAGIC,
					     .version = STATS_VERSION,
					     .serial = request.serial,
					     .bytes = (uint32_t)bytes,
					     .flow_count = 2};
		memcpy(reply.gid, soft.info.address.gid, 16);
		damage(&reply, &bytes);
		sendto(fd, &reply, bytes, 0, (struct sockaddr *)&from, len);
	}
}

static void good(struct stats_reply *reply, size_t *bytes)
{
	(void)reply;
	(void)bytes;
}

static void too_many(struct stats_reply *reply, size_t *bytes)
{
	(void)bytes;
	reply->flow_count = 1u << 31;
}

static void too_short(struct stats_reply *reply, size_t *bytes)
{
	(void)reply;
	*bytes -= 1;
}

static void again_and_again(struct stats_reply *reply, size_t *bytes)
{
	(void)bytes;
	reply->next = 0;
	reply->next--;
	reply->flow_count = 3;
}

static struct host_stats_missed ask_impostor(uid_t uid, struct seen *seen,
					     void (*damage)(struct stats_reply *, size_t *))
{
	struct host_stats_missed missed;
	char name[HOST_STATS_NAME_BYTES];
	int fd;
	pid_t pid;

	snprintf(name, sizeof(name), STATS_SOCKET_PREFIX "%u.%u", geteuid(), getpid());
	fd = socket_named(name);
	pid = fork();
	if (pid == 0) {
		if (uid != geteuid() && (setgid(uid) || setuid(uid)))
			_exit(1);
		impostor(fd, damage);
	}
	close(fd);
	missed = ask_name(name, PATIENCE_MS, seen);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return missed;
}

/* What answers under a name of ours. */
static void test_nonsense_for_an_answer(void **state)
{
	static void (*const damages[])(struct stats_reply *, size_t *) = {too_many, too_short,
									  again_and_again};
	struct host_stats_missed missed;
	struct seen seen;

	(void)state;
	missed = ask_impostor(geteuid(), &seen, good);
	assert_int_equal(seen.answers, 1);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		missed = ask_impostor(geteuid(), &seen, damages[i]);
		assert_int_equal(seen.answers, 0);
		assert_int_equal(missed.refused, 1);
	}
}

static void ask_nobody_2(void *ctx)
{
	/* As user 65533, of what nobody answers. */
	struct host_stats_missed missed;
	struct seen seen;

	missed = ask_name(ctx, PATIENCE_MS, &seen);
	if (seen.answers != 0 || missed.refused != 1)
		_exit(1);
}

/* An answer of another user's process is none, whatever it says. */
static void test_another_users_answer(void **state)
{
	char name[HOST_STATS_NAME_BYTES];
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(name, sizeof(name), STATS_SOCKET_PREFIX "%u.%u", NOBODY, getpid());
	fd = socket_named(name);
	pid = fork();
	if (pid == 0) {
		if (setgid(NOBODY - 1) || setuid(NOBODY - 1))
			_exit(1);
		impostor(fd, good);
	}
	close(fd);
	assert_int_equal(as_nobody(ask_nobody_2, name), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- nonsense for a question ----------------------------------------------------------------- */

static unsigned int count_fds(const char *thread)
{
	/* It has a table of its own, which procfs shows as its task's. */
	char path[64], name[32];
	unsigned int count = 0;
	DIR *tasks = opendir("/proc/self/task"), *fds;
	struct dirent *task;

	while ((task = readdir(tasks))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task->d_name);
		file = fopen(path, "r");
		if (!file || !fgets(name, sizeof(name), file))
			name[0] = '\0';
		if (file)
			fclose(file);
		if (strncmp(name, thread, strlen(thread)) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/fd", task->d_name);
		fds = opendir(path);
		assert_non_null(fds);
		while (readdir(fds))
			count++;
		closedir(fds);
	}
	closedir(tasks);
	return count;
}

/* When they have settled: a new thread has its maker's name for a moment. */
static unsigned int fds_of(const char *thread)
{
	unsigned int before, count;

	while (count_fds("rig5-engine") == 0)
		usleep(1000);
	count = count_fds(thread);
	do {
		before = count;
		usleep(20000);
		count = count_fds(thread);
	} while (count != before);
	return count;
}

/* Datagrams of any length, with descriptors, from sockets without a name, more than fit. */
static void test_nonsense_for_a_question(void **state)
{
	struct stats_request request = {STATS_MAGIC, STATS_VERSION, 1, 0};
	unsigned char bytes[4096];
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct seen seen;
	unsigned int before;
	socklen_t len;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	(void)state;
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	before = fds_of("rig5-port");
	assert_true(before > 3);
	memcpy(addr.sun_path + 1, seen.name, strlen(seen.name));
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(seen.name));
	for (int i = 0; i < 2000; i++) {
		struct iovec iov = {.iov_base = bytes, .iov_len = (size_t)i * 7 % sizeof(bytes)};
		union {
			struct cmsghdr align;
			char buf[CMSG_SPACE(4 * sizeof(int))];
		} control = {.buf = ""};
		struct msghdr msg = {.msg_name = &addr,
				     .msg_namelen = len,
				     .msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control.buf,
				     .msg_controllen = sizeof(control.buf)};
		int fds[4] = {0, 1, 2, fd};

		memset(bytes, i, sizeof(bytes));
		if (i % 2) {
			memcpy(bytes, &request, sizeof(request));
			iov.iov_len = i % 4 == 1 ? sizeof(request) : iov.iov_len;
		}
		control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(sizeof(fds))};
		memcpy(CMSG_DATA(&control.align), fds, sizeof(fds));
		if (i % 3)
			msg.msg_controllen = 0;
		sendmsg(fd, &msg, MSG_DONTWAIT);
	}
	close(fd);
	soft_pair();
	write_some(10);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	assert_int_equal(seen.last.counters[STATS_rx_write_requests], 10);
	assert_int_equal(fds_of("rig5-port"), before);
}

/* More processes are listed than one waits for at a time. */
static void test_many(void **state)
{
	struct child children[12];
	struct seen seen;

	(void)state;
	for (int i = 0; i < 12; i++)
		children[i] = child_start(true);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 13);
	for (int i = 0; i < 12; i++)
		child_end(&children[i]);
	ask(&seen, PATIENCE_MS);
	assert_int_equal(seen.answers, 1);
	assert_int_equal(seen.last.left_count, 12);
	assert_int_equal(seen.last.left[STATS_rx_write_requests], 120);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SOFT_TEST(test_an_answer),
	    SOFT_TEST(test_leaving),
	    SOFT_TEST(test_ending),
	    SOFT_TEST(test_who_does_not_answer),
	    SOFT_TEST(test_a_full_queue),
	    SOFT_TEST(test_who_is_behind_the_silent),
	    SOFT_TEST(test_fork),
	    SOFT_TEST(test_another_user),
	    SOFT_TEST(test_nonsense_for_an_answer),
	    SOFT_TEST(test_another_users_answer),
	    SOFT_TEST(test_nonsense_for_a_question),
	    SOFT_TEST(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
