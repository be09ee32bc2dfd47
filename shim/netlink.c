/* SPDX-License-Identifier: BSD-2-Clause */
/* netlink.c - see netlink.h. */
#include "shim/netlink.h"

#include "kern/nldev.h"
#include "shim/nldev.h"
#include "shim/paths.h"
#include "shim/real.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SOCKETS_MAX = 64, /* that are known at a time */
	ANSWER_BYTES_MAX = 64 << 10,
};

/* Descriptor + 1, and the low half of its inode, by which another file of that number is told from
 * it; 0: free. */
static _Atomic uint64_t sockets[SOCKETS_MAX];
static atomic_uint socket_limit; /* no entry from here on was ever used */

static uint64_t mark_of(int fd)
{
	struct stat stat;

	if (fd < 0 || shim_real()->fstat(fd, &stat) < 0 || !S_ISSOCK(stat.st_mode))
		return 0;
	return (uint64_t)(fd + 1) << 32 | (uint32_t)stat.st_ino;
}

/* The entry whose descriptor is fd, or NULL. */
static _Atomic uint64_t *entry_of(int fd)
{
	unsigned int limit = atomic_load_explicit(&socket_limit, memory_order_acquire);

	for (unsigned int i = 0; i < limit; i++)
		if (atomic_load(&sockets[i]) >> 32 == (uint64_t)fd + 1)
			return &sockets[i];
	return NULL;
}

bool netlink_is(int fd)
{
	int error = errno;
	_Atomic uint64_t *entry = fd >= 0 ? entry_of(fd) : NULL;
	bool is = entry && mark_of(fd) == atomic_load(entry);

	errno = error;
	return is;
}

void netlink_closing(int fd)
{
	_Atomic uint64_t *entry = fd >= 0 ? entry_of(fd) : NULL;

	if (entry)
		atomic_store(entry, 0);
}

static bool remember(int fd)
{
	netlink_closing(fd); /* it was closed behind our back */
	for (unsigned int i = 0; i < SOCKETS_MAX; i++) {
		uint64_t nobody = 0;

		if (!atomic_compare_exchange_strong(&sockets[i], &nobody, mark_of(fd)))
			continue;
		if (i >= atomic_load(&socket_limit))
			atomic_store(&socket_limit, i + 1);
		return true;
	}
	return false;
}

int netlink_open(int type)
{
	int fd;

	if (!shim_nics())
		return -EPROTONOSUPPORT;
	fd = shim_real()->socket(AF_NETLINK, type, NETLINK_USERSOCK);
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -errno : -EPROTONOSUPPORT;
	if (remember(fd))
		return fd;
	shim_real()->close(fd);
	return -EMFILE;
}

/* ---- answering ---------------------------------------------------------------------------------
 */

/* The socket's number, which the kernel gives it when it is first bound. */
static int port_of(int fd, struct sockaddr_nl *address)
{
	socklen_t len = sizeof(*address);

	if (getsockname(fd, (struct sockaddr *)address, &len) < 0)
		return -errno;
	if (address->nl_pid != 0)
		return 0;
	*address = (struct sockaddr_nl){.nl_family = AF_NETLINK};
	len = sizeof(*address);
	if (bind(fd, (struct sockaddr *)address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &len) < 0)
		return -errno;
	return 0;
}

/* Each message of the answer on its own. */
static int deliver(const struct sockaddr_nl *to, const uint8_t *answer, size_t len)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = to->nl_pid};
	int from = shim_real()->socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	int error = from < 0 ? -errno : 0;

	while (!error && len >= NLMSG_HDRLEN) {
		uint32_t bytes;

		memcpy(&bytes, answer, sizeof(bytes));
		if (shim_real()->sendto(from, answer, bytes, MSG_DONTWAIT,
					(struct sockaddr *)&address, sizeof(address)) < 0)
			error = errno == EAGAIN ? -ENOBUFS : -errno;
		bytes = NLMSG_ALIGN(bytes);
		answer += bytes;
		len -= bytes;
	}
	if (from >= 0)
		shim_real()->close(from);
	return error;
}

/* The answers are made here, and not on the stack: a program's threads may have little of it. */
struct desk {
	struct nldev nldev;
	uint8_t request[NLDEV_REQUEST_BYTES_MAX];
	uint8_t answer[ANSWER_BYTES_MAX];
};

ssize_t netlink_send_pieces(int fd, const struct iovec *pieces, size_t count)
{
	struct desk *desk = malloc(sizeof(*desk));
	struct sockaddr_nl address;
	size_t len = 0, answered;
	int error = desk ? port_of(fd, &address) : -ENOBUFS;

	for (size_t i = 0; !error && i < count; i++) {
		if (pieces[i].iov_len > sizeof(desk->request) - len) {
			error = -EMSGSIZE;
			break;
		}
		memcpy(desk->request + len, pieces[i].iov_base, pieces[i].iov_len);
		len += pieces[i].iov_len;
	}
	if (!error) {
		shim_nldev_read(&desk->nldev);
		answered = nldev_answer(&desk->nldev, desk->request, len, address.nl_pid,
					desk->answer, sizeof(desk->answer));
		error = deliver(&address, desk->answer, answered);
	}
	free(desk);
	return error ? error : (ssize_t)len;
}

ssize_t netlink_send(int fd, const void *data, size_t len)
{
	struct iovec piece = {(void *)(uintptr_t)data, len};

	return netlink_send_pieces(fd, &piece, 1);
}
