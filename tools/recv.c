/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/recv.c - `rig5 recv`: takes files from a `rig5 send`.
 *
 * The main thread polls, writes what arrived, and posts its receives again; a thread of its own
 * computes the digests (hasher.h). A slot of the buffer is received into, then hashed and written,
 * then posted again. The peer can only send into receives that are posted, so what is hashed is
 * what is written.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/hasher.h"
#include "tools/progress.h"
#include "tools/sink.h"
#include "tools/tools.h"
#include "tools/units.h"
#include "tools/xfer.h"

/* Files that have all their bytes but wait for a digest; each is an open descriptor. */
#define OPEN_MAX_FILES   64
#define MAX_SIZE_DEFAULT (64ull << 30)

struct recv_options {
	struct net_address listen;
	const char *nic_name;
	const char *dir;
	uint64_t max_bytes;
	uint32_t timeout_s;
	bool keep, quiet;
};

struct incoming {
	struct sink_file file;
	uint8_t digest[XFER_DIGEST_BYTES];      /* of what arrived; by the hasher */
	uint8_t digest_sent[XFER_DIGEST_BYTES]; /* as the sender says */
};

struct receiver {
	struct xfer xfer;
	struct sink *sink;
	struct hasher *hasher;
	struct progress progress;
	struct xfer_file *files;   /* XFER_FILES_MAX */
	struct incoming *incoming; /* count */
	uint32_t count;
	uint64_t total_bytes, written_bytes;
	/* Files: [0, committed) have their names; [committed, current) have all bytes; digests_sent
	 * of the sender's digests came. current is being written if it is open. */
	uint32_t committed, current, digests_sent;
	/* Messages: posted >= arrived >= written >= hashed. */
	uint64_t posted, arrived, written;
	uint32_t owed; /* receives posted again that the sender has not been told of */
	uint32_t arrived_bytes[XFER_SLOTS];
};

static void print_help(void)
{
	printf("Usage: rig5 recv [OPTION]... [DIR]\n"
	       "Receives files by RDMA from one 'rig5 send' into DIR (default: here).\n\n"
	       "  -l, --listen ADDR[:PORT]  take senders by TCP there (default: 127.0.0.1:%u)\n"
	       "  -n, --nic NAME            use this NIC (default: the first there is)\n"
	       "  -m, --max-size SIZE       refuse a transfer of more (default: 64G)\n"
	       "  -f, --force               replace files that exist\n"
	       "  -k, --keep                go on with the next sender, until a signal\n"
	       "  -s, --sync                flush each file to disk before it gets its name\n"
	       "  -t, --timeout SECONDS     give up when nothing moves (default: 30)\n"
	       "  -q, --quiet               no progress bar and no summary\n"
	       "  -h, --help                this text\n\n"
	       "Prints \"<sha256>  <name>\" for each file, which gets its name only once the\n"
	       "digests of both sides match.\n"
	       "Exit status: 0 every file arrived and matched, 1 not so, 2 wrong command line.\n",
	       NET_PORT_DEFAULT);
}

static int post_free_slots(struct receiver *receiver)
{
	struct xfer *xfer = &receiver->xfer;
	uint64_t hashed = hasher_pieces(receiver->hasher);
	uint64_t done = receiver->written < hashed ? receiver->written : hashed;

	while (receiver->posted < done + xfer->slots) {
		uint64_t offset = receiver->posted % xfer->slots * XFER_CHUNK_BYTES;
		int err = xfer_post_receive(xfer, offset, xfer->chunk_bytes);

		if (err)
			return err;
		receiver->posted++;
		receiver->owed++;
	}
	return 0;
}

/* Tells the sender of the receives that it may use, a few at a time. */
static int give_credit(struct receiver *receiver)
{
	struct rig_entry entry = {
	    .op = RIG_SEND,
	    .flags = RIG_SIGNAL_F | RIG_INLINE_F | RIG_IMM_F,
	    .imm = receiver->owed,
	};

	if (receiver->owed < receiver->xfer.slots / 4)
		return 0;
	receiver->owed = 0;
	return xfer_post(&receiver->xfer, &entry);
}

static int take_arrivals(struct receiver *receiver, int timeout_ms)
{
	struct rig_wc wc[XFER_SLOTS];
	int n = xfer_poll(&receiver->xfer, wc, XFER_SLOTS, timeout_ms);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (wc[i].kind != RIG_WC_RECEIVE)
			continue;
		receiver->arrived_bytes[receiver->arrived % XFER_SLOTS] = wc[i].len_bytes;
		receiver->arrived++;
		xfer_moved(&receiver->xfer);
	}
	return n;
}

static int write_chunk(struct receiver *receiver, struct sink_file *file, uint64_t left_bytes)
{
	struct xfer *xfer = &receiver->xfer;
	const uint8_t *data = xfer_slot(xfer, receiver->written);
	uint32_t len = receiver->arrived_bytes[receiver->written % XFER_SLOTS];
	char why[SINK_WHY];
	int err;

	if (len != (left_bytes < xfer->chunk_bytes ? left_bytes : xfer->chunk_bytes))
		return xfer_fail(xfer, -EPROTO, "the sender sent a piece of the wrong size");
	hasher_push(receiver->hasher, data, len);
	err = sink_write(file, data, len, why);
	if (err)
		return xfer_fail(xfer, err, "%s: %s", receiver->files[receiver->current].name, why);
	receiver->written++;
	receiver->written_bytes += len;
	return 0;
}

/* One step with the current file: opens it, writes a chunk, or ends it. 0: there is nothing to do
 * now. */
static int write_step(struct receiver *receiver)
{
	struct xfer *xfer = &receiver->xfer;
	struct incoming *incoming = &receiver->incoming[receiver->current];
	uint64_t size = receiver->files[receiver->current].size_bytes;
	char why[SINK_WHY];
	int err;

	if (receiver->current - receiver->committed >= OPEN_MAX_FILES)
		return 0;
	if (incoming->file.fd < 0) {
		err = sink_begin(receiver->sink, &incoming->file, why);
		if (err)
			return xfer_fail(xfer, err, "%s", why);
	}
	if (incoming->file.offset_bytes == size) {
		hasher_finish(receiver->hasher, incoming->digest);
		receiver->current++;
		return 1;
	}
	if (receiver->written == receiver->arrived)
		return 0;
	err = write_chunk(receiver, &incoming->file, size - incoming->file.offset_bytes);
	return err ? err : 1;
}

static int write_arrivals(struct receiver *receiver)
{
	while (receiver->current < receiver->count) {
		int n = write_step(receiver);

		if (n <= 0)
			return n;
	}
	if (receiver->written < receiver->arrived)
		return xfer_fail(&receiver->xfer, -EPROTO, "the sender sent more than it offered");
	return 0;
}

/* What the sender says by TCP during the transfer: digests, or that it gave up. */
static int take_digests(struct receiver *receiver, int timeout_ms)
{
	struct xfer *xfer = &receiver->xfer;

	for (;;) {
		uint8_t digest[XFER_DIGEST_BYTES];
		struct frame frame;
		uint32_t index;
		int err = xfer_receive(xfer, &frame, timeout_ms);

		if (err == -EAGAIN)
			return 0;
		if (err)
			return err;
		if (frame.type != XFER_DIGEST ||
		    xfer_decode_digest(frame.payload, frame.len_bytes, &index, digest) ||
		    index != receiver->digests_sent || index >= receiver->count)
			return xfer_fail(xfer, -EPROTO, "the sender does not speak this protocol");
		memcpy(receiver->incoming[index].digest_sent, digest, sizeof(digest));
		receiver->digests_sent++;
		xfer_moved(xfer);
		timeout_ms = 0;
	}
}

/* Gives their names to the files whose digests are both there. */
static int commit_files(struct receiver *receiver)
{
	uint64_t hashed = hasher_files(receiver->hasher);

	while (receiver->committed < hashed && receiver->committed < receiver->digests_sent) {
		struct incoming *incoming = &receiver->incoming[receiver->committed];
		const struct xfer_file *file = &receiver->files[receiver->committed];
		char why[SINK_WHY];
		int err;

		if (memcmp(incoming->digest, incoming->digest_sent, XFER_DIGEST_BYTES))
			return xfer_fail(&receiver->xfer, -EBADMSG,
					 "'%s' arrived with another SHA-256 than it was sent with: "
					 "it was thrown away",
					 file->name);
		err = sink_commit(receiver->sink, &incoming->file, file, why);
		if (err)
			return xfer_fail(&receiver->xfer, err, "%s", why);
		receiver->committed++;
		xfer_moved(&receiver->xfer);
		progress_clear(&receiver->progress);
		xfer_print_digest(incoming->digest, file->name);
	}
	return 0;
}

/* Sleeps for whatever has to come next. A digest by TCP is late by one sleep at most. */
static int wait_for_more(struct receiver *receiver)
{
	uint64_t behind = receiver->written - hasher_pieces(receiver->hasher);

	if (hasher_files(receiver->hasher) < receiver->current && !behind)
		behind = 2;
	if (behind > 1) {
		hasher_wait(receiver->hasher, XFER_SLEEP_MS);
		return 0;
	}
	/* All bytes are here, or as many files as may be open: only digests are missing. */
	if (receiver->current == receiver->count ||
	    receiver->current - receiver->committed >= OPEN_MAX_FILES) {
		int err = take_digests(receiver, XFER_SLEEP_MS);

		return err == -ETIMEDOUT ? 0 : err;
	}
	/* A piece in the hasher's hands will free a slot, which the sender may need to hear of. */
	return take_arrivals(receiver, behind ? 1 : XFER_SLEEP_MS);
}

static int receive_files(struct receiver *receiver)
{
	while (receiver->committed < receiver->count) {
		int n = take_arrivals(receiver, 0), err = n < 0 ? n : 0;

		if (!err)
			err = write_arrivals(receiver);
		if (!err)
			err = post_free_slots(receiver);
		if (!err)
			err = give_credit(receiver);
		if (!err)
			err = take_digests(receiver, 0);
		if (!err)
			err = commit_files(receiver);
		if (!err)
			err = xfer_stalled(&receiver->xfer);
		progress_update(&receiver->progress, receiver->written_bytes);
		if (!err && !n && receiver->committed < receiver->count)
			err = wait_for_more(receiver);
		if (err < 0)
			return err;
	}
	return 0;
}

/* The offer: accepted with all receives posted, or refused. */
static int take_offer(struct receiver *receiver, uint64_t max_bytes)
{
	struct xfer *xfer = &receiver->xfer;
	char why[SINK_WHY];
	struct frame frame;
	int count, err;

	xfer->conn.payload_max = XFER_OFFER_BYTES_MAX;
	err = xfer_expect(xfer, XFER_OFFER, XFER_ANSWER_MS, &frame);
	xfer->conn.payload_max = XFER_SMALL_BYTES_MAX;
	if (err)
		return err;
	count = xfer_decode_offer(frame.payload, frame.len_bytes, receiver->files);
	if (count < 0)
		return xfer_fail(xfer, count,
				 "the offer is malformed, or has a name that is not allowed");
	err = sink_check(receiver->sink, receiver->files, count, max_bytes, why);
	if (err)
		return xfer_fail(xfer, err, "refused: %s", why);
	receiver->incoming = calloc((size_t)count, sizeof(*receiver->incoming));
	if (!receiver->incoming)
		return xfer_fail(xfer, -ENOMEM, "no memory for %d files", count);
	receiver->count = (uint32_t)count;
	for (int i = 0; i < count; i++) {
		receiver->incoming[i].file.fd = -1;
		receiver->total_bytes += receiver->files[i].size_bytes;
	}
	err = post_free_slots(receiver);
	receiver->owed = 0;
	return err ? err : xfer_send(xfer, XFER_ACCEPT, NULL, 0);
}

static void print_summary(const struct receiver *receiver)
{
	char size[TOOL_UNIT_TEXT], rate[TOOL_UNIT_TEXT];
	double seconds = (double)(progress_now_ns() - receiver->progress.start_ns) / 1e9;

	fflush(stdout);
	fprintf(stderr, "Received %u file%s, %s in %.2f s, %s/s: every SHA-256 matches.\n",
		receiver->count, receiver->count == 1 ? "" : "s",
		tool_format_bytes(receiver->total_bytes, size), seconds,
		tool_format_bytes((uint64_t)((double)receiver->total_bytes / seconds), rate));
}

static int finish(struct receiver *receiver, bool quiet)
{
	uint8_t payload[XFER_SMALL_BYTES_MAX];
	int err = xfer_send(&receiver->xfer, XFER_DONE, payload,
			    xfer_encode_done(receiver->count, payload, sizeof(payload)));

	progress_clear(&receiver->progress);
	if (!err && !quiet)
		print_summary(receiver);
	return err;
}

/* One sender, from its HELLO on. *offered: it got as far as an offer. */
static int talk(struct receiver *receiver, const struct recv_options *options, bool *offered)
{
	int err = xfer_hello(&receiver->xfer);

	if (err)
		return err;
	*offered = true;
	err = hasher_create(&receiver->hasher);
	if (err)
		return xfer_fail(&receiver->xfer, err, "no digest: %s", strerror(-err));
	err = take_offer(receiver, options->max_bytes);
	if (err)
		return err;
	progress_start(&receiver->progress, receiver->total_bytes, options->quiet);
	xfer_moved(&receiver->xfer);
	err = receive_files(receiver);
	return err ? err : finish(receiver, options->quiet);
}

static void clean_up(struct receiver *receiver)
{
	/* First what may still write into the buffer, then what reads it. */
	link_unpair(receiver->xfer.link);
	hasher_destroy(receiver->hasher);
	for (uint32_t i = receiver->committed; i < receiver->count; i++)
		sink_drop(receiver->sink, &receiver->incoming[i].file);
	free(receiver->incoming);
	net_conn_close(&receiver->xfer.conn);
}

/*
 * Serves one connection. 0: every file arrived; -EAGAIN: it was no sender, or one that was gone
 * before it made an offer; else the transfer failed, and a message was printed.
 */
static int serve(int fd, struct link *link, struct sink *sink, struct xfer_file *files,
		 const struct recv_options *options)
{
	struct receiver receiver = {
	    .xfer = {.link = link,
		     .peer = "sender",
		     .slots = XFER_SLOTS,
		     .timeout_s = options->timeout_s},
	    .sink = sink,
	    .files = files,
	};
	bool offered = false;
	int err = net_conn_init(&receiver.xfer.conn, fd, XFER_OFFER_BYTES_MAX);

	if (err) {
		tool_error("no memory for a connection");
		return err;
	}
	receiver.xfer.conn.payload_max = XFER_SMALL_BYTES_MAX;
	err = talk(&receiver, options, &offered);
	progress_clear(&receiver.progress);
	if (err) {
		xfer_abort(&receiver.xfer);
		tool_error("%s", receiver.xfer.why);
	}
	clean_up(&receiver);
	return err && !offered && err != -EINTR ? -EAGAIN : err;
}

static int serve_senders(int listen_fd, struct link *link, struct sink *sink,
			 struct xfer_file *files, const struct recv_options *options)
{
	for (;;) {
		struct net_address peer;
		int fd, err = net_accept(listen_fd, &fd, &peer);

		if (err == -EINTR)
			return TOOL_FAILED;
		if (err) {
			tool_error("cannot accept a connection: %s", strerror(-err));
			return TOOL_FAILED;
		}
		err = serve(fd, link, sink, files, options);
		if (tool_stop_signal() || (err != -EAGAIN && !options->keep))
			return err ? TOOL_FAILED : TOOL_OK;
	}
}

static int listen_and_serve(struct recv_options *options, struct link *link, struct sink *sink)
{
	struct xfer_file *files = calloc(XFER_FILES_MAX, sizeof(*files));
	char why[NET_WHY];
	int listen_fd, status = TOOL_FAILED;

	if (!files) {
		tool_error("no memory");
		return TOOL_FAILED;
	}
	if (net_listen(&options->listen, &listen_fd, why)) {
		tool_error("%s", why);
		free(files);
		return TOOL_FAILED;
	}
	/* On stderr, and unbuffered: a script waits for this line, and stdout is for the digests.
	 */
	fprintf(stderr, "Listening on %s port %u, NIC %s.\n", options->listen.host,
		options->listen.port, link->info.name);
	status = serve_senders(listen_fd, link, sink, files, options);
	close(listen_fd);
	free(files);
	return status;
}

static int run(struct recv_options *options, struct sink *sink)
{
	struct link link;
	char why[SINK_WHY];
	int status;

	if (sink_open(sink, options->dir, why)) {
		tool_error("%s", why);
		return TOOL_FAILED;
	}
	if (link_open(&link, options->nic_name, XFER_SLOTS * XFER_CHUNK_BYTES, RIG_LOCAL)) {
		tool_error("cannot use a NIC: %s", rig_error());
		sink_close(sink);
		return TOOL_FAILED;
	}
	tool_stop_catch();
	status = listen_and_serve(options, &link, sink);
	link_close(&link);
	sink_close(sink);
	tool_stop_exit();
	return status;
}

static const struct option long_options[] = {
    {"listen", required_argument, NULL, 'l'},   {"nic", required_argument, NULL, 'n'},
    {"max-size", required_argument, NULL, 'm'}, {"force", no_argument, NULL, 'f'},
    {"keep", no_argument, NULL, 'k'},           {"sync", no_argument, NULL, 's'},
    {"timeout", required_argument, NULL, 't'},  {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},           {0},
};

/* One option; TOOL_OK, or the status to end with (-1: help was printed, and that is fine). */
static int take_option(int letter, struct recv_options *options, struct sink *sink)
{
	uint64_t value;

	switch (letter) {
	case 'l':
		if (net_address_parse(optarg, NET_PORT_DEFAULT, 0, &options->listen))
			return tool_usage_error("'%s' is no ADDR[:PORT]", optarg);
		return TOOL_OK;
	case 'n':
		options->nic_name = optarg;
		return TOOL_OK;
	case 'm':
		if (tool_parse_size(optarg, &options->max_bytes))
			return tool_usage_error("'%s' is no size, such as 10M or 2G", optarg);
		return TOOL_OK;
	case 't':
		if (tool_parse_count(optarg, 1, 86400, &value))
			return tool_usage_error("'%s' is no number of seconds (1 to 86400)",
						optarg);
		options->timeout_s = (uint32_t)value;
		return TOOL_OK;
	case 'f':
		sink->force = true;
		return TOOL_OK;
	case 'k':
		options->keep = true;
		return TOOL_OK;
	case 's':
		sink->sync = true;
		return TOOL_OK;
	case 'q':
		options->quiet = true;
		return TOOL_OK;
	case 'h':
		print_help();
		return -1;
	default:
		return tool_usage_error(NULL);
	}
}

int tool_recv(int argc, char **argv)
{
	struct recv_options options = {
	    .listen = {.host = "127.0.0.1", .port = NET_PORT_DEFAULT},
	    .dir = ".",
	    .max_bytes = MAX_SIZE_DEFAULT,
	    .timeout_s = 30,
	};
	struct sink sink = {.dir_fd = -1};
	int letter;

	while ((letter = getopt_long(argc, argv, "l:n:m:fkst:qh", long_options, NULL)) != -1) {
		int status = take_option(letter, &options, &sink);

		if (status)
			return status < 0 ? TOOL_OK : status;
	}
	if (argc - optind > 1)
		return tool_usage_error("more than one directory");
	if (optind < argc)
		options.dir = argv[optind];
	return run(&options, &sink);
}
