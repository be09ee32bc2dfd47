/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_wire.c - see frame_wire.h. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "abi/dump.h"
#include "abi/icrc.h"
#include "tests/interop/frame_wire.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_ARP = 0x0806,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_OFF = 12,
	FRAME_MIN_BYTES = 60,
	HOLD_NS = 20000000,
	BURST = 64,
};

static const uint8_t station[6] = {0x52, 0x54, 0x00, 0x77, 0x00, 0x01};
const uint8_t frame_wire_gids[2][16] = {
    {[10] = 0xff, [11] = 0xff, 10, 77, 0, 1},
    {0xfd, 0x77, [15] = 1},
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A full socket is waited for: what gets lost here shall be what a fault loses. */
static void send_frame(struct frame_wire *wire, const uint8_t *frame, size_t len_bytes)
{
	while (send(wire->fd, frame, len_bytes, MSG_NOSIGNAL) < 0) {
		struct pollfd full = {.fd = wire->fd, .events = POLLOUT};

		if (errno != EAGAIN)
			fail_msg("the guest's network card is gone: %s", strerror(errno));
		poll(&full, 1, 1000);
	}
}

/* ---- neighbors ------------------------------------------------------------------------------- */

/* RFC 826: who has 10.77.0.1? */
static void take_arp(struct frame_wire *wire, const uint8_t *frame, size_t len_bytes)
{
	enum { OPER = 20, SHA = 22, SPA = 28, TPA = 38, BYTES = 42 };
	uint8_t answer[FRAME_MIN_BYTES] = {0};

	if (len_bytes < BYTES || be16_load(frame + OPER) != 1 ||
	    memcmp(frame + TPA, frame_wire_gids[0] + 12, 4) != 0)
		return;
	memcpy(wire->station, frame + SHA, 6);
	memcpy(answer, frame, BYTES);
	memcpy(answer, frame + SHA, 6);
	memcpy(answer + 6, station, 6);
	be16_store(answer + OPER, 2);
	memcpy(answer + SHA, station, 6);
	memcpy(answer + SPA, frame + TPA, 4);
	memcpy(answer + TPA - 6, frame + SHA, 6 + 4); /* target: who asked */
	send_frame(wire, answer, sizeof(answer));
	wire->answered++;
}

/* The checksum of an ICMPv6 message behind its IPv6 header [RFC 8200 8.1]. */
static uint16_t icmp6_checksum(const uint8_t *ip, size_t icmp_bytes)
{
	uint8_t pseudo[40 + 64] = {0};

	memcpy(pseudo, ip + 8, 32);
	be32_store(pseudo + 32, (uint32_t)icmp_bytes);
	pseudo[39] = 58;
	memcpy(pseudo + 40, ip + ROCE_IPV6_BYTES, icmp_bytes);
	return roce_ip_checksum(pseudo, 40 + icmp_bytes);
}

/* RFC 4861: a solicitation for fd77::1 is answered by an advertisement. */
static void take_solicitation(struct frame_wire *wire, const uint8_t *frame, size_t len_bytes)
{
	enum { IP = ROCE_ETH_BYTES, ICMP = IP + ROCE_IPV6_BYTES, TARGET = ICMP + 8 };
	enum { ADVERTISEMENT_BYTES = 32, SOLICITED_OVERRIDE = 0x60 };
	uint8_t answer[ICMP + ADVERTISEMENT_BYTES] = {0};
	uint8_t *icmp = answer + ICMP;

	if (len_bytes < TARGET + 16 || frame[IP + 6] != 58 || frame[ICMP] != 135 ||
	    memcmp(frame + TARGET, frame_wire_gids[1], 16) != 0)
		return;
	memcpy(wire->station, frame + 6, 6);
	memcpy(answer, frame + 6, 6);
	memcpy(answer + 6, station, 6);
	be16_store(answer + ETHERTYPE_OFF, ETHERTYPE_IPV6);
	answer[IP] = 0x60;
	be16_store(answer + IP + 4, ADVERTISEMENT_BYTES);
	answer[IP + 6] = 58;
	answer[IP + 7] = 255;
	memcpy(answer + IP + 8, frame_wire_gids[1], 16);
	memcpy(answer + IP + 24, frame + IP + 8, 16);
	icmp[0] = 136;
	icmp[4] = SOLICITED_OVERRIDE;
	memcpy(icmp + 8, frame_wire_gids[1], 16);
	icmp[24] = 2; /* option: the target's link-layer address */
	icmp[25] = 1;
	memcpy(icmp + 26, station, 6);
	be16_store(icmp + 2, icmp6_checksum(answer + IP, ADVERTISEMENT_BYTES));
	send_frame(wire, answer, sizeof(answer));
	wire->answered++;
}

/* ---- the log --------------------------------------------------------------------------------- */

static void log_packet(struct frame_wire *wire, const struct frame_way *way, const uint8_t *frame,
		       size_t len_bytes, const char *fate)
{
	char *line = wire->log[wire->logged++ % FRAME_LOG_LINES], text[DUMP_BYTES];
	struct roce_frame decoded;
	struct roce_pkt pkt;

	if (roce_frame_decode(&decoded, frame, len_bytes) != ROCE_FRAME_OK ||
	    roce_pkt_decode(&pkt, decoded.bth, decoded.bth_bytes) != ROCE_OK)
		snprintf(text, sizeof(text), "%zu bytes", len_bytes);
	else
		roce_pkt_dump(text, sizeof(text), &pkt);
	snprintf(line, FRAME_LOG_BYTES, "%llu us, %s: %s%s",
		 (unsigned long long)(now_ns() / 1000 % 10000000), way->name, text, fate);
}

void frame_wire_print_log(struct frame_wire *wire)
{
	uint64_t i = wire->logged > FRAME_LOG_LINES ? wire->logged - FRAME_LOG_LINES : 0;

	for (; i < wire->logged; i++)
		printf("    %s\n", wire->log[i % FRAME_LOG_LINES]);
	wire->logged = 0;
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void release(struct frame_wire *wire, struct frame_way *way, struct frame_held *held)
{
	log_packet(wire, way, held->bytes, held->len_bytes, " (after others)");
	way->forward(wire, held->bytes, held->len_bytes);
	held->len_bytes = 0;
}

static void overtake(struct frame_wire *wire, struct frame_way *way)
{
	for (int i = 0; i < FRAME_HELD_MAX; i++)
		if (way->held[i].len_bytes != 0 && --way->held[i].behind == 0)
			release(wire, way, &way->held[i]);
}

/* false: too many are held already. */
static bool hold(struct frame_way *way, const uint8_t *frame, size_t len_bytes, uint32_t behind)
{
	for (int i = 0; i < FRAME_HELD_MAX; i++) {
		struct frame_held *held = &way->held[i];

		if (held->len_bytes != 0)
			continue;
		held->len_bytes = len_bytes;
		held->behind = behind;
		held->until_ns = now_ns() + HOLD_NS;
		memcpy(held->bytes, frame, len_bytes);
		return true;
	}
	return false;
}

static const char *fate_of(const struct fault_verdict *verdict)
{
	if (verdict->drop)
		return " (dropped)";
	if (verdict->behind)
		return " (held back)";
	if (verdict->corrupt)
		return " (corrupted)";
	return verdict->duplicate ? " (twice)" : "";
}

/* Sends a RoCE frame its way, or not; transport_off is where its BTH starts. */
static void pass(struct frame_wire *wire, struct frame_way *way, uint8_t *frame, size_t len_bytes,
		 size_t transport_off)
{
	struct fault_verdict verdict =
	    fault_judge(&way->fault, len_bytes - transport_off, now_ns());

	log_packet(wire, way, frame, len_bytes, fate_of(&verdict));
	if (verdict.drop)
		return;
	if (verdict.corrupt)
		frame[transport_off + verdict.corrupt_bit / 8] ^=
		    (uint8_t)(1u << verdict.corrupt_bit % 8);
	if (verdict.behind && hold(way, frame, len_bytes, verdict.behind))
		return;
	way->forward(wire, frame, len_bytes);
	if (verdict.duplicate)
		way->forward(wire, frame, len_bytes);
	overtake(wire, way);
}

/* When the first frame that is held in either direction is due. */
static uint64_t held_deadline_ns(struct frame_wire *wire, uint64_t now)
{
	struct frame_way *ways[] = {&wire->out, &wire->in};
	uint64_t deadline_ns = UINT64_MAX;

	for (int w = 0; w < 2; w++) {
		for (int i = 0; i < FRAME_HELD_MAX; i++) {
			struct frame_held *held = &ways[w]->held[i];

			if (held->len_bytes == 0)
				continue;
			if (held->until_ns <= now)
				release(wire, ways[w], held);
			else if (held->until_ns < deadline_ns)
				deadline_ns = held->until_ns;
		}
	}
	return deadline_ns;
}

/* ---- RoCE packets ---------------------------------------------------------------------------- */

static void take_roce(struct frame_wire *wire, const uint8_t *bytes, size_t len_bytes)
{
	struct roce_frame frame;
	struct nic_rx rx;
	uint32_t icrc;

	if (roce_frame_decode(&frame, bytes, len_bytes) != ROCE_FRAME_OK) {
		wire->broken++;
		return;
	}
	icrc =
	    icrc_packet(frame.ip, frame.ip_bytes, (size_t)(frame.bth - frame.ip) + frame.bth_bytes);
	if (icrc != frame.icrc) {
		wire->icrc_wrong++;
		return;
	}
	rx = (struct nic_rx){.bth = frame.bth,
			     .len_bytes = (uint32_t)frame.bth_bytes,
			     .sgid = frame.src,
			     .dgid = frame.dst,
			     .traffic_class = frame.traffic_class};
	wire->world->now_ns = now_ns();
	nic_rx(wire->world->nics[0], &rx, wire->world->now_ns);
}

static void send_packet(struct frame_wire *wire, const struct fake_packet *packet)
{
	uint8_t bytes[FRAME_BYTES];
	struct roce_frame frame = {
	    .has_eth = true,
	    .ip_version = roce_gid_is_ipv4(packet->path.dgid) ? 4 : 6,
	    .traffic_class = packet->path.traffic_class,
	    .hop_limit = packet->path.hop_limit,
	    .flow_label = packet->path.flow_label,
	    .dont_fragment = true,
	    .ip_id = wire->ip_id++,
	    .udp_sport = packet->path.udp_sport,
	    .bth = packet->bytes,
	    .bth_bytes = packet->len_bytes,
	};
	size_t len_bytes;

	memcpy(frame.eth_dst, wire->station, 6);
	memcpy(frame.eth_src, station, 6);
	memcpy(frame.src, packet->path.sgid, 16);
	memcpy(frame.dst, packet->path.dgid, 16);
	len_bytes = roce_frame_encode(bytes, sizeof(bytes), &frame);
	assert_true(len_bytes != 0);
	wire->sent++;
	pass(wire, &wire->out, bytes, len_bytes, len_bytes - packet->len_bytes - ROCE_ICRC_BYTES);
}

/* Everything the core has to say goes out. */
static void run_core(struct frame_wire *wire)
{
	struct fake_world *w = wire->world;

	w->now_ns = now_ns();
	fake_run(w, 0);
	while (w->queue_count != 0) {
		send_packet(wire, w->queue[0]);
		free(w->queue[0]);
		memmove(w->queue, w->queue + 1, --w->queue_count * sizeof(*w->queue));
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void take_frame(struct frame_wire *wire, uint8_t *bytes, size_t len_bytes)
{
	struct roce_frame frame;
	enum roce_frame_verdict verdict;

	if (len_bytes < ROCE_ETH_BYTES)
		return;
	if (be16_load(bytes + ETHERTYPE_OFF) == ETHERTYPE_ARP) {
		take_arp(wire, bytes, len_bytes);
		return;
	}
	verdict = roce_frame_decode(&frame, bytes, len_bytes);
	if (verdict == ROCE_FRAME_OK) {
		wire->received++;
		pass(wire, &wire->in, bytes, len_bytes, (size_t)(frame.bth - bytes));
	} else if (verdict != ROCE_FRAME_OTHER) {
		wire->broken++;
	} else if (be16_load(bytes + ETHERTYPE_OFF) == ETHERTYPE_IPV6) {
		take_solicitation(wire, bytes, len_bytes);
	}
}

static void take_frames(struct frame_wire *wire)
{
	uint8_t bytes[FRAME_BYTES];

	for (int i = 0; i < BURST; i++) {
		ssize_t n = recv(wire->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0)
			break;
		take_frame(wire, bytes, (size_t)n);
	}
}

static int wait_ms(uint64_t now, uint64_t deadline_ns)
{
	if (deadline_ns <= now)
		return 0;
	deadline_ns -= now;
	return deadline_ns > 1000000000 ? 1000 : (int)((deadline_ns + 999999) / 1000000);
}

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void frame_wire_until(struct frame_wire *wire, int fd, bool (*stop)(void *ctx), void *ctx,
		      unsigned int timeout_ms)
{
	uint64_t end_ns = now_ns() + (uint64_t)timeout_ms * 1000000;

	for (;;) {
		struct pollfd fds[2] = {{.fd = wire->fd, .events = POLLIN},
					{.fd = fd, .events = POLLIN}};
		uint64_t now = now_ns(), due_ns = held_deadline_ns(wire, now);

		run_core(wire);
		if (stop && stop(ctx))
			return;
		due_ns = min64(due_ns, nic_deadline_ns(wire->world->nics[0]));
		poll(fds, 2, wait_ms(now, min64(due_ns, end_ns)));
		if (fds[0].revents)
			take_frames(wire);
		if (fds[1].revents || (!fds[0].revents && now_ns() >= end_ns))
			return;
	}
}

/* ---- life ------------------------------------------------------------------------------------ */

static void set_faults(struct frame_way *way, const struct fault_config *config)
{
	static const struct fault_config none;

	fault_init(&way->fault, config ? config : &none);
	memset(way->held, 0, sizeof(way->held));
}

void frame_wire_faults(struct frame_wire *wire, const struct fault_config *out,
		       const struct fault_config *in)
{
	set_faults(&wire->out, out);
	set_faults(&wire->in, in);
}

static struct sockaddr_un named(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path));
	return address;
}

void frame_wire_open(struct frame_wire *wire, struct fake_world *world, const char *local,
		     const char *remote)
{
	struct sockaddr_un from = named(local), to = named(remote);

	memset(wire, 0, sizeof(*wire));
	wire->world = world;
	wire->out.name = "from rig5";
	wire->in.name = "from Linux";
	wire->out.forward = send_frame;
	wire->in.forward = take_roce;
	frame_wire_faults(wire, NULL, NULL);
	wire->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(local);
	if (wire->fd < 0 || bind(wire->fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
	    connect(wire->fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		fail_msg("%s, %s: %s", local, remote, strerror(errno));
}

void frame_wire_close(struct frame_wire *wire)
{
	close(wire->fd);
}
