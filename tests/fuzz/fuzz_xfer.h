/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_xfer.h - the world around one end of a file transfer, for targets that run it from its first
 * message to its last: time, the connection, the queue pair, the thread that computes digests.
 *
 * Nothing here waits: time moves when the program would have. Each thing that the world decides
 * takes a byte of the input, and 0 is what a good peer on a quick machine does, so that an input
 * that ends lets the transfer go on to its end. What only a bad peer or a bad machine does takes
 * world.good away.
 *
 * A target includes this, then the sources of its end, and says what its peer does: peer_heard,
 * peer_says, peer_polled.
 */
#ifndef TESTS_FUZZ_FUZZ_XFER_H
#define TESTS_FUZZ_FUZZ_XFER_H

#include "include/rig5.h"
#include "tests/fuzz/fuzz.h"
#include "tools/hasher.h"
#include "tools/link.h"
#include "tools/net.h"
#include "tools/progress.h"
#include "tools/tools.h"
#include "tools/xfer.h"

#include <errno.h>
#include <stdarg.h>

enum {
	WORLD_FILES_MAX = 80,
	WORLD_JOBS_MAX = 1024,
	WORLD_WAITS_MAX = 20, /* for nothing; a good peer takes no longer */
	WORLD_TIMEOUT_S = 30,
};

struct world_job {
	const uint8_t *data; /* NULL: the file ends */
	size_t len;
	uint8_t *digest;
};

static struct world {
	struct fuzz_in in;
	bool good;
	uint64_t now_ns;
	uint32_t waits;
	bool connected, paired, hashing;
	uint32_t file_count;
	uint64_t sizes[WORLD_FILES_MAX];
	/* the hasher */
	struct world_job jobs[WORLD_JOBS_MAX];
	uint32_t job_first, job_count;
	uint64_t pieces, hashed_files, state;
	/* the message that is being given */
	uint8_t payload[1 << 16];
	bool gone; /* the connection is */
} world;

static uint8_t world_buf[XFER_SLOTS * XFER_CHUNK_BYTES];

/* What the target's peer does. */
static void peer_heard(uint16_t type, const uint8_t *payload, size_t len);
/* peer_says - the next message, whose payload is at world.payload; false: none yet. */
static bool peer_says(uint16_t *type, size_t *len);
/* peer_out_of_turn - one of the four kinds of messages that it may say at all, now. */
static void peer_out_of_turn(uint8_t kind, uint16_t *type, size_t *len);
/* peer_noise - it said this, which need not make sense. */
static void peer_noise(uint16_t type, const uint8_t *payload, size_t len);
/* peer_polled - up to max completions. */
static int peer_polled(struct rig_wc *wc, int max);

static uint8_t world_byte(void)
{
	return fuzz_u8(&world.in);
}

static void world_bad(void)
{
	world.good = false;
}

/* Something that the program may not see done at once. */
static void world_waits(int timeout_ms)
{
	world.now_ns += (uint64_t)timeout_ms * 1000000;
	if (timeout_ms > 1000 || ++world.waits > WORLD_WAITS_MAX)
		world_bad();
}

/* ---- files --------------------------------------------------------------------------------------
 */

static uint8_t world_content(uint32_t file, uint64_t at)
{
	return (uint8_t)(file * 57 + at * 31 + (at >> 8) * 7);
}

static uint64_t hash_start(void)
{
	return 14695981039346656037ull;
}

static uint64_t hash_add(uint64_t state, uint8_t byte)
{
	return (state ^ byte) * 1099511628211ull;
}

static void digest_of(uint64_t state, uint8_t digest[static XFER_DIGEST_BYTES])
{
	for (int i = 0; i < XFER_DIGEST_BYTES; i++)
		digest[i] = (uint8_t)(state >> i % 8 * 8);
}

/* What the digest of that file has to be. */
static void world_digest(uint32_t file, uint8_t digest[static XFER_DIGEST_BYTES])
{
	uint64_t state = hash_start();

	for (uint64_t at = 0; at < world.sizes[file]; at++)
		state = hash_add(state, world_content(file, at));
	digest_of(state, digest);
}

/* Sizes around pieces of 512 bytes; one in a while of more than there are slots. */
static uint64_t world_size(void)
{
	uint8_t kind = world_byte();

	if (kind < 0x80)
		return kind;
	if (kind < 0xf0)
		return (uint64_t)(kind & 0x1f) * 512 + world_byte() % 3 - (kind & 0x1f ? 1 : 0);
	return 16384 + fuzz_u16(&world.in) % 16384;
}

/* ---- the hasher: never sooner than it says, and of what is there then ---------------------------
 */

static void hash_jobs(uint32_t count)
{
	for (; count && world.job_count; count--, world.job_count--) {
		struct world_job *job = &world.jobs[world.job_first++ % WORLD_JOBS_MAX];

		if (!job->data) {
			digest_of(world.state, job->digest);
			world.state = hash_start();
			world.hashed_files++;
			continue;
		}
		for (size_t i = 0; i < job->len; i++)
			world.state = hash_add(world.state, job->data[i]);
		world.pieces++;
	}
}

static void hash_some(void)
{
	uint8_t how = world_byte();

	hash_jobs(how < 0x80 ? UINT32_MAX : how & 3);
}

int hasher_create(struct hasher **hasher)
{
	if (world_byte() == 0xff) {
		world_bad();
		return -EAGAIN;
	}
	world.hashing = true;
	world.state = hash_start();
	*hasher = (void *)&world;
	return 0;
}

void hasher_destroy(struct hasher *hasher)
{
	FUZZ_CHECK(!hasher == !world.hashing);
	world.hashing = false;
}

static void job_add(struct world_job job)
{
	FUZZ_CHECK(world.hashing);
	while (world.job_count >= 512)
		hash_jobs(1);
	world.jobs[(world.job_first + world.job_count++) % WORLD_JOBS_MAX] = job;
}

void hasher_push(struct hasher *hasher, const void *data, size_t len_bytes)
{
	(void)hasher;
	job_add((struct world_job){.data = data, .len = len_bytes});
}

void hasher_finish(struct hasher *hasher, uint8_t digest[static HASHER_DIGEST_BYTES])
{
	(void)hasher;
	job_add((struct world_job){.digest = digest});
}

uint64_t hasher_pieces(struct hasher *hasher)
{
	(void)hasher;
	hash_some();
	return world.pieces;
}

uint64_t hasher_files(struct hasher *hasher)
{
	(void)hasher;
	hash_some();
	return world.hashed_files;
}

void hasher_wait(struct hasher *hasher, int timeout_ms)
{
	(void)hasher;
	world.now_ns += (uint64_t)timeout_ms * 1000;
	hash_jobs(1);
}

/* ---- the connection -----------------------------------------------------------------------------
 */

int net_conn_init(struct net_conn *conn, int fd, size_t size_max)
{
	*conn = (struct net_conn){.fd = fd, .payload_max = size_max};
	world.connected = true;
	return 0;
}

void net_conn_close(struct net_conn *conn)
{
	FUZZ_CHECK(world.connected == (conn->fd >= 0));
	world.connected = false;
	conn->fd = -1;
}

int net_send(struct net_conn *conn, uint16_t type, const void *payload, size_t len_bytes,
	     int timeout_ms)
{
	uint8_t how = world_byte();

	FUZZ_CHECK(conn->fd >= 0 && timeout_ms > 0);
	if (world.gone || how >= 0xfe) {
		world_bad();
		return how & 1 ? -ETIMEDOUT : -ECONNRESET;
	}
	peer_heard(type, payload, len_bytes);
	return 0;
}

/* Any message, or a broken stream. */
static int net_noise(uint8_t how, uint16_t *type, size_t *len)
{
	static const int errors[] = {-ECONNRESET, -EPROTO, -EMSGSIZE, -EINTR};

	world_bad();
	if (how >= 0xfc) {
		world.gone = how == 0xfc;
		return errors[how & 3];
	}
	if (how < 0xf4) {
		peer_out_of_turn(how & 3, type, len);
		return 0;
	}
	*type = how < 0xf8 ? XFER_ABORT : how < 0xfb ? how & 7 : fuzz_u16(&world.in);
	*len = fuzz_u8(&world.in);
	fuzz_bytes(&world.in, world.payload, *len);
	peer_noise(*type, world.payload, *len);
	return 0;
}

int net_receive(struct net_conn *conn, struct frame *frame, int timeout_ms)
{
	uint8_t how = world_byte();
	size_t len = 0;

	FUZZ_CHECK(conn->fd >= 0 && timeout_ms >= 0);
	frame->payload = world.payload;
	if (world.gone)
		return -ECONNRESET;
	if (how >= 0xf0) {
		int err = net_noise(how, &frame->type, &len);

		if (err)
			return err;
	} else if (how >= 0xc0 || !peer_says(&frame->type, &len)) {
		if (timeout_ms)
			world_waits(timeout_ms);
		return timeout_ms ? -ETIMEDOUT : -EAGAIN;
	}
	if (len > conn->payload_max)
		return -EMSGSIZE;
	frame->len_bytes = len;
	return 0;
}

const char *net_error_text(int err)
{
	return err == -ECONNRESET ? "gone" : "error";
}

int net_connect(const struct net_address *address, int timeout_ms, int *fd,
		char why[static NET_WHY])
{
	(void)address;
	(void)timeout_ms;
	if (world_byte() == 0xff) {
		world_bad();
		snprintf(why, NET_WHY, "no");
		return -ECONNREFUSED;
	}
	*fd = 3;
	return 0;
}

/* ---- the queue pair -----------------------------------------------------------------------------
 */

static const struct rig_endpoint world_endpoint = {
    .qp = 0x4011,
    .psn = 7,
    .address = {.link = RIG_LINK_ETHERNET, .gid = {[10] = 0xff, 0xff, 127, 0, 0, 1}},
    .mtu_bytes = 4096};

int link_open(struct link *link, const char *nic_name, size_t buf_bytes, enum rig_access access)
{
	(void)nic_name;
	FUZZ_CHECK(buf_bytes == sizeof(world_buf) && access == RIG_LOCAL);
	*link = (struct link){.buf = world_buf, .buf_bytes = buf_bytes};
	return 0;
}

void link_close(struct link *link)
{
	FUZZ_CHECK(!world.paired);
	link->buf = NULL;
}

int link_pair(struct link *link, int entries, int receives)
{
	FUZZ_CHECK(!world.paired && entries > 0 && receives > 0);
	if (world_byte() == 0xff) {
		world_bad();
		return -ENOMEM;
	}
	link->qp = (void *)&world;
	world.paired = true;
	return 0;
}

/* From here on the NIC writes nowhere any more. */
void link_unpair(struct link *link)
{
	FUZZ_CHECK(!link->qp == !world.paired);
	link->qp = NULL;
	world.paired = false;
}

int link_poll(struct link *link, struct rig_wc *wc, int max, int timeout_ms)
{
	int n;

	FUZZ_CHECK(link->qp && max > 0);
	n = peer_polled(wc, max);
	FUZZ_CHECK(n <= max);
	if (n == 0 && timeout_ms)
		world_waits(timeout_ms);
	return n;
}

static int fake_qp_endpoint(const struct rig_qp *qp, struct rig_endpoint *endpoint)
{
	FUZZ_CHECK(qp);
	*endpoint = world_endpoint;
	return 0;
}

static int fake_qp_connect(const struct rig_qp *qp, enum rig_access access,
			   const struct rig_endpoint *peer)
{
	FUZZ_CHECK(qp && access == RIG_LOCAL && peer->qp <= 0xffffff);
	return 0;
}

static int fake_region_local(uint64_t offset_bytes, uint64_t len_bytes, struct rig_local *local)
{
	FUZZ_CHECK(offset_bytes <= sizeof(world_buf) &&
		   len_bytes <= sizeof(world_buf) - offset_bytes);
	memset(local, 0, sizeof(*local));
	local->addr = offset_bytes;
	local->len_bytes = (uint32_t)len_bytes;
	return 0;
}

/* The target's: one entry or receive. */
static int fake_qp_post(const struct rig_entry *entry);
static int fake_qp_receive(const struct rig_local *local);

#define rig_qp_endpoint(qp, endpoint)                 fake_qp_endpoint(qp, endpoint)
#define rig_qp_connect(qp, access, peer, path)        fake_qp_connect(qp, access, peer)
#define rig_region_local(region, offset, len, local)  fake_region_local(offset, len, local)
#define rig_qp_post(qp, entry)                        fake_qp_post(entry)
#define rig_qp_ring(qp)                               0
#define rig_qp_receive(qp, local)                     fake_qp_receive(local)
#define rig_wc_text(wc, text, size)                   ((void)(wc), *(text) = '\0')

/* ---- the rest -----------------------------------------------------------------------------------
 */

uint64_t progress_now_ns(void)
{
	return world.now_ns;
}

void progress_start(struct progress *progress, uint64_t total_bytes, bool quiet)
{
	*progress = (struct progress){.total_bytes = total_bytes, .shown = !quiet};
	progress->start_ns = world.now_ns;
}

void progress_update(struct progress *progress, uint64_t done_bytes)
{
	FUZZ_CHECK(done_bytes <= progress->total_bytes);
	world.now_ns += 1000;
}

void progress_clear(struct progress *progress)
{
	progress->drawn = false;
}

void tool_error(const char *format, ...)
{
	FUZZ_CHECK(format);
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
	if (world_byte() != 0xff)
		return 0;
	world_bad();
	return 15;
}

void tool_stop_exit(void)
{
}

int net_address_parse(const char *text, uint16_t port_default, uint16_t port_min,
		      struct net_address *address)
{
	(void)text;
	(void)port_min;
	address->port = port_default;
	return 0;
}

/* Results for people. */
static void say_nothing(const char *format, ...)
{
	(void)format;
}
#define printf(...) say_nothing(__VA_ARGS__)

static void world_open(const uint8_t *data, size_t size)
{
	memset(&world, 0, sizeof(world) - sizeof(world.payload) - sizeof(world.gone));
	world.gone = false;
	world.good = true;
	world.in = (struct fuzz_in){data, size};
	world.now_ns = 1000000000;
}

static void world_closed(void)
{
	FUZZ_CHECK(!world.connected && !world.paired && !world.hashing);
}

#endif
