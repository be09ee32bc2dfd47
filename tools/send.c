/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/send.c - `rig5 send`: sends files to a `rig5 recv`.
 *
 * The main thread reads chunks into slots and posts them, as many as the receiver has receives for;
 * a thread of its own computes the digests (hasher.h). A slot is free again once it was both sent
 * and hashed, so what is hashed is what was sent, also when the file changes meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/hasher.h"
#include "tools/progress.h"
#include "tools/tools.h"
#include "tools/units.h"
#include "tools/xfer.h"

struct send_options {
	struct net_address to;
	const char *nic_name;
	uint32_t timeout_s;
	bool quiet;
};

/* One file, as it was when it was offered. */
struct outgoing {
	const char *path;
	struct stat st;
	uint8_t digest[XFER_DIGEST_BYTES];
};

struct sender {
	struct xfer xfer;
	struct hasher *hasher;
	struct progress progress;
	struct xfer_file *files;
	struct outgoing *outgoing;
	uint32_t count;
	uint64_t total_bytes, read_bytes;
	uint32_t current; /* the file that is being read */
	int fd;           /* of it; -1: not open yet */
	uint64_t offset_bytes;
	uint32_t digests_sent;
	/* Chunks: read >= sent, read >= hashed. */
	uint64_t read, sent;
	uint32_t credits; /* receives of the peer that are free */
	bool done;        /* the receiver has everything */
};

static void print_help(void)
{
	printf("Usage: rig5 send [OPTION]... FILE...\n"
	       "Sends files by RDMA to a 'rig5 recv', which must be running.\n\n"
	       "      --to HOST[:PORT]   where it listens (default: 127.0.0.1:%u)\n"
	       "  -n, --nic NAME         use this NIC (default: the first there is)\n"
	       "  -t, --timeout SECONDS  give up when nothing moves (default: 30)\n"
	       "  -q, --quiet            no progress bar and no summary\n"
	       "  -h, --help             this text\n\n"
	       "Prints \"<sha256>  <name>\" for each file.\n"
	       "Exit status: 0 the receiver has every file and every SHA-256 matched, 1 not so,\n"
	       "2 wrong command line.\n",
	       NET_PORT_DEFAULT);
}

/* Opens without waiting for a writer, should it be a pipe. */
static int open_file(struct sender *sender, const char *path, int *out, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, st)) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return xfer_fail(&sender->xfer, err, "cannot read '%s': %s", path, strerror(-err));
	}
	if (!S_ISREG(st->st_mode)) {
		close(fd);
		return xfer_fail(&sender->xfer, -EINVAL, "'%s' is not a regular file", path);
	}
	*out = fd;
	return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int fail_changed(struct sender *sender)
{
	return xfer_fail(&sender->xfer, -ESTALE, "'%s' changed while it was read",
			 sender->outgoing[sender->current].path);
}

static int look_at_file(struct sender *sender, uint32_t index, const char *path)
{
	struct outgoing *outgoing = &sender->outgoing[index];
	struct xfer_file *file = &sender->files[index];
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *problem = xfer_name_problem(name, strlen(name));
	int fd, err;

	if (problem)
		return xfer_fail(&sender->xfer, -EINVAL, "cannot send '%s': its name: %s", path,
				 problem);
	err = open_file(sender, path, &fd, &outgoing->st);
	if (err)
		return err;
	close(fd);
	outgoing->path = path;
	file->size_bytes = (uint64_t)outgoing->st.st_size;
	file->mode = outgoing->st.st_mode & 0777;
	memcpy(file->name, name, strlen(name) + 1);
	sender->total_bytes += file->size_bytes;
	return 0;
}

static int look_at_files(struct sender *sender, char **paths)
{
	int twice;

	for (uint32_t i = 0; i < sender->count; i++) {
		int err = look_at_file(sender, i, paths[i]);

		if (err)
			return err;
	}
	twice = xfer_duplicate_name(sender->files, sender->count);
	if (twice >= 0)
		return xfer_fail(&sender->xfer, -EINVAL, "two files would be named '%s'",
				 sender->files[twice].name);
	return 0;
}

/* Empty receives for the receiver's credit: they take no data. */
static int post_credit_receive(struct sender *sender)
{
	return xfer_post_receive(&sender->xfer, 0, 0);
}

static int offer(struct sender *sender)
{
	struct xfer *xfer = &sender->xfer;
	uint8_t *payload = malloc(XFER_OFFER_BYTES_MAX);
	struct frame frame;
	int err = payload ? 0 : xfer_fail(xfer, -ENOMEM, "no memory");

	for (uint32_t i = 0; !err && i < XFER_SLOTS; i++)
		err = post_credit_receive(sender);
	if (!err)
		err = xfer_send(
		    xfer, XFER_OFFER, payload,
		    xfer_encode_offer(sender->files, sender->count, payload, XFER_OFFER_BYTES_MAX));
	free(payload);
	if (err)
		return err;
	sender->credits = xfer->peer_slots;
	return xfer_expect(xfer, XFER_ACCEPT, XFER_ANSWER_MS, &frame);
}

static int take_completions(struct sender *sender, int timeout_ms)
{
	struct rig_wc wc[XFER_SLOTS];
	int n = xfer_poll(&sender->xfer, wc, XFER_SLOTS, timeout_ms);

	for (int i = 0; i < n; i++) {
		int err;

		if (wc[i].kind == RIG_WC_ENTRY) {
			sender->sent++;
			continue;
		}
		if (!(wc[i].flags & RIG_WC_IMM_F) ||
		    wc[i].imm > sender->xfer.peer_slots - sender->credits)
			return xfer_fail(&sender->xfer, -EPROTO,
					 "the receiver gave more credit than it has receives");
		sender->credits += wc[i].imm;
		err = post_credit_receive(sender);
		if (err)
			return err;
	}
	if (n > 0)
		xfer_moved(&sender->xfer);
	return n;
}

static int read_chunk(struct sender *sender, uint8_t *slot, uint32_t len)
{
	uint32_t have = 0;

	while (have < len) {
		ssize_t n = read(sender->fd, slot + have, len - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = -errno;

			return xfer_fail(&sender->xfer, err, "cannot read '%s': %s",
					 sender->outgoing[sender->current].path, strerror(-err));
		}
		if (!n)
			return fail_changed(sender);
		have += (uint32_t)n;
	}
	return 0;
}

static int send_chunk(struct sender *sender, uint32_t len)
{
	struct xfer *xfer = &sender->xfer;
	uint8_t *slot = xfer_slot(xfer, sender->read);
	struct rig_local local;
	struct rig_entry entry = {
	    .op = RIG_SEND,
	    .flags = RIG_SIGNAL_F,
	    .piece_count = 1,
	    .pieces = &local,
	};
	int err = read_chunk(sender, slot, len);

	if (err)
		return err;
	err = rig_region_local(xfer->link->region, (uint64_t)(slot - xfer->link->buf), len, &local);
	if (err)
		return xfer_fail(xfer, err, "%s", rig_error());
	err = xfer_post(xfer, &entry);
	if (err)
		return err;
	hasher_push(sender->hasher, slot, len);
	sender->read++;
	sender->credits--;
	sender->offset_bytes += len;
	sender->read_bytes += len;
	return 0;
}

static int end_file(struct sender *sender)
{
	struct outgoing *outgoing = &sender->outgoing[sender->current];
	struct stat st;

	if (fstat(sender->fd, &st) || !same_file(&st, &outgoing->st))
		return fail_changed(sender);
	close(sender->fd);
	sender->fd = -1;
	sender->offset_bytes = 0;
	hasher_finish(sender->hasher, outgoing->digest);
	sender->current++;
	return 1;
}

static int begin_file(struct sender *sender)
{
	const struct outgoing *outgoing = &sender->outgoing[sender->current];
	struct stat st;
	int err = open_file(sender, outgoing->path, &sender->fd, &st);

	if (err)
		return err;
	return same_file(&st, &outgoing->st) ? 0 : fail_changed(sender);
}

static uint64_t slots_used(struct sender *sender)
{
	uint64_t hashed = hasher_pieces(sender->hasher);

	return sender->read - (sender->sent < hashed ? sender->sent : hashed);
}

/* One step with the current file: 1, or 0 if it takes a slot or a credit that is not there. */
static int read_step(struct sender *sender)
{
	uint64_t left = sender->files[sender->current].size_bytes - sender->offset_bytes;
	int err = sender->fd < 0 ? begin_file(sender) : 0;

	if (err)
		return err;
	if (!left)
		return end_file(sender);
	if (!sender->credits || slots_used(sender) == sender->xfer.slots)
		return 0;
	err = send_chunk(sender, left < sender->xfer.chunk_bytes ? (uint32_t)left
								 : sender->xfer.chunk_bytes);
	return err ? err : 1;
}

static int send_digests(struct sender *sender)
{
	uint64_t hashed = hasher_files(sender->hasher);

	while (sender->digests_sent < hashed) {
		uint32_t index = sender->digests_sent;
		uint8_t payload[XFER_SMALL_BYTES_MAX];
		int err = xfer_send(&sender->xfer, XFER_DIGEST, payload,
				    xfer_encode_digest(index, sender->outgoing[index].digest,
						       payload, sizeof(payload)));

		if (err)
			return err;
		sender->digests_sent++;
		xfer_moved(&sender->xfer);
	}
	return 0;
}

/*
 * What the receiver says: that it gave up; or DONE, once it was told every digest, which may
 * overtake the last completion.
 */
static int hear_peer(struct sender *sender, int timeout_ms)
{
	struct frame frame;
	uint32_t count;
	int err = xfer_receive(&sender->xfer, &frame, timeout_ms);

	if (err)
		return err;
	if (frame.type != XFER_DONE || sender->digests_sent != sender->count || sender->done ||
	    xfer_decode_done(frame.payload, frame.len_bytes, &count) || count != sender->count)
		return xfer_fail(&sender->xfer, -EPROTO,
				 "the receiver does not speak this protocol");
	sender->done = true;
	return 0;
}

static int check_peer(struct sender *sender)
{
	int err = sender->done ? 0 : hear_peer(sender, 0);

	return err == -EAGAIN ? 0 : err;
}

/* Sleeps for what holds the next chunk up: a slot that is not hashed, one that is not sent, or
 * credit. */
static int wait_for_more(struct sender *sender)
{
	bool all_read = sender->current == sender->count;
	uint64_t hashed = hasher_pieces(sender->hasher);

	if (all_read ? sender->sent == sender->read
		     : hashed < sender->sent && slots_used(sender) == sender->xfer.slots) {
		hasher_wait(sender->hasher, XFER_SLEEP_MS);
		return 0;
	}
	return take_completions(sender, XFER_SLEEP_MS);
}

/*
 * The receiver's DONE ends it at once: it has every byte, and is gone. The acknowledgement of the
 * last chunk may never come then, as its queue pair went with it.
 */
static bool all_sent(struct sender *sender)
{
	return sender->done ||
	       (sender->digests_sent == sender->count && sender->sent == sender->read);
}

static int send_files(struct sender *sender)
{
	while (!all_sent(sender)) {
		int n = take_completions(sender, 0), err = n < 0 ? n : 0;
		int steps = 0, step = 1;

		/* Not all at once: what completes meanwhile is wanted for the bar and the digests.
		 */
		while (!err && step > 0 && steps < 8 && sender->current < sender->count) {
			step = read_step(sender);
			err = step < 0 ? step : 0;
			steps += step > 0;
		}
		if (!err)
			err = send_digests(sender);
		if (!err)
			err = check_peer(sender);
		if (!err)
			err = xfer_stalled(&sender->xfer);
		progress_update(&sender->progress, sender->read_bytes);
		if (!err && !n && !steps && !all_sent(sender))
			err = wait_for_more(sender);
		if (err < 0)
			return err;
	}
	return 0;
}

/* The receiver has all bytes and digests: it says DONE when every file has its name. */
static int wait_for_done(struct sender *sender)
{
	return sender->done ? 0 : hear_peer(sender, (int)sender->xfer.timeout_s * 1000);
}

static void report(const struct sender *sender, bool quiet)
{
	char size[TOOL_UNIT_TEXT], rate[TOOL_UNIT_TEXT];
	double seconds = (double)(progress_now_ns() - sender->progress.start_ns) / 1e9;

	for (uint32_t i = 0; i < sender->count; i++)
		xfer_print_digest(sender->outgoing[i].digest, sender->files[i].name);
	if (quiet)
		return;
	fflush(stdout);
	fprintf(stderr, "Sent %u file%s, %s in %.2f s, %s/s: every SHA-256 matches.\n",
		sender->count, sender->count == 1 ? "" : "s",
		tool_format_bytes(sender->total_bytes, size), seconds,
		tool_format_bytes((uint64_t)((double)sender->total_bytes / seconds), rate));
}

static int talk(struct sender *sender, const struct send_options *options)
{
	struct xfer *xfer = &sender->xfer;
	char why[NET_WHY];
	int fd, err = net_connect(&options->to, XFER_ANSWER_MS, &fd, why);

	if (err)
		return xfer_fail(xfer, err, "%s", why);
	err = net_conn_init(&xfer->conn, fd, XFER_SMALL_BYTES_MAX);
	if (err)
		return xfer_fail(xfer, err, "no memory");
	err = xfer_hello(xfer);
	if (!err)
		err = offer(sender);
	if (err)
		return err;
	err = hasher_create(&sender->hasher);
	if (err)
		return xfer_fail(xfer, err, "no digest: %s", strerror(-err));
	progress_start(&sender->progress, sender->total_bytes, options->quiet);
	xfer_moved(xfer);
	err = send_files(sender);
	return err ? err : wait_for_done(sender);
}

static int run(struct sender *sender, const struct send_options *options)
{
	struct link link;
	int err;

	/* Before it reads the files, so that a mistake there needs no receiver. */
	if (link_open(&link, options->nic_name, XFER_SLOTS * XFER_CHUNK_BYTES, RIG_LOCAL)) {
		tool_error("cannot use a NIC: %s", rig_error());
		return TOOL_FAILED;
	}
	sender->xfer.link = &link;
	tool_stop_catch();
	err = talk(sender, options);
	progress_clear(&sender->progress);
	if (err) {
		xfer_abort(&sender->xfer);
		tool_error("%s", sender->xfer.why);
	} else {
		report(sender, options->quiet);
	}
	link_unpair(&link);
	hasher_destroy(sender->hasher);
	if (sender->fd >= 0)
		close(sender->fd);
	net_conn_close(&sender->xfer.conn);
	link_close(&link);
	tool_stop_exit();
	return err ? TOOL_FAILED : TOOL_OK;
}

static int send_paths(char **paths, uint32_t count, const struct send_options *options)
{
	struct sender sender = {
	    .xfer = {.peer = "receiver",
		     .slots = XFER_SLOTS,
		     .timeout_s = options->timeout_s,
		     .conn = {.fd = -1}},
	    .files = calloc(count, sizeof(struct xfer_file)),
	    .outgoing = calloc(count, sizeof(struct outgoing)),
	    .count = count,
	    .fd = -1,
	};
	int status = TOOL_FAILED;

	if (!sender.files || !sender.outgoing)
		tool_error("no memory for %u files", count);
	else if (look_at_files(&sender, paths))
		tool_error("%s", sender.xfer.why);
	else
		status = run(&sender, options);
	free(sender.files);
	free(sender.outgoing);
	return status;
}

static const struct option long_options[] = {
    {"to", required_argument, NULL, 'T'},      {"nic", required_argument, NULL, 'n'},
    {"timeout", required_argument, NULL, 't'}, {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},          {0},
};

int tool_send(int argc, char **argv)
{
	struct send_options options = {
	    .to = {.host = "127.0.0.1", .port = NET_PORT_DEFAULT},
	    .timeout_s = 30,
	};
	uint64_t value;
	int letter;

	while ((letter = getopt_long(argc, argv, "n:t:qh", long_options, NULL)) != -1) {
		switch (letter) {
		case 'T':
			if (net_address_parse(optarg, NET_PORT_DEFAULT, 1, &options.to))
				return tool_usage_error("'%s' is no HOST[:PORT]", optarg);
			break;
		case 'n':
			options.nic_name = optarg;
			break;
		case 't':
			if (tool_parse_count(optarg, 1, 86400, &value))
				return tool_usage_error("'%s' is no number of seconds (1 to 86400)",
							optarg);
			options.timeout_s = (uint32_t)value;
			break;
		case 'q':
			options.quiet = true;
			break;
		case 'h':
			print_help();
			return TOOL_OK;
		default:
			return tool_usage_error(NULL);
		}
	}
	if (optind == argc)
		return tool_usage_error("no file to send");
	if (argc - optind > XFER_FILES_MAX)
		return tool_usage_error("more than %d files", XFER_FILES_MAX);
	return send_paths(argv + optind, (uint32_t)(argc - optind), &options);
}
