/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udp_tx.c - the UDP wire's sending half: packets gather in batches, one message each for sendmmsg.
 *
 * A batch's bytes lie together: the kernel cuts them every segment_bytes. Each packet is sealed
 * when it is committed, as the segment that it will be.
 */
#include "host/udp.h"

#include "abi/roce_opcode.h"
#include "base/assert.h"
#include "base/be.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PACKET_BYTES_MAX = ROCE_HEADERS_MAX_BYTES + ROCE_MTU_MAX_BYTES + ROCE_ICRC_BYTES,
	HOP_LIMIT_DEFAULT = 64,
};

/* Segment size, traffic class and hop limit of one message. */
union udp_control {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(uint16_t)) + 2 * CMSG_SPACE(sizeof(int))];
};

struct udp_messages {
	struct mmsghdr messages[HOST_UDP_BATCHES];
	struct iovec pieces[HOST_UDP_BATCHES];
	union host_addr addrs[HOST_UDP_BATCHES];
	union udp_control controls[HOST_UDP_BATCHES];
};

int host_udp_tx_init(struct host_udp *udp)
{
	udp->messages = calloc(1, sizeof(*udp->messages));
	udp->tx.bytes = mmap(NULL, HOST_UDP_TX_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (udp->tx.bytes == MAP_FAILED)
		udp->tx.bytes = NULL;
	return udp->messages && udp->tx.bytes ? 0 : -ENOMEM;
}

/* ---- batches --------------------------------------------------------------------------------- */

static struct udp_batch *last_batch(struct udp_tx *tx)
{
	return tx->count > tx->first ? &tx->batches[tx->count - 1] : NULL;
}

/* Neighbouring source ports differ in the low bits, the two ways of choosing them in others. */
static uint16_t flow_of(const struct nic_path *path)
{
	return (uint16_t)((path->udp_sport * 0x9e3779b1u >> 24) % HOST_UDP_FLOWS);
}

/* The batch that the packet would begin. */
static void batch_init(struct udp_batch *batch, const struct udp_tx *tx,
		       const struct nic_path *path, uint32_t dqpn, uint32_t bytes)
{
	*batch = (struct udp_batch){
	    .off = tx->used,
	    .segment_bytes = bytes,
	    .flow = flow_of(path),
	    .traffic_class = nic_traffic_class(path, bytes - ROCE_ICRC_BYTES),
	    .hop_limit = path->hop_limit ? path->hop_limit : HOP_LIMIT_DEFAULT,
	    .block = dqpn >> 12,
	};
	memcpy(batch->dgid, path->dgid, 16);
}

static bool batch_takes(const struct udp_batch *batch, const struct udp_batch *next)
{
	return !batch->closed && batch->count < HOST_UDP_SEGMENTS &&
	       next->segment_bytes <= batch->segment_bytes &&
	       batch->bytes + next->segment_bytes <= HOST_UDP_BATCH_BYTES &&
	       batch->flow == next->flow && batch->block == next->block &&
	       batch->traffic_class == next->traffic_class &&
	       batch->hop_limit == next->hop_limit && memcmp(batch->dgid, next->dgid, 16) == 0;
}

static bool no_room(const struct udp_tx *tx, uint32_t bytes)
{
	return tx->used + bytes > HOST_UDP_TX_BYTES ||
	       (tx->fresh && tx->count == HOST_UDP_BATCHES);
}

uint8_t *host_udp_reserve(struct host_udp *udp, const struct nic_path *path, uint32_t dqpn,
			  size_t len)
{
	struct udp_tx *tx = &udp->tx;
	uint32_t bytes = (uint32_t)len + ROCE_ICRC_BYTES;
	struct udp_batch *batch = last_batch(tx);

	ASSERT(!tx->open);
	ASSERT(len >= ROCE_BTH_BYTES && bytes <= PACKET_BYTES_MAX);
	if (tx->blocked) {
		udp->counters.tx_full++;
		return NULL;
	}
	batch_init(&tx->next, tx, path, dqpn, bytes);
	tx->fresh = !batch || !udp->segments || !batch_takes(batch, &tx->next);
	if (no_room(tx, bytes)) {
		udp->counters.tx_full++;
		return NULL;
	}
	tx->open = true;
	tx->open_bytes = bytes;
	return tx->bytes + tx->used;
}

void host_udp_cancel(struct host_udp *udp)
{
	ASSERT(udp->tx.open);
	udp->tx.open = false;
}

struct host_udp_around host_udp_around(const struct host_udp *udp)
{
	const struct udp_tx *tx = &udp->tx;

	ASSERT(tx->open);
	return (struct host_udp_around){
	    .udp_sport = udp->sports[tx->next.flow],
	    .ip_id = tx->fresh ? 0 : tx->batches[tx->count - 1].count,
	};
}

static bool is_ack(const uint8_t *bth)
{
	return roce_opcodes[bth[ROCE_BTH_OPCODE_OFF]].kind == ROCE_KIND_ACK;
}

void host_udp_commit(struct host_udp *udp, int32_t corrupt_bit)
{
	struct udp_tx *tx = &udp->tx;
	uint8_t *bth = tx->bytes + tx->used;
	size_t len = tx->open_bytes - ROCE_ICRC_BYTES;
	struct udp_batch *batch;

	ASSERT(tx->open);
	tx->open = false;
	if (tx->fresh) {
		tx->batches[tx->count++] = tx->next;
		host_seal_init(&tx->seal, udp->gid, tx->next.dgid, udp->sports[tx->next.flow]);
	}
	tx->acks_only = (tx->used == 0 || tx->acks_only) && is_ack(bth);
	batch = last_batch(tx);
	le32_store(bth + len, host_seal_icrc(&tx->seal, batch->count, bth, len));
	if (corrupt_bit >= 0)
		bth[corrupt_bit / 8] ^= (uint8_t)(1u << corrupt_bit % 8);
	batch->closed = tx->open_bytes < batch->segment_bytes;
	batch->bytes += tx->open_bytes;
	batch->count++;
	tx->used += tx->open_bytes;
	udp->counters.tx_packets++;
	udp->counters.tx_bytes += tx->open_bytes;
}

/* ---- messages -------------------------------------------------------------------------------- */

static void control_add(struct msghdr *msg, int level, int type, const void *value, size_t len)
{
	struct cmsghdr *cmsg = (void *)((char *)msg->msg_control + msg->msg_controllen);

	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), value, len);
	msg->msg_controllen += CMSG_SPACE(len);
}

static void control_fill(const struct host_udp *udp, const struct udp_batch *batch,
			 struct msghdr *msg)
{
	uint16_t segment_bytes = (uint16_t)batch->segment_bytes;
	int traffic_class = batch->traffic_class;
	int hop_limit = batch->hop_limit;

	msg->msg_controllen = 0;
	if (batch->count > 1)
		control_add(msg, IPPROTO_UDP, UDP_SEGMENT, &segment_bytes, sizeof(segment_bytes));
	if (udp->ipv4 && traffic_class)
		control_add(msg, IPPROTO_IP, IP_TOS, &traffic_class, sizeof(int));
	if (udp->ipv4 && hop_limit != HOP_LIMIT_DEFAULT)
		control_add(msg, IPPROTO_IP, IP_TTL, &hop_limit, sizeof(int));
	if (!udp->ipv4 && traffic_class)
		control_add(msg, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class, sizeof(int));
	if (!udp->ipv4 && hop_limit != HOP_LIMIT_DEFAULT)
		control_add(msg, IPPROTO_IPV6, IPV6_HOPLIMIT, &hop_limit, sizeof(int));
	if (msg->msg_controllen == 0)
		msg->msg_control = NULL;
}

static void message_fill(struct host_udp *udp, const struct udp_batch *batch, uint32_t i)
{
	struct udp_messages *messages = udp->messages;
	struct msghdr *msg = &messages->messages[i].msg_hdr;

	messages->pieces[i] =
	    (struct iovec){.iov_base = udp->tx.bytes + batch->off, .iov_len = batch->bytes};
	*msg = (struct msghdr){.msg_name = &messages->addrs[i],
			       .msg_iov = &messages->pieces[i],
			       .msg_iovlen = 1,
			       .msg_control = messages->controls[i].buf};
	msg->msg_namelen = host_addr_from_gid(&messages->addrs[i], batch->dgid, ROCE_UDP_PORT,
					      udp->interface.index);
	control_fill(udp, batch, msg);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool is_full(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

static void drop_batch(struct host_udp *udp, const struct udp_batch *batch)
{
	udp->counters.tx_drop += batch->count;
}

/* One packet of a batch that the kernel did not take as a whole; alone, its identification is 0. */
static int send_segment(struct host_udp *udp, const struct udp_batch *batch, uint32_t i)
{
	struct udp_batch one = *batch;
	struct host_seal seal;
	uint8_t *bth;
	size_t len;

	one.off = batch->off + i * batch->segment_bytes;
	one.bytes = i + 1 < batch->count ? batch->segment_bytes
					 : batch->bytes - i * batch->segment_bytes;
	one.count = 1;
	bth = udp->tx.bytes + one.off;
	len = one.bytes - ROCE_ICRC_BYTES;
	host_seal_init(&seal, udp->gid, batch->dgid, udp->sports[batch->flow]);
	le32_store(bth + len, host_seal_icrc(&seal, 0, bth, len));
	message_fill(udp, &one, 0);
	return sendmsg(udp->fds[batch->flow], &udp->messages->messages[0].msg_hdr, MSG_DONTWAIT) < 0
		   ? -errno
		   : 0;
}

/* Segmentation may not be there (a device without checksum offload [udp(7)]); or the packets are
 * refused one by one, too. What finds no room is lost, as on a network. */
static void send_singly(struct host_udp *udp, const struct udp_batch *batch)
{
	uint32_t sent = 0;

	for (uint32_t i = 0; i < batch->count; i++)
		if (send_segment(udp, batch, i) == 0)
			sent++;
		else
			udp->counters.tx_drop++;
	udp->counters.tx_single += sent;
	if (sent)
		udp->segments = false;
}

/* The first batch was refused. false: try again later. */
static bool refused(struct host_udp *udp, const struct udp_batch *batch, int error)
{
	if (is_full(error)) {
		udp->tx.blocked = true;
		return false;
	}
	if (error == EINTR)
		return true;
	if (batch->count > 1)
		send_singly(udp, batch);
	else
		drop_batch(udp, batch);
	udp->tx.first++;
	return true;
}

/* Batches of one flow, one after the other. */
static bool send_some(struct host_udp *udp)
{
	struct udp_tx *tx = &udp->tx;
	const struct udp_batch *first = &tx->batches[tx->first];
	unsigned int count = 0;
	int sent;

	for (; tx->first + count < tx->count && first[count].flow == first->flow; count++)
		message_fill(udp, &first[count], count);
	sent = sendmmsg(udp->fds[first->flow], udp->messages->messages, count, MSG_DONTWAIT);
	udp->counters.tx_calls++;
	if (sent < 0)
		return refused(udp, first, errno);
	udp->counters.tx_batches += (unsigned int)sent;
	tx->first += (unsigned int)sent;
	return true;
}

/* A peer waits for data, and not for the acknowledgements that waited to go with it. */
static void held_last(struct udp_tx *tx)
{
	struct udp_batch held[HOST_UDP_HELD_MAX];
	uint32_t count = tx->held;

	tx->held = 0;
	if (tx->first != 0 || count == 0 || count >= tx->count || count > HOST_UDP_HELD_MAX)
		return;
	memcpy(held, tx->batches, count * sizeof(held[0]));
	memmove(tx->batches, tx->batches + count, (tx->count - count) * sizeof(held[0]));
	memcpy(tx->batches + tx->count - count, held, count * sizeof(held[0]));
}

void host_udp_hold(struct host_udp *udp)
{
	struct udp_batch *batch = last_batch(&udp->tx);

	udp->tx.held = udp->tx.count;
	if (batch)
		batch->closed = true;
}

bool host_udp_flush(struct host_udp *udp, uint64_t now_ns)
{
	struct udp_tx *tx = &udp->tx;

	ASSERT(!tx->open);
	if (tx->count == 0)
		return true;
	held_last(tx);
	udp->busy_ns = now_ns;
	tx->blocked = false;
	while (tx->first < tx->count) {
		if (!host_udp_may_use(udp, tx->batches[tx->first].flow, now_ns)) {
			tx->blocked = true;
			return false;
		}
		if (!send_some(udp))
			return false;
	}
	tx->first = 0;
	tx->count = 0;
	tx->used = 0;
	return true;
}
