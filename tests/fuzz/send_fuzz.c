/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * send_fuzz.c - a whole run of `rig5 send` before a receiver that may say and do anything in any
 * order, on a machine where anything may be late, and files may change.
 *
 * Beyond no crash: it ends, and has given back what it took; it sends no more than it was given
 * credit for, each piece of the right length and place, and with the file's bytes also when the NIC
 * reads them late; its messages come in the protocol's order with the right digests; it reports
 * success only after a DONE that followed the last digest; and with a good peer it does.
 */
#include "tests/fuzz/fuzz_xfer.h"

#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that are made up: their names are their numbers. */
static int fake_open(const char *path);
static int fake_fstat(int fd, struct stat *st);
static ssize_t fake_read(int fd, void *dst, size_t len);
static int fake_close(int fd);
#define open(path, flags)  fake_open(path)
#define fstat(fd, st)      fake_fstat(fd, st)
#define read(fd, dst, len) fake_read(fd, dst, len)
#define close(fd)          fake_close(fd)
#include "tools/frame.c"
#include "tools/send.c"
#include "tools/units.c"
#include "tools/xfer.c"
#include "tools/xfer_proto.c"
#undef open
#undef fstat
#undef read
#undef close

enum { FD_FIRST = 100, SENDS_MAX = 4 * XFER_SLOTS, FILES_MAX = 6 };

/* The receiver. */
static struct peer {
	bool hello_heard, offer_heard, hello_said, accept_said, done_said;
	uint32_t digests;      /* heard */
	uint32_t aborts;       /* heard */
	uint32_t chunk_bytes, slots;
	uint64_t granted;      /* sends that it may have had by now */
	uint64_t posted, sent; /* sends that it posted, and that completed */
	uint32_t receives;     /* for credit */
	uint32_t owed;         /* credit not told yet */
	uint32_t file;         /* what the next piece has to be of */
	uint64_t offset;
	struct rig_local sends[SENDS_MAX];
	uint64_t offsets[SENDS_MAX];
	uint32_t files[SENDS_MAX];
	int open_fd;
	uint64_t read_bytes;
} peer;

/* ---- files --------------------------------------------------------------------------------------
 */

static int fake_open(const char *path)
{
	uint32_t file = (uint32_t)(path[0] - 'a');

	FUZZ_CHECK(file < world.file_count && peer.open_fd < 0);
	if (world_byte() == 0xff) {
		world_bad();
		errno = EACCES;
		return -1;
	}
	peer.read_bytes = 0;
	peer.open_fd = FD_FIRST + (int)file;
	return peer.open_fd;
}

static int fake_fstat(int fd, struct stat *st)
{
	uint64_t size = world.sizes[fd - FD_FIRST];
	uint8_t how = world_byte();

	FUZZ_CHECK(fd == peer.open_fd);
	*st = (struct stat){
	    .st_mode = S_IFREG | 0640, .st_ino = (ino_t)fd, .st_size = (off_t)size};
	if (how < 0xf8)
		return 0;
	world_bad();
	if (how == 0xf8)
		st->st_mode = S_IFIFO;
	else if (how == 0xf9 && size > 0 && peer.offer_heard)
		st->st_size--;
	else
		st->st_mtim.tv_nsec = how;
	return 0;
}

static ssize_t fake_read(int fd, void *dst, size_t len)
{
	uint32_t file = (uint32_t)(fd - FD_FIRST);
	uint64_t left = world.sizes[file] - peer.read_bytes;
	uint8_t how = world_byte();

	FUZZ_CHECK(fd == peer.open_fd);
	if (how >= 0xfc) {
		errno = how == 0xfc ? EIO : EINTR;
		if (how == 0xfc)
			world_bad();
		return -1;
	}
	if (how == 0xfb) { /* it became shorter */
		world_bad();
		return 0;
	}
	if (how >= 0x80)
		len = len < how ? len : how;
	len = len < left ? len : left;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = world_content(file, peer.read_bytes + i);
	peer.read_bytes += len;
	return (ssize_t)len;
}

static int fake_close(int fd)
{
	FUZZ_CHECK(fd == peer.open_fd);
	peer.open_fd = -1;
	return 0;
}

/* ---- what it sends ------------------------------------------------------------------------------
 */

static int fake_qp_post(const struct rig_entry *entry)
{
	const struct rig_local *piece = entry->pieces;
	uint64_t left;

	FUZZ_CHECK(entry->op == RIG_SEND && entry->piece_count == 1 && peer.accept_said);
	FUZZ_CHECK(peer.posted < peer.granted && peer.posted - peer.sent < SENDS_MAX);
	while (peer.file < world.file_count && peer.offset == world.sizes[peer.file]) {
		peer.file++;
		peer.offset = 0;
	}
	FUZZ_CHECK(peer.file < world.file_count);
	left = world.sizes[peer.file] - peer.offset;
	FUZZ_CHECK(piece->len_bytes == (left < peer.chunk_bytes ? left : peer.chunk_bytes));
	peer.sends[peer.posted % SENDS_MAX] = *piece;
	peer.files[peer.posted % SENDS_MAX] = peer.file;
	peer.offsets[peer.posted % SENDS_MAX] = peer.offset;
	peer.offset += piece->len_bytes;
	peer.posted++;
	return 0;
}

static int fake_qp_receive(const struct rig_local *local)
{
	FUZZ_CHECK(local->len_bytes == 0 && peer.receives < XFER_SLOTS);
	peer.receives++;
	return 0;
}

/* The NIC reads the oldest piece only now. */
static void deliver(struct rig_wc *wc)
{
	uint64_t at = peer.sent++ % SENDS_MAX;
	const uint8_t *bytes = world_buf + peer.sends[at].addr;

	for (uint32_t i = 0; i < peer.sends[at].len_bytes; i++)
		FUZZ_CHECK(bytes[i] == world_content(peer.files[at], peer.offsets[at] + i));
	*wc = (struct rig_wc){.kind = RIG_WC_ENTRY, .status = RIG_OK};
	peer.owed++;
}

static void give_credit_of(struct rig_wc *wc, uint32_t imm, uint8_t flags)
{
	peer.receives--;
	*wc = (struct rig_wc){
	    .kind = RIG_WC_RECEIVE, .status = RIG_OK, .flags = flags, .imm = imm};
	/* What is more than it has, the sender refuses. */
	if (flags & RIG_WC_IMM_F && peer.granted + imm <= peer.posted + peer.slots)
		peer.granted += imm;
}

static int peer_polled(struct rig_wc *wc, int max)
{
	uint8_t how = world_byte();
	uint32_t count = how < 0x80 ? UINT32_MAX : how & 7;
	int n = 0;

	if (how >= 0xf8 && peer.receives) {
		world_bad();
		give_credit_of(wc, how & 1 ? fuzz_u8(&world.in) : fuzz_u32(&world.in),
			       how & 2 ? RIG_WC_IMM_F : 0);
		return 1;
	}
	if (how >= 0xf0 && how < 0xf8 && peer.sent < peer.posted) {
		world_bad();
		*wc = (struct rig_wc){.kind = how & 1 ? RIG_WC_UNKNOWN : RIG_WC_ENTRY,
				      .status = RIG_UNEXPECTED};
		return 1;
	}
	for (; n < max && count && peer.sent < peer.posted; count--)
		deliver(&wc[n++]);
	if (n < max && peer.owed && peer.receives && count) {
		give_credit_of(&wc[n++], peer.owed, RIG_WC_IMM_F);
		peer.owed = 0;
	}
	return n;
}

/* ---- what it says, and what it is told ----------------------------------------------------------
 */

static void heard_digest(const uint8_t *payload, size_t len)
{
	uint8_t digest[XFER_DIGEST_BYTES], right[XFER_DIGEST_BYTES];
	uint32_t index = 0;

	FUZZ_CHECK(xfer_decode_digest(payload, len, &index, digest) == 0);
	FUZZ_CHECK(peer.accept_said && index == peer.digests && index < world.file_count);
	world_digest(index, right);
	FUZZ_CHECK(memcmp(digest, right, sizeof(right)) == 0);
	peer.digests++;
}

static void heard_offer(const uint8_t *payload, size_t len)
{
	static struct xfer_file files[XFER_FILES_MAX];

	FUZZ_CHECK(peer.hello_said && !peer.offer_heard);
	FUZZ_CHECK(xfer_decode_offer(payload, len, files) == (int)world.file_count);
	for (uint32_t i = 0; i < world.file_count; i++)
		FUZZ_CHECK(files[i].size_bytes == world.sizes[i] && files[i].mode == 0640 &&
			   files[i].name[0] == 'a' + (int)i);
	FUZZ_CHECK(peer.receives == XFER_SLOTS);
	peer.offer_heard = true;
}

static void peer_heard(uint16_t type, const uint8_t *payload, size_t len)
{
	char why[XFER_ABORT_MAX + 1];
	struct xfer_hello hello;

	FUZZ_CHECK(peer.aborts == 0);
	switch ((enum xfer_type)type) {
	case XFER_HELLO:
		FUZZ_CHECK(!peer.hello_heard);
		FUZZ_CHECK(xfer_decode_hello(payload, len, &hello) == 0);
		peer.hello_heard = true;
		return;
	case XFER_OFFER:
		heard_offer(payload, len);
		return;
	case XFER_DIGEST:
		heard_digest(payload, len);
		return;
	case XFER_ABORT:
		FUZZ_CHECK(xfer_decode_abort(payload, len, why) == 0 && !world.good);
		peer.aborts++;
		return;
	case XFER_ACCEPT:
	case XFER_DONE:
		break;
	}
	FUZZ_CHECK(!"a message that only a receiver sends");
}

static void said_hello(const struct xfer_hello *hello)
{
	if (peer.hello_said)
		return;
	peer.chunk_bytes =
	    hello->chunk_bytes < XFER_CHUNK_BYTES ? hello->chunk_bytes : XFER_CHUNK_BYTES;
	peer.slots = hello->slots;
	peer.granted = hello->slots;
	peer.hello_said = true;
}

static void peer_noise(uint16_t type, const uint8_t *payload, size_t len)
{
	struct xfer_hello hello;

	if (type == XFER_HELLO && xfer_decode_hello(payload, len, &hello) == 0)
		said_hello(&hello);
	if (type == XFER_ACCEPT && peer.offer_heard)
		peer.accept_said = true;
}

static size_t say_hello(void)
{
	static const uint32_t chunks[] = {512, 512, 513, 1000, 4096, XFER_CHUNK_BYTES,
					  XFER_CHUNK_MAX};
	static const uint32_t slots[] = {16, 2, 3, 4, 8, 200, XFER_SLOTS_MAX};
	struct xfer_hello hello = {.chunk_bytes = chunks[world_byte() % 7],
				   .slots = slots[world_byte() % 7]};

	(void)rig_endpoint_print(&world_endpoint, hello.endpoint, sizeof(hello.endpoint));
	if (world_byte() == 0xff) {
		world_bad();
		hello.endpoint[world_byte() % 16] ^= 0x20;
	}
	said_hello(&hello);
	return (size_t)xfer_encode_hello(&hello, world.payload, sizeof(world.payload));
}

static void peer_out_of_turn(uint8_t kind, uint16_t *type, size_t *len)
{
	static const uint16_t types[] = {XFER_HELLO, XFER_ACCEPT, XFER_DONE, XFER_ABORT};

	*type = types[kind];
	*len = 0;
	if (kind == 0)
		*len = say_hello();
	else if (kind == 2)
		*len = (size_t)xfer_encode_done(world.file_count, world.payload, 4);
	else if (kind == 3)
		*len = (size_t)xfer_encode_abort("no", world.payload, 16);
	peer_noise(*type, world.payload, *len);
}

static bool peer_says(uint16_t *type, size_t *len)
{
	*len = 0;
	if (peer.hello_heard && !peer.hello_said) {
		*type = XFER_HELLO;
		*len = say_hello();
	} else if (peer.offer_heard && !peer.accept_said) {
		*type = XFER_ACCEPT;
		peer.accept_said = true;
	} else if (peer.accept_said && peer.digests == world.file_count && !peer.done_said) {
		*type = XFER_DONE;
		*len = (size_t)xfer_encode_done(peer.digests, world.payload, 4);
		peer.done_said = true;
	} else {
		return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct send_options options = {.timeout_s = WORLD_TIMEOUT_S, .quiet = true};
	char names[FILES_MAX][2] = {{0}}, *paths[FILES_MAX];
	int status;

	if (size > 4096)
		return 0;
	world_open(data, size);
	peer = (struct peer){.open_fd = -1};
	world.file_count = 1 + world_byte() % FILES_MAX;
	for (uint32_t i = 0; i < world.file_count; i++) {
		world.sizes[i] = world_size();
		names[i][0] = (char)('a' + i);
		paths[i] = names[i];
	}
	status = send_paths(paths, world.file_count, &options);
	world_closed();
	FUZZ_CHECK(peer.open_fd == -1);
	FUZZ_CHECK(status == TOOL_OK || status == TOOL_FAILED);
	if (status == TOOL_OK)
		FUZZ_CHECK(peer.digests == world.file_count && peer.aborts == 0);
	if (world.good)
		FUZZ_CHECK(status == TOOL_OK && peer.done_said);
	return 0;
}
