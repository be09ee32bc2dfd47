/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats_fuzz.c - a whole run of `rig5 stats` among processes that may say anything: the list of
 * sockets, answers that are whole, damaged, another user's, nobody's, late or endless.
 *
 * Beyond no crash: a NIC is shown if and only if its answer was whole and of the same user, with
 * every flow that came, in order; everybody who was asked is shown or missed, once; it ends when
 * its time is over, however much comes; the JSON is JSON, on one line; nothing that is shown
 * reaches a terminal as a control character.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "host/clock.h"
#include "tools/stats.h"
#include "tools/tools.h"
#include "tools/units.h"

#define SERIAL_FIRST UINT32_MAX /* so that they wrap */

enum { OWN_UID = 1000, FD = 100, PREFIX_BYTES = 16, RECEIVE_NS = 4000000, MS_NS = 1000000 };

/* Who has been asked, and what is known of it. */
struct other {
	char name[HOST_STATS_NAME_BYTES];
	struct stats_request request;
	bool open;     /* a request has no answer yet */
	bool shown;    /* its first answer counts */
	uint32_t next; /* what its last good answer names */
	uint32_t flow_count, flow_sum;
};

static struct world {
	struct fuzz_in in;
	uint64_t now_ns;
	bool listed;
	uint32_t names; /* that are in the list */
	uint32_t count;
	struct other asked[HOST_STATS_NAMES_MAX];
	uint32_t last[8]; /* whom the latest requests went to */
	uint32_t sent;
	FILE *out;
} world;

static uint32_t sum_of(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < len; i++)
		sum = sum * 31 + byte[i];
	return sum;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Makes of the bytes one line; whether they end a name that can be. */
static bool is_name_end(char *text, size_t len)
{
	bool good = PREFIX_BYTES + 1 + len < HOST_STATS_NAME_BYTES;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || text[i] == '@')
			text[i] = 'A';
		good &= islower((unsigned char)text[i]) || isdigit((unsigned char)text[i]) ||
			text[i] == '.';
	}
	return good;
}

static ssize_t fuzz_read(int fd, void *buf, size_t len)
{
	size_t used = 0, noise;
	char *text = buf;
	uint8_t count;

	(void)fd;
	if (world.listed)
		return 0;
	world.listed = true;
	count = fuzz_u8(&world.in) % 40;
	noise = fuzz_u8(&world.in);
	for (uint32_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, len - used, "0: 2 0 @rig5.stats.%u.%x\n",
					 i % 16 == 15 ? OWN_UID + 1 : OWN_UID, i);
	world.names = count - count / 16;
	if (noise == 0)
		return (ssize_t)used;
	used += (size_t)snprintf(text + used, len - used, "0: 2 0 @rig5.stats.%u.z", OWN_UID);
	fuzz_bytes(&world.in, text + used, noise);
	world.names += is_name_end(text + used, noise);
	text[used + noise] = '\n';
	return (ssize_t)(used + noise + 1);
}

static struct other *asked_of(const char *name)
{
	uint32_t i = 0;

	while (i < world.count && strcmp(world.asked[i].name, name) != 0)
		i++;
	FUZZ_CHECK(i < HOST_STATS_NAMES_MAX);
	if (i == world.count) {
		snprintf(world.asked[i].name, sizeof(world.asked[i].name), "%s", name);
		world.count++;
	}
	return &world.asked[i];
}

struct socket_name {
	char text[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

static struct socket_name name_of(const struct sockaddr_un *addr, size_t len)
{
	struct socket_name name = {""};

	FUZZ_CHECK(len > offsetof(struct sockaddr_un, sun_path) + 1 && len <= sizeof(*addr));
	memcpy(name.text, addr->sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
	FUZZ_CHECK(strncmp(name.text, "rig5.stats.1000.", PREFIX_BYTES) == 0);
	for (const char *c = name.text; *c; c++)
		FUZZ_CHECK(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '.');
	return name;
}

/* Serials begin with SERIAL_FIRST, and are those of eight processes at a time. */
static uint32_t group_of(uint32_t serial)
{
	return (serial - SERIAL_FIRST) / 8;
}

static ssize_t fuzz_sendto(const struct stats_request *request, const struct sockaddr_un *addr,
			   size_t len)
{
	static const int errors[] = {EAGAIN, ECONNREFUSED, EPERM, ENOBUFS};
	struct socket_name name = name_of(addr, len);
	uint8_t how = fuzz_u8(&world.in);
	struct other *asked;

	FUZZ_CHECK(stats_request_check(request, sizeof(*request)));
	asked = asked_of(name.text);
	/* The rest is asked for from where the answer before has said. */
	FUZZ_CHECK(request->from == asked->next);
	/* Whom it asked before the others of this group it listens to no more. */
	for (uint32_t i = 0; i < world.count; i++)
		if (request->from != 0 ||
		    group_of(world.asked[i].request.serial) != group_of(request->serial))
			world.asked[i].open = false;
	if (how >= 0xf0) {
		errno = errors[how % 4];
		return -1;
	}
	asked->request = *request;
	asked->open = true;
	world.last[world.sent++ % 8] = (uint32_t)(asked - world.asked);
	return sizeof(*request);
}

/* A whole answer to one of the latest requests. */
static struct other *make_answer(struct stats_reply *reply)
{
	struct other *asked = NULL;
	uint8_t who = fuzz_u8(&world.in);
	uint32_t count = fuzz_u8(&world.in) % (STATS_FLOWS_MAX + 1), counter;

	memset(reply, 0, sizeof(*reply));
	if (world.sent != 0)
		asked = &world.asked[world.last[who % (world.sent < 8 ? world.sent : 8)]];
	*reply = (struct stats_reply){.magic = STATS_MAGIC, .version = STATS_VERSION};
	reply->flow_count = count;
	reply->bytes = (uint32_t)stats_reply_bytes(count);
	reply->serial = asked ? asked->request.serial : 0;
	reply->lid = fuzz_u8(&world.in) & 1;
	fuzz_bytes(&world.in, reply->nic, fuzz_u8(&world.in) % (sizeof(reply->nic) + 1));
	fuzz_bytes(&world.in, reply->gid, fuzz_u8(&world.in) % 17);
	if (asked && fuzz_u8(&world.in) & 1)
		reply->next = asked->request.from + fuzz_u8(&world.in);
	counter = fuzz_u8(&world.in) % STATS_COUNT;
	reply->counters[counter] = fuzz_odd(&world.in);
	for (uint32_t i = 0; i < count; i++)
		fuzz_bytes(&world.in, &reply->flows[i],
			   fuzz_u8(&world.in) % (sizeof(reply->flows[i]) + 1));
	return asked;
}

/* What stats_reply_check has to find, said another way. */
static bool is_whole(const struct stats_reply *reply, size_t got, const struct other *asked)
{
	return got >= offsetof(struct stats_reply, flows) &&
	       (got - offsetof(struct stats_reply, flows)) % sizeof(struct stats_flow) == 0 &&
	       reply->flow_count ==
		   (got - offsetof(struct stats_reply, flows)) / sizeof(struct stats_flow) &&
	       reply->flow_count <= 64 && reply->magic == STATS_MAGIC && reply->version == 1 &&
	       reply->bytes == got && reply->serial == asked->request.serial &&
	       (reply->next == 0 || reply->next > asked->request.from);
}

/* The socket of that group which has this serial, if it waits. */
static struct other *waiting(uint32_t serial)
{
	for (uint32_t i = 0; i < (world.sent < 8 ? world.sent : 8); i++) {
		struct other *asked = &world.asked[world.last[i]];

		if (asked->open && asked->request.serial == serial)
			return asked;
	}
	return NULL;
}

static void note_answer(const struct stats_reply *reply, size_t got, bool honest)
{
	struct other *asked =
	    got < offsetof(struct stats_reply, flows) ? NULL : waiting(reply->serial);

	if (!asked)
		return;
	asked->open = false;
	if (!honest || !is_whole(reply, got, asked))
		return;
	asked->shown = true;
	asked->next = reply->next;
	asked->flow_count += reply->flow_count;
	asked->flow_sum =
	    sum_of(asked->flow_sum, reply->flows, reply->flow_count * sizeof(reply->flows[0]));
}

static void change_byte(struct stats_reply *reply)
{
	uint8_t at = fuzz_u8(&world.in) % offsetof(struct stats_reply, time_ns);

	((uint8_t *)reply)[at] ^= fuzz_u8(&world.in);
}

static ssize_t fuzz_recvmsg(struct msghdr *msg)
{
	struct stats_reply *reply = msg->msg_iov->iov_base;
	struct ucred cred = {.pid = 1 + fuzz_u8(&world.in) % 4, .uid = OWN_UID};
	uint8_t kind = fuzz_u8(&world.in), damage;
	struct cmsghdr *cmsg = msg->msg_control;
	size_t got = 0;

	world.now_ns += RECEIVE_NS;
	if (kind % 4 == 0) {
		errno = EAGAIN;
		return -1;
	}
	FUZZ_CHECK(msg->msg_iov->iov_len == sizeof(*reply));
	FUZZ_CHECK(msg->msg_controllen >= CMSG_SPACE(sizeof(cred)));
	if (kind % 4 == 3) {
		got = fuzz_u16(&world.in) % (sizeof(*reply) + 1);
		fuzz_bytes(&world.in, reply, got < 64 ? got : 64);
	} else {
		make_answer(reply);
		got = reply->bytes;
	}
	for (damage = fuzz_u8(&world.in) % 4; damage > 1; damage--)
		change_byte(reply);
	if (kind & 4)
		got = fuzz_u16(&world.in) % (got + 1);
	if ((kind & 0x18) == 0x18)
		cred.uid = fuzz_u8(&world.in) & 1 ? 0 : OWN_UID + 1;
	msg->msg_flags = (kind & 0x60) == 0x60 ? MSG_TRUNC : 0;
	*cmsg = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(cred)),
				 .cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_CREDENTIALS};
	memcpy(CMSG_DATA(cmsg), &cred, sizeof(cred));
	msg->msg_controllen = kind & 0x80 && damage ? 0 : CMSG_SPACE(sizeof(cred));
	note_answer(reply, got,
		    msg->msg_controllen != 0 && msg->msg_flags == 0 && cred.uid == OWN_UID);
	return (ssize_t)got;
}

static int fuzz_poll(int timeout_ms)
{
	if (world.in.left != 0 && fuzz_u8(&world.in) % 8 != 0)
		return 1;
	world.now_ns += (uint64_t)timeout_ms * MS_NS;
	return 0;
}

static int fuzz_connect(const struct sockaddr_un *addr, size_t len)
{
	bool gone = fuzz_u8(&world.in) % 4 == 1;

	/* Whoever is gone is not listened to either. */
	if (gone)
		asked_of(name_of(addr, len).text)->open = false;
	errno = gone ? ECONNREFUSED : EAGAIN;
	return -1;
}

/* A process's command line. */
static FILE *fuzz_fopen(void)
{
	static char text[32];

	fuzz_bytes(&world.in, text, fuzz_u8(&world.in) % sizeof(text));
	return fmemopen(text, sizeof(text), "r");
}

static ssize_t fuzz_getrandom(void *serial)
{
	const uint32_t first = SERIAL_FIRST;

	memcpy(serial, &first, sizeof(first));
	return sizeof(uint32_t);
}

#define open(path, flags)                       FD
#define read(fd, buf, len)                      fuzz_read(fd, buf, len)
#define close(fd)                               ((void)(fd))
#define socket(family, type, protocol)          FD
#define setsockopt(fd, level, name, value, len) ((void)(value), 0)
#define bind(fd, addr, len)                     ((void)(addr), 0)
#define connect(fd, addr, len)                  fuzz_connect((const void *)(addr), len)
#define sendto(fd, data, len, flags, addr, addr_len) \
	fuzz_sendto(data, (const void *)(addr), addr_len)
#define recvmsg(fd, msg, flags)      fuzz_recvmsg(msg)
#define poll(fds, count, timeout_ms) ((void)(fds), fuzz_poll(timeout_ms))
#define getrandom(data, len, flags)  fuzz_getrandom(data)
#define geteuid()                    ((uid_t)OWN_UID)
#define host_now_ns()                world.now_ns
#include "host/stats_ask.c"
#undef read
#undef open
#undef close

#include "tools/units.c"

#undef stdout
#define stdout            world.out
#define printf(...)       fprintf(world.out, __VA_ARGS__)
#define putchar(c)        fputc(c, world.out)
#define fopen(path, mode) ((void)(path), fuzz_fopen())
#include "tools/stats.c"
#include "tools/stats_print.c"

void tool_error(const char *format, ...)
{
	(void)format;
}

int tool_usage_error(const char *format, ...)
{
	(void)format;
	return TOOL_USAGE;
}

void tool_stop_catch(void)
{
}

int tool_stop_signal(void)
{
	return 0;
}

void tool_stop_exit(void)
{
}

/* ---- what is shown --------------------------------------------------------------------------- */

static const char *json_value(const char *at, int depth);

static const char *json_text(const char *at)
{
	FUZZ_CHECK(*at == '"');
	for (at++; *at != '"'; at++) {
		FUZZ_CHECK((unsigned char)*at >= 0x20);
		if (*at != '\\')
			continue;
		at++;
		FUZZ_CHECK(*at == '"' || *at == '\\' || *at == 'u');
		for (int i = 0; *at == 'u' && i < 4; i++)
			FUZZ_CHECK(isxdigit((unsigned char)at[1 + i]));
	}
	return at + 1;
}

/* After what opens an object or array, to behind what closes it. */
static const char *json_list(const char *at, char end, int depth)
{
	if (*at == end)
		return at + 1;
	for (;;) {
		if (end == '}') {
			at = json_text(at);
			FUZZ_CHECK(at[0] == ':' && at[1] == ' ');
			at += 2;
		}
		at = json_value(at, depth + 1);
		if (*at == end)
			return at + 1;
		FUZZ_CHECK(at[0] == ',' && at[1] == ' ');
		at += 2;
	}
}

static const char *json_value(const char *at, int depth)
{
	FUZZ_CHECK(depth < 8);
	if (*at == '{')
		return json_list(at + 1, '}', depth);
	if (*at == '[')
		return json_list(at + 1, ']', depth);
	if (*at == '"')
		return json_text(at);
	if (strncmp(at, "true", 4) == 0)
		return at + 4;
	if (strncmp(at, "false", 5) == 0)
		return at + 5;
	FUZZ_CHECK(isdigit((unsigned char)*at));
	while (isdigit((unsigned char)*at))
		at++;
	return at;
}

/* print - what a function shows, to be freed. */
static char *print(const struct stats_view *view, bool json)
{
	char *text = NULL;
	size_t len = 0;

	world.out = open_memstream(&text, &len);
	FUZZ_CHECK(world.out);
	if (json)
		stats_print_json(view);
	else
		stats_print_table(view, view);
	fclose(world.out);
	FUZZ_CHECK(strlen(text) == len);
	return text;
}

static void check_shown(const struct stats_view *view)
{
	char *json = print(view, true), *table = print(view, false);
	const char *end = json_value(json, 0);

	FUZZ_CHECK(end[0] == '\n' && end[1] == '\0');
	for (const char *c = table; *c; c++)
		FUZZ_CHECK(*c == '\n' || !iscntrl((unsigned char)*c));
	free(json);
	free(table);
}

static void check_view(const struct stats_view *view, uint32_t names)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < world.count; i++)
		shown += world.asked[i].shown;
	FUZZ_CHECK(view->count == shown);
	FUZZ_CHECK(shown + view->missed.gone + view->missed.silent + view->missed.refused == names);
	for (uint32_t i = 0; i < view->count; i++) {
		const struct stats_nic *nic = &view->nics[i];
		const struct other *asked = asked_of(nic->name);

		FUZZ_CHECK(asked->shown && nic->flow_count == asked->flow_count);
		FUZZ_CHECK(sum_of(0, nic->flows, nic->flow_count * sizeof(*nic->flows)) ==
			   asked->flow_sum);
		FUZZ_CHECK(memchr(nic->reply.nic, '\0', sizeof(nic->reply.nic)));
		FUZZ_CHECK(i == 0 || nic[-1].pid <= nic->pid);
	}
}

/* First that everybody is asked once and in time, then the whole command's work. */
static void check_time(struct fuzz_in in, uint32_t *count)
{
	static struct host_stats_names names;
	struct stats_view view = {0};
	struct collect collect = {.choice = &(struct choice){0}, .view = &view};

	world = (struct world){.in = in};
	FUZZ_CHECK(host_stats_find(&names, true) == 0);
	FUZZ_CHECK(names.count == world.names);
	FUZZ_CHECK(host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names.names, names.count, 0,
				  PATIENCE_MS, take_first, &collect, &view.missed) == 0);
	FUZZ_CHECK(world.now_ns <= (PATIENCE_MS + 2 * LOOK_MS) * (uint64_t)MS_NS);
	view_free(&view);
	*count = names.count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {.next = data, .left = size};
	const struct choice all = {0};
	struct stats_view view;
	uint32_t names;

	if (size > 1 << 15)
		return 0;
	check_time(in, &names);
	world = (struct world){.in = in};
	FUZZ_CHECK(collect_view(&all, &view) == 0);
	check_view(&view, names);
	check_shown(&view);
	view_free(&view);
	return 0;
}
