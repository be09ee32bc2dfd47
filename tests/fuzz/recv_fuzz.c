/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recv_fuzz.c - a whole run of `rig5 recv` before a sender that may say and do anything in any
 * order, on a machine where anything may be late, and the directory may refuse.
 *
 * Beyond no crash: it ends, and has given back what it took; a file gets a name that was offered,
 * once, and only with as many bytes as were offered and the digest that the sender gave for it;
 * what is written is what was sent, though the NIC may write into a receive as soon as it is
 * posted; credit is given for receives that are there; success is every file having its name, and a
 * good sender has it.
 */
#include "tests/fuzz/fuzz_xfer.h"

#include "tools/sink.h"

#include <getopt.h>
#include <unistd.h>

#include "tools/frame.c"
#include "tools/recv.c"
#include "tools/units.c"
#include "tools/xfer.c"
#include "tools/xfer_proto.c"

enum { FD_FIRST = 100, RECEIVES_MAX = XFER_SLOTS };

/* A file as the directory has it. */
struct stored {
	bool open, named;
	uint64_t bytes, state; /* state: of the hash of what was written */
};

/* The sender. */
static struct peer {
	bool hello_heard, hello_said, offer_said, accept_heard, done_heard;
	uint32_t aborts;
	uint32_t chunk_bytes;
	uint64_t credit; /* receives that it was told of */
	uint32_t digests;
	uint32_t file; /* what it sends next */
	uint64_t offset;
	uint64_t posted, filled; /* receives */
	struct rig_local receives[RECEIVES_MAX];
	uint32_t unsent; /* credit messages that did not complete yet */
	bool deaf;       /* it takes no more of them */
	uint32_t begun;  /* files */
	struct stored stored[WORLD_FILES_MAX];
	uint8_t said[WORLD_FILES_MAX][XFER_DIGEST_BYTES]; /* digests */
} peer;

static struct xfer_file offered[XFER_FILES_MAX]; /* by the sender */
static struct xfer_file taken[XFER_FILES_MAX];   /* by the receiver */

int net_listen(struct net_address *address, int *fd, char why[static NET_WHY])
{
	(void)address;
	(void)why;
	*fd = -1;
	return -EINVAL;
}

int net_accept(int listen_fd, int *fd, struct net_address *peer_address)
{
	(void)peer_address;
	*fd = listen_fd;
	return -EINTR;
}

/* ---- the directory ------------------------------------------------------------------------------
 */

static int refuse(int err, char why[static SINK_WHY])
{
	world_bad();
	snprintf(why, SINK_WHY, "no");
	return err;
}

int sink_open(struct sink *sink, const char *dir, char why[static SINK_WHY])
{
	(void)dir;
	(void)why;
	sink->dir_fd = 9;
	return 0;
}

void sink_close(struct sink *sink)
{
	sink->dir_fd = -1;
}

int sink_check(const struct sink *sink, const struct xfer_file *files, int count,
	       uint64_t max_bytes, char why[static SINK_WHY])
{
	uint64_t total = 0;

	FUZZ_CHECK(sink->dir_fd == 9 && count >= 1 && count <= XFER_FILES_MAX);
	for (int i = 0; i < count; i++)
		total += files[i].size_bytes;
	if (world_byte() == 0xff || total > max_bytes || count > WORLD_FILES_MAX)
		return refuse(-EFBIG, why);
	memcpy(taken, files, (size_t)count * sizeof(*files));
	world.file_count = (uint32_t)count;
	return 0;
}

int sink_begin(struct sink *sink, struct sink_file *file, char why[static SINK_WHY])
{
	struct stored *stored = &peer.stored[peer.begun];

	FUZZ_CHECK(sink->dir_fd == 9 && file->fd < 0 && peer.begun < world.file_count);
	if (world_byte() == 0xff)
		return refuse(-EMFILE, why);
	*stored = (struct stored){.open = true, .state = hash_start()};
	*file = (struct sink_file){.fd = FD_FIRST + (int)peer.begun++};
	return 0;
}

static struct stored *stored_of(const struct sink_file *file)
{
	struct stored *stored = &peer.stored[file->fd - FD_FIRST];

	FUZZ_CHECK(file->fd >= FD_FIRST && file->fd < FD_FIRST + (int)peer.begun && stored->open);
	return stored;
}

int sink_write(struct sink_file *file, const void *data, size_t len_bytes,
	       char why[static SINK_WHY])
{
	struct stored *stored = stored_of(file);

	if (world_byte() == 0xff)
		return refuse(-ENOSPC, why);
	for (size_t i = 0; i < len_bytes; i++)
		stored->state = hash_add(stored->state, ((const uint8_t *)data)[i]);
	stored->bytes += len_bytes;
	file->offset_bytes += len_bytes;
	FUZZ_CHECK(stored->bytes <= taken[file->fd - FD_FIRST].size_bytes);
	return 0;
}

int sink_commit(const struct sink *sink, struct sink_file *file, const struct xfer_file *as,
		char why[static SINK_WHY])
{
	uint32_t number = (uint32_t)(file->fd - FD_FIRST);
	struct stored *stored = stored_of(file);
	uint8_t digest[XFER_DIGEST_BYTES];

	FUZZ_CHECK(sink->dir_fd == 9 && strcmp(as->name, taken[number].name) == 0);
	FUZZ_CHECK(!strchr(as->name, '/') && as->mode <= 0777);
	FUZZ_CHECK(stored->bytes == taken[number].size_bytes);
	digest_of(stored->state, digest);
	FUZZ_CHECK(number < peer.digests &&
		   memcmp(digest, peer.said[number], sizeof(digest)) == 0);
	stored->open = false;
	file->fd = -1;
	if (world_byte() == 0xff)
		return refuse(-EEXIST, why);
	FUZZ_CHECK(!stored->named);
	stored->named = true;
	return 0;
}

void sink_drop(const struct sink *sink, struct sink_file *file)
{
	FUZZ_CHECK(sink->dir_fd == 9);
	if (file->fd >= 0)
		stored_of(file)->open = false;
	file->fd = -1;
}

/* ---- what comes ---------------------------------------------------------------------------------
 */

/* From here on the NIC may write there: so it does. */
static int fake_qp_receive(const struct rig_local *local)
{
	FUZZ_CHECK(peer.posted - peer.filled < RECEIVES_MAX && local->len_bytes > 0);
	memset(world_buf + local->addr, 0xdb, local->len_bytes < 64 ? local->len_bytes : 64);
	peer.receives[peer.posted++ % RECEIVES_MAX] = *local;
	return 0;
}

/* Credit, which may be for receives that were posted again, and for no others. */
static int fake_qp_post(const struct rig_entry *entry)
{
	FUZZ_CHECK(entry->op == RIG_SEND && entry->piece_count == 0);
	FUZZ_CHECK(entry->inline_len_bytes == 0);
	FUZZ_CHECK(entry->flags & RIG_IMM_F && entry->imm > 0);
	peer.credit += entry->imm;
	FUZZ_CHECK(peer.credit <= peer.posted);
	if (peer.unsent == 2 * XFER_SLOTS)
		return -ENOMEM; /* the ring is full */
	peer.unsent++;
	return 0;
}

static void arrive(struct rig_wc *wc, uint32_t len)
{
	*wc = (struct rig_wc){.kind = RIG_WC_RECEIVE, .status = RIG_OK, .len_bytes = len};
	peer.filled++;
}

/* The next piece; false: there is none, or no receive that it knows of. */
static bool send_piece(struct rig_wc *wc)
{
	const struct rig_local *receive = &peer.receives[peer.filled % RECEIVES_MAX];
	uint64_t left;
	uint32_t len;

	while (peer.file < world.file_count && peer.offset == world.sizes[peer.file]) {
		peer.file++;
		peer.offset = 0;
	}
	if (peer.file >= world.file_count || peer.filled >= peer.credit ||
	    peer.filled == peer.posted)
		return false;
	left = world.sizes[peer.file] - peer.offset;
	len = left < peer.chunk_bytes ? (uint32_t)left : peer.chunk_bytes;
	if (len > receive->len_bytes)
		return false;
	for (uint32_t i = 0; i < len; i++)
		world_buf[receive->addr + i] = world_content(peer.file, peer.offset + i);
	peer.offset += len;
	arrive(wc, len);
	return true;
}

/* A message that it should not send: of another length, or more than it has credit for. */
static bool send_noise(struct rig_wc *wc)
{
	const struct rig_local *receive = &peer.receives[peer.filled % RECEIVES_MAX];

	if (peer.filled == peer.posted)
		return false;
	world_bad();
	fuzz_bytes(&world.in, world_buf + receive->addr, 8);
	arrive(wc, fuzz_u16(&world.in) % (receive->len_bytes + 1));
	wc->flags = fuzz_u8(&world.in) & RIG_WC_IMM_F;
	return true;
}

static int peer_polled(struct rig_wc *wc, int max)
{
	uint8_t how = world_byte();
	uint32_t count = how < 0x80 ? UINT32_MAX : how & 7;
	int n = 0;

	if (how >= 0xf8 && send_noise(wc))
		return 1;
	if (how == 0xef) {
		world_bad();
		peer.deaf = true;
	}
	if (how >= 0xf0 && how < 0xf8) {
		world_bad();
		*wc = (struct rig_wc){.kind = how & 1 ? RIG_WC_UNKNOWN : RIG_WC_RECEIVE,
				      .status = RIG_UNEXPECTED};
		return 1;
	}
	for (; n < max && count && peer.unsent && !peer.deaf; count--) {
		wc[n++] = (struct rig_wc){.kind = RIG_WC_ENTRY, .status = RIG_OK};
		peer.unsent--;
	}
	for (; n < max && count && peer.accept_heard && send_piece(&wc[n]); count--)
		n++;
	return n;
}

/* ---- what it says, and what it is told ----------------------------------------------------------
 */

static void peer_heard(uint16_t type, const uint8_t *payload, size_t len)
{
	char why[XFER_ABORT_MAX + 1];
	struct xfer_hello hello;
	uint32_t count;

	FUZZ_CHECK(peer.aborts == 0);
	switch ((enum xfer_type)type) {
	case XFER_HELLO:
		FUZZ_CHECK(!peer.hello_heard && xfer_decode_hello(payload, len, &hello) == 0);
		peer.hello_heard = true;
		peer.credit = hello.slots;
		return;
	case XFER_ACCEPT:
		FUZZ_CHECK(peer.hello_heard && !peer.accept_heard && len == 0);
		FUZZ_CHECK(peer.posted == XFER_SLOTS && peer.credit == XFER_SLOTS);
		peer.accept_heard = true;
		return;
	case XFER_DONE:
		FUZZ_CHECK(peer.accept_heard && !peer.done_heard);
		FUZZ_CHECK(xfer_decode_done(payload, len, &count) == 0 &&
			   count == world.file_count);
		peer.done_heard = true;
		return;
	case XFER_ABORT:
		FUZZ_CHECK(xfer_decode_abort(payload, len, why) == 0 && !world.good);
		peer.aborts++;
		return;
	case XFER_OFFER:
	case XFER_DIGEST:
		break;
	}
	FUZZ_CHECK(!"a message that only a sender sends");
}

static void said_digest(const uint8_t *payload, size_t len)
{
	uint8_t digest[XFER_DIGEST_BYTES];
	uint32_t index;

	if (xfer_decode_digest(payload, len, &index, digest) || index != peer.digests ||
	    index >= WORLD_FILES_MAX)
		return;
	memcpy(peer.said[index], digest, sizeof(digest));
	peer.digests++;
}

static void said_hello(const uint8_t *payload, size_t len)
{
	struct xfer_hello hello;

	if (xfer_decode_hello(payload, len, &hello) == 0)
		peer.chunk_bytes = hello.chunk_bytes < XFER_CHUNK_BYTES ? hello.chunk_bytes
									: XFER_CHUNK_BYTES;
}

static void peer_noise(uint16_t type, const uint8_t *payload, size_t len)
{
	if (type == XFER_HELLO)
		said_hello(payload, len);
	else if (type == XFER_DIGEST && peer.accept_heard)
		said_digest(payload, len);
}

static size_t say_hello(void)
{
	static const uint32_t chunks[] = {512, 512, 513, 1000, 4096, XFER_CHUNK_BYTES,
					  XFER_CHUNK_MAX};
	struct xfer_hello hello = {.chunk_bytes = chunks[world_byte() % 7],
				   .slots = XFER_SLOTS_MIN + world_byte() % 255};
	size_t len;

	(void)rig_endpoint_print(&world_endpoint, hello.endpoint, sizeof(hello.endpoint));
	len = (size_t)xfer_encode_hello(&hello, world.payload, sizeof(world.payload));
	said_hello(world.payload, len);
	return len;
}

/* Names are numbers; one that may not be, or sizes that do not add up, are a bad sender's. */
static size_t say_offer(void)
{
	uint32_t count = 1 + world_byte() % 6;
	uint8_t how = world_byte();

	if (how >= 0x80 && how < 0x90)
		count = 60 + how % 16; /* more than may wait for a digest */
	for (uint32_t i = 0; i < count; i++) {
		world.sizes[i] = count > 6 ? i % 3 : world_size();
		offered[i] = (struct xfer_file){.size_bytes = world.sizes[i], .mode = i & 0777};
		snprintf(offered[i].name, sizeof(offered[i].name), "f%u", i);
	}
	if (how >= 0xf0) {
		world_bad();
		fuzz_bytes(&world.in, offered[0].name, 4);
		if (how & 1)
			offered[0].size_bytes = world.sizes[0] = fuzz_odd(&world.in);
	}
	return (size_t)xfer_encode_offer(offered, count, world.payload, sizeof(world.payload));
}

static size_t say_digest(uint32_t index)
{
	uint8_t digest[XFER_DIGEST_BYTES];
	size_t len;

	world_digest(index, digest);
	if (world_byte() == 0xff) {
		world_bad();
		digest[world_byte() % sizeof(digest)] ^= 1;
	}
	len = (size_t)xfer_encode_digest(index, digest, world.payload,
					 sizeof(world.payload));
	said_digest(world.payload, len);
	return len;
}

/* A sender knows a digest when it has sent the file, or sooner. */
static bool digest_is_due(void)
{
	return peer.accept_heard && peer.digests < world.file_count &&
	       world.sizes[peer.digests] <= 1 << 16 &&
	       (peer.file > peer.digests || world.sizes[peer.digests] == 0 ||
		(peer.file == peer.digests && peer.offset == world.sizes[peer.file]));
}

static void peer_out_of_turn(uint8_t kind, uint16_t *type, size_t *len)
{
	static const uint16_t types[] = {XFER_HELLO, XFER_OFFER, XFER_DIGEST, XFER_ABORT};
	uint8_t other = world_byte();
	uint32_t index = other ? other % 8 : peer.digests;

	*type = types[kind];
	if (kind == 0)
		*len = say_hello();
	else if (kind == 1)
		*len = (size_t)xfer_encode_offer(offered, 1, world.payload, sizeof(world.payload));
	else if (kind == 2 && peer.accept_heard && index < WORLD_FILES_MAX &&
		 world.sizes[index] <= 1 << 16)
		*len = say_digest(index);
	else
		*len = (size_t)xfer_encode_abort("no", world.payload, 16);
}

static bool peer_says(uint16_t *type, size_t *len)
{
	if (!peer.hello_said) {
		*type = XFER_HELLO;
		*len = say_hello();
		peer.hello_said = true;
	} else if (peer.hello_heard && !peer.offer_said) {
		*type = XFER_OFFER;
		*len = say_offer();
		peer.offer_said = true;
	} else if (digest_is_due()) {
		*type = XFER_DIGEST;
		*len = say_digest(peer.digests);
	} else {
		return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct recv_options options = {
	    .timeout_s = WORLD_TIMEOUT_S, .quiet = true, .max_bytes = 1 << 20};
	static struct xfer_file files[XFER_FILES_MAX];
	struct sink sink = {.dir_fd = 9};
	struct link link;
	int err;

	if (size > 4096)
		return 0;
	world_open(data, size);
	memset(&peer, 0, sizeof(peer));
	FUZZ_CHECK(link_open(&link, NULL, sizeof(world_buf), RIG_LOCAL) == 0);
	err = serve(3, &link, &sink, files, &options);
	link_close(&link);
	world_closed();
	FUZZ_CHECK(err <= 0);
	for (uint32_t i = 0; i < peer.begun; i++)
		FUZZ_CHECK(!peer.stored[i].open && (err || peer.stored[i].named));
	if (!err)
		FUZZ_CHECK(peer.begun == world.file_count && peer.done_heard);
	if (world.good)
		FUZZ_CHECK(!err);
	return 0;
}
