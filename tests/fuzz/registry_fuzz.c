/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry_fuzz.c - what a newcomer gets from a port's door (host/door.c) and the memory behind it
 * (host/registry.c), when another program of the user has the name and speaks nonsense.
 *
 * Beyond no crash: the descriptors that came are kept or closed, none leaks; a registry that is
 * not of this version is refused; one that is accepted can be claimed, owned, asked and left.
 */
#include "host/door.c"
#include "host/registry.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, WORDS_MAX = 64 };

/* The lowest free descriptor: the same before and after, or one leaked. */
static int lowest_fd(void)
{
	int fd = dup(0);

	FUZZ_CHECK(fd >= 0);
	close(fd);
	return fd;
}

/* A memfd of which all, or something, is wrong. */
static int make_memfd(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	int memfd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct shm_port port = {.magic = SHM_MAGIC, .version = SHM_VERSION};
	uint64_t size = how & 1 ? fuzz_odd(in) % (2 * SHM_BYTES) : SHM_BYTES;

	FUZZ_CHECK(memfd >= 0);
	FUZZ_CHECK(ftruncate(memfd, (off_t)size) == 0);
	if (how & 2)
		fuzz_bytes(in, &port, 100);
	if (how & 4)
		memset(port.address, 'a', sizeof(port.address));
	if (size >= 100)
		FUZZ_CHECK(pwrite(memfd, &port, 100, 0) == 100);
	/* Then words here and there: owners, members. */
	for (int i = 0; i < WORDS_MAX && in->left > 4 && size == SHM_BYTES; i++) {
		uint32_t at = fuzz_u16(in) * 8u % (uint32_t)(SHM_MEMBERS_OFFSET + 4096);
		uint64_t word = fuzz_odd(in);

		FUZZ_CHECK(at < 104 || pwrite(memfd, &word, 8, (off_t)at) == 8);
	}
	if (!(how & 8))
		FUZZ_CHECK(fcntl(memfd, F_ADD_SEALS, ALL_SEALS) == 0);
	return memfd;
}

/* The other side of the door: data of its choice, with descriptors of its choice. */
static void send_gift(int fd, struct fuzz_in *in, int memfd)
{
	uint8_t shape = fuzz_u8(in);
	uint8_t count = shape % 5;
	struct greeting greeting = {.magic = GREETING_MAGIC,
				    .doors = (1u << (count ? count - 1 : 0)) - 1};
	struct iovec iov = {.iov_base = &greeting, .iov_len = sizeof(greeting)};
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int) * 8)];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (shape & 0x10)
		fuzz_bytes(in, &greeting, sizeof(greeting));
	if (shape & 0x20)
		iov.iov_len = fuzz_u8(in) % (sizeof(greeting) + 1);
	if (count) {
		msg.msg_control = control.buf;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (uint8_t i = 0; i < count; i++)
			memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)) + i * sizeof(int), &memfd,
			       sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* What a member does with a registry that it got in. */
static void use(struct host_registry *registry, struct fuzz_in *in)
{
	uint32_t block;

	if (host_registry_claim(registry) != 0)
		return;
	FUZZ_CHECK(registry->slot < SHM_MEMBER_MAX);
	FUZZ_CHECK(host_registry_alive(registry, registry->slot));
	for (int i = 0; i < 4; i++) {
		uint32_t qpn = fuzz_u32(in);

		FUZZ_CHECK(host_registry_owner(registry, qpn) < SHM_MEMBER_MAX);
		if (host_registry_block(registry, &block) == 0)
			FUZZ_CHECK(block > 0 && block < SHM_BLOCK_COUNT - 1 &&
				   host_registry_owner(registry, block << SHM_BLOCK_LOG2) ==
				       (int)registry->slot);
	}
	host_registry_release(registry);
	/* Nothing is left of it. */
	for (uint32_t i = 0; i < SHM_BLOCK_COUNT; i++)
		FUZZ_CHECK(host_registry_owner(registry, i << SHM_BLOCK_LOG2) !=
			   (int)registry->slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	struct host_door door = {.listening = {-1, -1}};
	struct host_registry registry = {.memfd = -1};
	int lowest = lowest_fd();
	int pair[2], memfd, got;

	if (size > 4096)
		return 0;
	memfd = make_memfd(&in);
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	send_gift(pair[0], &in, memfd);
	close(pair[0]);
	got = receive_gift(pair[1], &door);
	close(pair[1]);
	if (got >= 0 && host_registry_attach(&registry, got) == 0)
		use(&registry, &in);
	host_registry_close(&registry);
	host_door_close(&door);
	close(memfd);
	FUZZ_CHECK(lowest_fd() == lowest);
	return 0;
}
