/* SPDX-License-Identifier: BSD-2-Clause */
/* join.c - which port to join or found, and what to say when it cannot be done. */
#include "host/join.h"

#include "host/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* How many addresses are tried for a port that may choose: 127.0.0.1 to .254, or LID 1 to 254. */
enum { ROCE_PORT = 4791, CHOICE_COUNT = 254, NAME_BYTES = 96 };

struct join {
	struct host_registry *registry;
	struct host_door *door;
	char *why;
	size_t why_size;
	uint64_t until_ns;
};

/* An address as people write it and as the port's GID [RoCEv2 A17: IPv4 as ::ffff:a.b.c.d]. An
 * InfiniBand port has no IP address: its GID is made of the subnet prefix fe80::/64 and a GUID that
 * names its LID. */
struct place {
	char text[INET6_ADDRSTRLEN];
	uint16_t lid; /* 0: Ethernet */
	uint8_t gid[16];
	struct sockaddr_storage addr;
	socklen_t addr_len;
};

#define SAY(join, ...) snprintf((join)->why, (join)->why_size, __VA_ARGS__)

static int ms_left(const struct join *join)
{
	uint64_t now_ns = host_now_ns();

	return now_ns >= join->until_ns ? 0 : (int)((join->until_ns - now_ns) / 1000000) + 1;
}

static void place_v4(struct place *place, const struct in_addr *v4)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)&place->addr;

	*addr = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = *v4};
	place->addr_len = sizeof(*addr);
	memset(place->gid, 0, 10);
	memset(place->gid + 10, 0xff, 2);
	memcpy(place->gid + 12, v4, 4);
	inet_ntop(AF_INET, v4, place->text, sizeof(place->text));
}

static void place_lid(struct place *place, uint16_t lid)
{
	static const uint8_t gid[14] = {0xfe, 0x80, [8] = 0x02, 0x00, 0x01, 0xff, 0xfe};

	*place = (struct place){.lid = lid};
	memcpy(place->gid, gid, sizeof(gid));
	place->gid[14] = (uint8_t)(lid >> 8);
	place->gid[15] = (uint8_t)lid;
	snprintf(place->text, sizeof(place->text), "LID %u", lid);
}

static bool place_parse(struct place *place, const char *text)
{
	struct in_addr v4;
	struct in6_addr v6;

	memset(place, 0, sizeof(*place));
	if (inet_pton(AF_INET, text, &v4) == 1) {
		place_v4(place, &v4);
		return v4.s_addr != INADDR_ANY;
	}
	if (inet_pton(AF_INET6, text, &v6) == 1) {
		struct sockaddr_in6 *addr = (struct sockaddr_in6 *)&place->addr;

		*addr = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = v6};
		place->addr_len = sizeof(*addr);
		memcpy(place->gid, &v6, 16);
		inet_ntop(AF_INET6, &v6, place->text, sizeof(place->text));
		return !IN6_IS_ADDR_UNSPECIFIED(&v6);
	}
	return false;
}

/* The address is this machine's, and no kernel or program speaks RoCE v2 there, but
 * perhaps a member that has just died and whose sockets are not closed yet: they may share it. */
static int place_check(struct join *join, const struct place *place)
{
	struct sockaddr_storage addr = place->addr;
	const int on = 1;
	int fd = socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error = 0;

	if (fd < 0)
		return 0; /* no such family here: the local wire needs none */
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (addr.ss_family == AF_INET)
		((struct sockaddr_in *)&addr)->sin_port = htons(ROCE_PORT);
	else
		((struct sockaddr_in6 *)&addr)->sin6_port = htons(ROCE_PORT);
	if (bind(fd, (struct sockaddr *)&addr, place->addr_len) != 0)
		error = errno;
	close(fd);
	if (error == EADDRNOTAVAIL)
		SAY(join, "%s is not an address of this machine", place->text);
	else if (error == EADDRINUSE)
		SAY(join,
		    "UDP port %d of %s is taken: unload rdma_rxe (rdma link delete), end the "
		    "program that has it, or choose another address",
		    ROCE_PORT, place->text);
	return error == EADDRNOTAVAIL || error == EADDRINUSE ? -error : 0;
}

static void port_name(const struct place *place, char name[static NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "rig5.port.%s", place->text);
}

static int say_result(struct join *join, int result, const char *what)
{
	if (result == -ETIMEDOUT)
		SAY(join,
		    "the programs that share %s do not answer: they are stopped (in a debugger?); "
		    "continue or end them",
		    what);
	else if (result == -EUSERS)
		SAY(join, "%d programs share %s already", SHM_MEMBER_MAX, what);
	else if (result == -EPROTO)
		SAY(join,
		    "the programs that share %s use another version of this library; end them or "
		    "choose another address in RIG5_SOFT, see rig5(7)",
		    what);
	else if (result == -ENOMEM)
		SAY(join, "no room to map %llu GiB of address space for %s: raise ulimit -v",
		    (unsigned long long)(SHM_BYTES >> 30), what);
	else if (result == -EFBIG)
		SAY(join,
		    "%s needs a file of %llu GiB in memory, of which little is used: raise "
		    "ulimit -f",
		    what, (unsigned long long)(SHM_BYTES >> 30));
	else
		SAY(join, "cannot join %s: %s", what, strerror(-result));
	return result;
}

/* The port behind a door. -ECONNREFUSED, -EACCES, -EAGAIN: as host_door_visit, nothing said. */
static int join_behind(struct join *join, const char *name, const char *what)
{
	int memfd = host_door_visit(name, ms_left(join), join->door);
	int result;

	if (memfd == -ECONNREFUSED || memfd == -EACCES || memfd == -EAGAIN)
		return memfd;
	if (memfd < 0)
		return say_result(join, memfd, what);
	result = host_registry_attach(join->registry, memfd);
	if (result < 0)
		return say_result(join, result, what); /* the registry closes it */
	result = host_registry_claim(join->registry);
	return result < 0 ? say_result(join, result, what) : 0;
}

static int found_at(struct join *join, const struct place *place)
{
	int result = host_registry_found(join->registry, place->text, place->gid);

	if (result == 0) {
		host_registry_port(join->registry)->lid = place->lid;
		result = host_registry_claim(join->registry);
	}
	return result < 0 ? say_result(join, result, place->text) : 0;
}

/* -EADDRINUSE without a sentence (why is empty): somebody else was faster, look again. */
static int found_behind(struct join *join, const struct place *place, const char *name, bool check)
{
	int result;

	join->door->listening[HOST_DOOR_PORT] = host_door_open(name);
	result = join->door->listening[HOST_DOOR_PORT];
	if (result >= 0 && check)
		result = place_check(join, place);
	if (result >= 0)
		result = found_at(join, place);
	return result;
}

/* Backs out of a failed try, except that the user's door stays. */
static void join_undo(struct join *join)
{
	int *port = &join->door->listening[HOST_DOOR_PORT];

	host_registry_release(join->registry);
	host_registry_close(join->registry);
	if (*port >= 0)
		close(*port);
	*port = -1;
}

/* One look at an address. -EAGAIN: look again. */
static int join_once(struct join *join, const struct place *place, bool check)
{
	char name[NAME_BYTES];
	int result;

	port_name(place, name);
	result = join_behind(join, name, place->text);
	if (result == -ECONNREFUSED) {
		result = found_behind(join, place, name, check);
		if (result == -EADDRINUSE && !join->why[0])
			result = -EAGAIN;
	}
	if (result < 0)
		join_undo(join);
	return result;
}

static int join_place(struct join *join, const struct place *place, bool check)
{
	const struct timespec step = {.tv_nsec = 1000000};
	int result;

	do {
		result = join_once(join, place, check);
		if (result == -EAGAIN)
			nanosleep(&step, NULL);
	} while (result == -EAGAIN && ms_left(join) > 0);
	return result == -EAGAIN ? say_result(join, -ETIMEDOUT, place->text) : result;
}

static int join_named(struct join *join, const struct host_join_to *to)
{
	struct place place;
	int result;

	if (to->infiniband) {
		place_lid(&place, to->lid);
	} else if (!place_parse(&place, to->address)) {
		SAY(join, "'%s' is neither an IP address nor an interface with one", to->address);
		return -EINVAL;
	}
	result = join_place(join, &place, !to->infiniband);
	if (result == -EACCES) {
		SAY(join, "%s belongs to a port of another user; choose another %s", place.text,
		    to->infiniband ? "LID" : "address");
		return -EADDRINUSE;
	}
	return result;
}

/* The i-th address of a port that may choose. */
static void place_choice(struct place *place, bool infiniband, int i)
{
	char text[16];

	if (infiniband) {
		place_lid(place, (uint16_t)i);
		return;
	}
	snprintf(text, sizeof(text), "127.0.0.%d", i);
	(void)place_parse(place, text);
}

/* The user's door is open or taken by us; now the first address that is not another user's. */
static int join_choice(struct join *join, bool infiniband)
{
	struct place place;
	int result = -EACCES;

	for (int i = 1; i <= CHOICE_COUNT && result == -EACCES; i++) {
		place_choice(&place, infiniband, i);
		result = join_place(join, &place, false);
	}
	if (result != -EACCES)
		return result;
	if (infiniband)
		SAY(join, "LID 1 to %d all belong to other users; name one", CHOICE_COUNT);
	else
		SAY(join, "127.0.0.1 to 127.0.0.%d all belong to other users; name an address",
		    CHOICE_COUNT);
	return -EADDRINUSE;
}

/* Who opens the user's door decides on the address; everybody else follows through it. */
static int join_default(struct join *join, bool infiniband)
{
	const struct timespec step = {.tv_nsec = 1000000};
	char name[NAME_BYTES];
	int result;

	snprintf(name, sizeof(name), "rig5.user.%u%s", (unsigned int)geteuid(),
		 infiniband ? ".ib" : "");
	do {
		result = join_behind(join, name, "this user's port");
		if (result == -ECONNREFUSED) {
			result = host_door_open(name);
			if (result >= 0) {
				join->door->listening[HOST_DOOR_USER] = result;
				return join_choice(join, infiniband);
			}
		}
		/* Another user sits on the name: do without it. */
		if (result == -EACCES)
			return join_choice(join, infiniband);
		if (result == -EAGAIN || result == -EADDRINUSE)
			nanosleep(&step, NULL);
		else
			return result;
	} while (ms_left(join) > 0);
	return say_result(join, -ETIMEDOUT, "this user's port");
}

int host_join(const struct host_join_to *to, struct host_registry *registry, struct host_door *door,
	      char *why, size_t why_size)
{
	bool named = to->infiniband ? to->lid != 0 : to->address != NULL;
	struct join join = {.registry = registry,
			    .door = door,
			    .why = why,
			    .why_size = why_size,
			    .until_ns = host_now_ns() + HOST_PATIENCE_MS * 1000000ull};
	int result;

	if (why_size)
		why[0] = 0;
	*registry = (struct host_registry){.memfd = -1};
	for (int i = 0; i < HOST_DOOR_COUNT; i++)
		door->listening[i] = -1;
	result = named ? join_named(&join, to) : join_default(&join, to->infiniband);
	if (result < 0)
		host_leave(registry, door);
	return result;
}

void host_leave(struct host_registry *registry, struct host_door *door)
{
	host_registry_release(registry);
	host_registry_close(registry);
	host_door_close(door);
}
