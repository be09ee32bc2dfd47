/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram_bench.c A B - GB/s of bare UDP over loopback from processor A to B: 4 KiB segments, the
 * kernel's segmentation and receive offload, four messages a system call, nothing computed or
 * copied beside. The probe that says what the UDP wire can reach here just now, at most.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SEGMENT_BYTES = 4112,
	SEGMENTS = 15,
	MESSAGE_BYTES = SEGMENT_BYTES * SEGMENTS,
	MESSAGES = 4,
	WINDOW = 8, /* messages under way */
	BUFFER_BYTES = 8 << 20,
};

struct shared {
	_Atomic uint64_t received;
	_Alignas(128) _Atomic int stop;
};

static struct shared *shared;
static uint8_t bytes[MESSAGES][65536];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void pin(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(cpu), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("datagram_bench: sched_setaffinity");
}

static void receive(int fd)
{
	struct mmsghdr messages[MESSAGES];
	struct iovec pieces[MESSAGES];

	while (!atomic_load(&shared->stop)) {
		int count;

		memset(messages, 0, sizeof(messages));
		for (int i = 0; i < MESSAGES; i++) {
			pieces[i] = (struct iovec){bytes[i], sizeof(bytes[i])};
			messages[i].msg_hdr.msg_iov = &pieces[i];
			messages[i].msg_hdr.msg_iovlen = 1;
		}
		count = recvmmsg(fd, messages, MESSAGES, MSG_DONTWAIT, NULL);
		for (int i = 0; i < count; i++)
			atomic_fetch_add(&shared->received, messages[i].msg_len);
	}
	_exit(0);
}

static void prepare(struct mmsghdr *messages, struct iovec *pieces, struct sockaddr_in *to)
{
	static char control[CMSG_SPACE(sizeof(uint16_t))];
	struct cmsghdr *cmsg = (void *)control;
	uint16_t segment_bytes = SEGMENT_BYTES;

	cmsg->cmsg_level = IPPROTO_UDP;
	cmsg->cmsg_type = UDP_SEGMENT;
	cmsg->cmsg_len = CMSG_LEN(sizeof(segment_bytes));
	memcpy(CMSG_DATA(cmsg), &segment_bytes, sizeof(segment_bytes));
	for (int i = 0; i < MESSAGES; i++) {
		pieces[i] = (struct iovec){bytes[i], MESSAGE_BYTES};
		messages[i].msg_hdr = (struct msghdr){.msg_name = to,
						      .msg_namelen = sizeof(*to),
						      .msg_iov = &pieces[i],
						      .msg_iovlen = 1,
						      .msg_control = control,
						      .msg_controllen = sizeof(control)};
	}
}

static uint64_t send_for(double seconds, struct sockaddr_in *to)
{
	struct mmsghdr messages[MESSAGES];
	struct iovec pieces[MESSAGES];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	double end = now_s() + seconds;
	uint64_t sent = 0;

	prepare(messages, pieces, to);
	while (now_s() < end) {
		int count = sendmmsg(fd, messages, MESSAGES, 0);

		if (count < 0)
			fail("datagram_bench: sendmmsg");
		sent += (uint64_t)count * MESSAGE_BYTES;
		while (sent - atomic_load(&shared->received) > (uint64_t)WINDOW * MESSAGE_BYTES &&
		       now_s() < end)
			;
	}
	return atomic_load(&shared->received);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int on = 1, buffer_bytes = BUFFER_BYTES;
	double start;
	uint64_t received;

	if (argc != 3) {
		fprintf(stderr, "usage: datagram_bench A B\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || bind(fd, (struct sockaddr *)&to, len) ||
	    getsockname(fd, (struct sockaddr *)&to, &len))
		fail("datagram_bench");
	setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
	if (fork() == 0) {
		pin(argv[2]);
		receive(fd);
	}
	pin(argv[1]);
	start = now_s();
	received = send_for(0.5, &to);
	printf("%.3f\n", (double)received / (now_s() - start) / 1e9);
	atomic_store(&shared->stop, 1);
	wait(NULL);
	return 0;
}
