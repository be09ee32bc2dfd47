/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/xfer.c - what both ends of a file transfer do alike. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/progress.h"
#include "tools/tools.h"
#include "tools/units.h"
#include "tools/xfer.h"

int xfer_fail(struct xfer *xfer, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(xfer->why, sizeof(xfer->why), format, args);
	va_end(args);
	return err;
}

/* An error of the connection. A signal is not the peer's doing. */
static int fail_net(struct xfer *xfer, int err)
{
	if (err == -EINTR)
		return xfer_fail(xfer, err, "interrupted");
	xfer->theirs = err == -ECONNRESET;
	return xfer_fail(xfer, err, "the %s is lost: %s", xfer->peer, net_error_text(err));
}

/* The peer's reason to give up is worth more than that writing to it failed. */
static int fail_send(struct xfer *xfer, int err)
{
	struct frame frame;
	int last;

	do
		last = xfer_receive(xfer, &frame, 0);
	while (!last);
	return last == -ECANCELED ? last : fail_net(xfer, err);
}

int xfer_send(struct xfer *xfer, enum xfer_type type, const void *payload, int len_bytes)
{
	int err;

	if (len_bytes < 0)
		return xfer_fail(xfer, len_bytes, "a message is too long");
	err = net_send(&xfer->conn, (uint16_t)type, payload, (size_t)len_bytes,
		       (int)xfer->timeout_s * 1000);
	return err ? fail_send(xfer, err) : 0;
}

int xfer_receive(struct xfer *xfer, struct frame *frame, int timeout_ms)
{
	char why[XFER_ABORT_MAX + 1], text[XFER_ABORT_MAX + 1];
	int err = net_receive(&xfer->conn, frame, timeout_ms);

	if (err == -EAGAIN)
		return err;
	if (err)
		return fail_net(xfer, err);
	if (frame->type != XFER_ABORT)
		return 0;
	xfer->theirs = true;
	if (xfer_decode_abort(frame->payload, frame->len_bytes, why))
		return xfer_fail(xfer, -ECANCELED, "the %s gave up", xfer->peer);
	return xfer_fail(xfer, -ECANCELED, "the %s says: %s", xfer->peer,
			 tool_printable(why, text, sizeof(text)));
}

int xfer_expect(struct xfer *xfer, enum xfer_type type, int timeout_ms, struct frame *frame)
{
	int err = xfer_receive(xfer, frame, timeout_ms);

	if (!err && frame->type != (uint16_t)type)
		return fail_net(xfer, -EPROTO);
	return err;
}

void xfer_abort(struct xfer *xfer)
{
	uint8_t payload[XFER_SMALL_BYTES_MAX];
	int len;

	if (xfer->theirs || xfer->conn.fd < 0)
		return;
	len = xfer_encode_abort(xfer->why, payload, sizeof(payload));
	if (len > 0)
		net_send(&xfer->conn, XFER_ABORT, payload, (size_t)len, 100);
}

static int send_hello(struct xfer *xfer)
{
	struct xfer_hello hello = {.chunk_bytes = XFER_CHUNK_BYTES, .slots = xfer->slots};
	uint8_t payload[XFER_SMALL_BYTES_MAX];
	struct rig_endpoint endpoint;
	int err = rig_qp_endpoint(xfer->link->qp, &endpoint);

	if (err || rig_endpoint_print(&endpoint, hello.endpoint, sizeof(hello.endpoint)) < 0)
		return xfer_fail(xfer, err ? err : -EINVAL, "no endpoint: %s", rig_error());
	return xfer_send(xfer, XFER_HELLO, payload,
			 xfer_encode_hello(&hello, payload, sizeof(payload)));
}

static int receive_hello(struct xfer *xfer, struct rig_endpoint *endpoint)
{
	struct xfer_hello hello;
	struct frame frame;
	int err = xfer_expect(xfer, XFER_HELLO, XFER_ANSWER_MS, &frame);

	if (err)
		return err;
	err = xfer_decode_hello(frame.payload, frame.len_bytes, &hello);
	if (err)
		return fail_net(xfer, err);
	err = rig_endpoint_parse(hello.endpoint, endpoint);
	if (err)
		return xfer_fail(xfer, err, "the %s's endpoint: %s", xfer->peer, rig_error());
	xfer->peer_slots = hello.slots;
	xfer->chunk_bytes = XFER_CHUNK_BYTES;
	if (hello.chunk_bytes < xfer->chunk_bytes)
		xfer->chunk_bytes = hello.chunk_bytes;
	return 0;
}

int xfer_hello(struct xfer *xfer)
{
	struct rig_endpoint endpoint;
	int err = link_pair(xfer->link, (int)xfer->slots * 2, (int)xfer->slots);

	if (err)
		return xfer_fail(xfer, err, "no queue pair: %s", rig_error());
	err = send_hello(xfer);
	if (err)
		return err;
	err = receive_hello(xfer, &endpoint);
	if (err)
		return err;
	/* The peer may do nothing to this process's memory: it only sends. */
	err = rig_qp_connect(xfer->link->qp, RIG_LOCAL, &endpoint, NULL);
	return err ? xfer_fail(xfer, err, "cannot connect: %s", rig_error()) : 0;
}

int xfer_post(struct xfer *xfer, const struct rig_entry *entry)
{
	int err = rig_qp_post(xfer->link->qp, entry);

	if (!err)
		err = rig_qp_ring(xfer->link->qp);
	return err ? xfer_fail(xfer, err, "cannot post: %s", rig_error()) : 0;
}

int xfer_post_receive(struct xfer *xfer, uint64_t offset_bytes, uint32_t len_bytes)
{
	struct rig_local local;
	int err = rig_region_local(xfer->link->region, offset_bytes, len_bytes, &local);

	if (!err)
		err = rig_qp_receive(xfer->link->qp, &local);
	return err ? xfer_fail(xfer, err, "cannot post a receive: %s", rig_error()) : 0;
}

/* The queue pair failed: mostly because the peer is gone, which TCP then knows too, and says why.
 */
static int fail_wc(struct xfer *xfer, const struct rig_wc *wc)
{
	char text[256];
	struct frame frame;
	int err;

	do
		err = xfer_receive(xfer, &frame, 200);
	while (!err);
	if (err == -ECANCELED || err == -ECONNRESET)
		return err;
	rig_wc_text(wc, text, sizeof(text));
	return xfer_fail(xfer, -EIO, "the transfer failed: %s", text);
}

int xfer_poll(struct xfer *xfer, struct rig_wc *wc, int max, int timeout_ms)
{
	int n = link_poll(xfer->link, wc, max, timeout_ms);

	if (n < 0)
		return xfer_fail(xfer, n, "the NIC failed: %s", rig_error());
	for (int i = 0; i < n; i++)
		if (wc[i].status != RIG_OK || wc[i].kind == RIG_WC_UNKNOWN)
			return fail_wc(xfer, &wc[i]);
	return n;
}

void xfer_moved(struct xfer *xfer)
{
	xfer->moved_ns = progress_now_ns();
}

int xfer_stalled(struct xfer *xfer)
{
	if (tool_stop_signal())
		return xfer_fail(xfer, -EINTR, "interrupted");
	if (progress_now_ns() - xfer->moved_ns < xfer->timeout_s * 1000000000ull)
		return 0;
	return xfer_fail(xfer, -ETIMEDOUT, "nothing moved for %u seconds", xfer->timeout_s);
}

void xfer_print_digest(const uint8_t digest[static XFER_DIGEST_BYTES], const char *name)
{
	for (int i = 0; i < XFER_DIGEST_BYTES; i++)
		printf("%02x", digest[i]);
	printf("  %s\n", name);
}
