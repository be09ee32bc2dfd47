/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/door: a newcomer gets the memfd and the doors from whoever answers; silence, a hang-up and
 * nonsense each have their own answer, and no descriptor stays open after nonsense.
 * The other side is played by hand where it has to misbehave.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "host/door.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAGIC = 0x35676972, NOBODY = 65534 };

static char name[64];
static int listening;

static int setup(void **state)
{
	(void)state;
	snprintf(name, sizeof(name), "rig5.test.%d", (int)getpid());
	listening = host_door_open(name);
	return listening < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(listening);
	return 0;
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static struct host_door no_door(void)
{
	return (struct host_door){{-1, -1}};
}

struct visit {
	struct host_door door;
	int result;
};

static void *visitor(void *arg)
{
	struct visit *visit = (struct visit *)arg;

	visit->result = host_door_visit(name, 1000, &visit->door);
	return NULL;
}

static void test_answer(void **state)
{
	struct host_door ours = {{listening, -1}};
	struct visit visit = {no_door(), 0};
	int memfd = memfd_create("gift", MFD_CLOEXEC);
	pthread_t thread;
	char byte = 0;

	(void)state;
	assert_int_equal(write(memfd, "7", 1), 1);
	pthread_create(&thread, NULL, visitor, &visit);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		host_door_answer(listening, &ours, memfd);
	assert_true(visit.result >= 0);
	assert_int_equal(pread(visit.result, &byte, 1, 0), 1);
	assert_int_equal(byte, '7');
	assert_true(visit.door.listening[HOST_DOOR_PORT] >= 0);
	assert_int_equal(visit.door.listening[HOST_DOOR_USER], -1);
	/* The name stays taken as long as anybody has the door. */
	close(listening);
	assert_int_equal(host_door_open(name), -EADDRINUSE);
	host_door_close(&visit.door);
	listening = host_door_open(name);
	assert_true(listening >= 0);
	close(visit.result);
	close(memfd);
}

static void test_nobody(void **state)
{
	struct host_door door = no_door();

	(void)state;
	assert_int_equal(host_door_visit("rig5.test.nobody", 100, &door), -ECONNREFUSED);
	assert_int_equal(host_door_visit(name, 20, &door), -ETIMEDOUT);
}

/* Sends `bytes` bytes and `fds` copies of a descriptor to the first that comes, and hangs up. */
struct misbehaviour {
	const char *label;
	uint32_t magic, doors;
	size_t bytes;
	int fds;
	int want;
};

static bool misbehave(int at, const struct misbehaviour *how)
{
	uint32_t words[2] = {how->magic, how->doors};
	struct iovec iov = {words, how->bytes};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int) * 8)];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.buf};
	int fd, sent[8];
	bool went;

	do {
		fd = accept(at, NULL, NULL);
	} while (fd < 0);
	for (int i = 0; i < how->fds; i++)
		sent[i] = at;
	msg.msg_controllen = how->fds ? CMSG_SPACE((size_t)how->fds * sizeof(int)) : 0;
	if (how->fds) {
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN((size_t)how->fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), sent, (size_t)how->fds * sizeof(int));
	}
	went = how->bytes == 0 || sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)how->bytes;
	close(fd);
	return went;
}

static void test_misbehaviour(void **state)
{
	static const struct misbehaviour cases[] = {
	    {"hangs up", 0, 0, 0, 0, -EAGAIN},
	    {"other magic", 1, 0, 8, 1, -EPROTO},
	    {"half a greeting", MAGIC, 0, 4, 0, -EPROTO},
	    {"no descriptors", MAGIC, 0, 8, 0, -EPROTO},
	    {"fewer than it says", MAGIC, 3, 8, 2, -EPROTO},
	    {"more than it says", MAGIC, 1, 8, 3, -EPROTO},
	    {"more than fit", MAGIC, 3, 8, 8, -EMFILE},
	    {"doors that do not exist", MAGIC, 4, 8, 2, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct visit visit = {no_door(), 0};
		int before = open_fds();
		pthread_t thread;

		pthread_create(&thread, NULL, visitor, &visit);
		assert_true(misbehave(listening, &cases[i]));
		pthread_join(thread, NULL);
		if (visit.result != cases[i].want)
			fail_msg("%s: %d", cases[i].label, visit.result);
		if (open_fds() != before)
			fail_msg("%s: a descriptor was left open", cases[i].label);
	}
}

/* ---- another user ---------------------------------------------------------------------------- */

static void become_nobody(void)
{
	alarm(20);
	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(2);
}

static int status_of(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Who has taken the name before us gets nothing believed, however good what he gives. */
static void test_another_users_door(void **state)
{
	static const struct misbehaviour good = {"good", MAGIC, 0, 8, 1, 0};
	char his[sizeof(name) + 8];
	struct host_door door = no_door();
	int before = open_fds(), ready[2];
	char byte;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(his, sizeof(his), "%s.his", name);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		int at;

		become_nobody();
		at = host_door_open(his);
		if (at < 0 || write(ready[1], "r", 1) != 1)
			_exit(3);
		(void)misbehave(at, &good); /* he may have gone already */
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(host_door_visit(his, 10000, &door), -EACCES);
	assert_int_equal(status_of(child), 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(open_fds(), before);
}

/* And who comes to our door gets nothing, however he asks. */
static void test_another_user_at_the_door(void **state)
{
	struct host_door ours = {{listening, -1}};
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int memfd = memfd_create("gift", MFD_CLOEXEC);
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "%s", name);
	child = fork();
	if (child == 0) {
		socklen_t len =
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		char bytes[64];

		become_nobody();
		if (connect(fd, (struct sockaddr *)&addr, len) != 0)
			_exit(3);
		_exit(recv(fd, bytes, sizeof(bytes), 0) > 0 ? 4 : 0);
	}
	while (waitpid(child, &status, WNOHANG) == 0)
		host_door_answer(listening, &ours, memfd);
	assert_int_equal(status, 0);
	close(memfd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_answer),
	    TEST(test_nobody),
	    TEST(test_misbehaviour),
	    TEST(test_another_users_door),
	    TEST(test_another_user_at_the_door),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
