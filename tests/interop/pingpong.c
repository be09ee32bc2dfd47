/* SPDX-License-Identifier: BSD-2-Clause */
/* pingpong.c - see pingpong.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/interop/agent_side.h"
#include "tests/interop/memory.h"
#include "tests/interop/pingpong.h"

enum {
	TCP_PORT = 18515,
	RECORD_BYTES = 52, /* "0000:qpn:psn:gid", with its NUL */
	RING = 16,
	PATIENCE_S = 20,
	NAP_US = 50,
	SEED = 7,
	PAGE_BYTES = 4096,
	SEND_OFF = 32768, /* what goes lies there in the memory, what comes before it */
	MEMORY_BYTES = 2 * SEND_OFF,
};

/* Our end of a game. */
static struct end {
	const struct pingpong *game;
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_region *region;
	uint8_t *memory; /* what came, and, behind it, what goes */
	int tcp;
} end;

#define TRY(call)                                               \
	do {                                                    \
		if ((call) < 0)                                 \
			fail_msg("%s: %s", #call, rig_error()); \
	} while (0)

/* ---- TCP ------------------------------------------------------------------------------------- */

static struct sockaddr_in address_of(const char *host)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(TCP_PORT)};

	assert_int_equal(inet_pton(AF_INET, host, &address.sin_addr), 1);
	return address;
}

static int tcp_socket(void)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static int listen_for_guest(void)
{
	struct sockaddr_in address = address_of(end.game->host);
	int fd = tcp_socket();

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 1) != 0)
		fail_msg("TCP port %d: %s", TCP_PORT, strerror(errno));
	return fd;
}

/* The guest's program needs a moment before it listens. */
static int call_guest(void)
{
	struct sockaddr_in address = address_of(end.game->there);

	for (int i = 0; i < PATIENCE_S * 20; i++) {
		int fd = tcp_socket();

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		close(fd);
		usleep(50000);
	}
	fail_msg("ibv_rc_pingpong does not listen");
	return -1;
}

static void read_bytes(char *bytes, size_t len)
{
	ssize_t n = recv(end.tcp, bytes, len, MSG_WAITALL);

	if (n != (ssize_t)len)
		fail_msg("ibv_rc_pingpong sent %zd bytes of %zu", n, len);
}

static void send_record(void)
{
	struct rig_endpoint ours;
	char record[RECORD_BYTES];
	int used;

	TRY(rig_qp_endpoint(end.qp, &ours));
	used = snprintf(record, sizeof(record), "0000:%06x:%06x:", ours.qp, ours.psn);
	for (int i = 0; i < 16; i++)
		used += snprintf(record + used, sizeof(record) - (size_t)used, "%02x",
				 ours.address.gid[i]);
	assert_int_equal(used, RECORD_BYTES - 1);
	assert_int_equal(send(end.tcp, record, sizeof(record), MSG_NOSIGNAL), sizeof(record));
}

static void connect_by_record(void)
{
	struct rig_endpoint theirs = {.address.link = RIG_LINK_ETHERNET,
				      .mtu_bytes = end.game->mtu_bytes};
	char record[RECORD_BYTES + 1] = "", gid[33];

	read_bytes(record, RECORD_BYTES);
	if (sscanf(record, "%*x:%x:%x:%32s", &theirs.qp, &theirs.psn, gid) != 3)
		fail_msg("ibv_rc_pingpong sent: %s", record);
	for (int i = 0; i < 16; i++)
		sscanf(gid + 2 * i, "%2hhx", &theirs.address.gid[i]);
	TRY(rig_qp_connect(end.qp, RIG_REMOTE_WRITE, &theirs, NULL));
}

/* ---- the queue pair -------------------------------------------------------------------------- */

static void open_end(const struct pingpong *game)
{
	end = (struct end){.game = game, .memory = aligned_alloc(PAGE_BYTES, MEMORY_BYTES)};
	assert_non_null(end.memory);
	assert_true(game->len_bytes <= SEND_OFF);
	TRY(rig_open(game->nic, &end.nic));
	TRY(rig_region_create(end.nic, end.memory, MEMORY_BYTES, RIG_LOCAL, &end.region));
	TRY(rig_cq_create(end.nic, 4 * RING, &end.cq));
	TRY(rig_qp_create(end.cq, RING, RING, &end.qp));
}

static void close_end(void)
{
	close(end.tcp);
	rig_close(end.nic);
	free(end.memory);
}

static void post_receive(void)
{
	struct rig_local local;

	TRY(rig_region_local(end.region, 0, end.game->len_bytes, &local));
	TRY(rig_qp_receive(end.qp, &local));
}

static void post_send(size_t off)
{
	struct rig_local local;
	struct rig_entry entry = {
	    .op = RIG_SEND, .flags = RIG_SIGNAL_F, .pieces = &local, .piece_count = 1};

	TRY(rig_region_local(end.region, off, end.game->len_bytes, &local));
	TRY(rig_qp_post(end.qp, &entry));
	TRY(rig_qp_ring(end.qp));
}

/* Waits for a message; sends that end on the way must have ended well. */
static void await_message(int number)
{
	time_t deadline = time(NULL) + PATIENCE_S;
	struct rig_wc wc = {0};

	do {
		int n = rig_cq_poll(end.cq, &wc, 1);

		TRY(n);
		if (n == 0) {
			usleep(NAP_US);
			wc.kind = RIG_WC_ENTRY;
		} else if (wc.status != RIG_OK) {
			fail_msg("message %d ended with \"%s\"", number,
				 rig_status_text((enum rig_status)wc.status));
		}
		if (time(NULL) > deadline)
			fail_msg("message %d does not come", number);
	} while (wc.kind != RIG_WC_RECEIVE);
	if (wc.len_bytes != end.game->len_bytes)
		fail_msg("message %d has %u bytes, expected %u", number, wc.len_bytes,
			 end.game->len_bytes);
}

/* What ibv_rc_pingpong says to begin with: its option -c puts a 0 at the start of each page. */
static void check_greeting(void)
{
	for (uint32_t i = 0; i < end.game->len_bytes; i++)
		if (end.memory[i] != (i % PAGE_BYTES == 0 ? 0 : 0x7b))
			fail_msg("byte %u of a message is 0x%02x", i, end.memory[i]);
}

/* ---- the game -------------------------------------------------------------------------------- */

static void expect_good_end(void)
{
	const char *answer = agent_end(end.game->guest, PATIENCE_S * 1000);

	if (strcmp(answer, "status=0") != 0)
		fail_msg("ibv_rc_pingpong ended with %s", answer);
}

static void begin_guest(const char *host)
{
	const struct pingpong *game = end.game;

	agent_begin(game->guest, "run ibv_rc_pingpong -d rxe0 -g %d -c -m %u -n %d -s %u %s",
		    agent_gid_index(game->guest, SIDE_IPV4), game->mtu_bytes, game->count,
		    game->len_bytes, host);
}

void pingpong_serve(const struct pingpong *game)
{
	char done[5];
	int door;

	open_end(game);
	door = listen_for_guest();
	begin_guest(game->host);
	end.tcp = accept(door, NULL, NULL);
	close(door);
	if (end.tcp < 0)
		fail_msg("ibv_rc_pingpong does not call: %s", strerror(errno));
	connect_by_record();
	post_receive();
	send_record();
	read_bytes(done, sizeof(done));
	for (int i = 0; i < game->count; i++) {
		await_message(i);
		check_greeting();
		post_receive();
		post_send(0);
	}
	expect_good_end();
	close_end();
}

void pingpong_call(const struct pingpong *game)
{
	open_end(game);
	begin_guest("");
	end.tcp = call_guest();
	send_record();
	connect_by_record();
	post_receive();
	assert_int_equal(send(end.tcp, "done", 5, MSG_NOSIGNAL), 5);
	interop_pattern_put(end.memory + SEND_OFF, game->len_bytes, SEED);
	for (uint32_t i = 0; i < game->len_bytes; i += PAGE_BYTES)
		end.memory[SEND_OFF + i] = 0; /* what its option -c looks for */
	for (int i = 0; i < game->count; i++) {
		memset(end.memory, 0, SEND_OFF);
		post_send(SEND_OFF);
		await_message(i);
		if (memcmp(end.memory, end.memory + SEND_OFF, game->len_bytes) != 0)
			fail_msg("message %d comes back with other data", i);
		post_receive();
	}
	expect_good_end();
	close_end();
}
