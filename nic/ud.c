/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ud.c - datagrams: where an entry's address vector leads, and what becomes of one that comes in.
 *
 * A receive starts with 40 bytes for what was around the packet: an InfiniBand GRH, an IPv6 header,
 * or 20 zero bytes and an IPv4 header [RoCEv2 A17], [ud-av].
 */
#include "nic/nic_trace.h"

enum {
	IP_PROTO_UDP = 17,
	GRH_NEXT_IBA = 0x1b, /* [IBTA1 8.3] */
	IPV4_DF_F = 0x4000,
	HOP_LIMIT_DEFAULT = 64,
	DSCP_MASK = 0xfc,
	FLOW_LABEL_MASK = 0xfffff,
	/* flags_rqpn of a datagram's completion [mlx5dv.h mlx5_cqe64], [ud-av] */
	FROM_GRH_SHIFT = 28,
	FROM_SL_SHIFT = 24,
	FROM_UDP_F = 1 << 27,
	FROM_IPV6 = 1 << 24,
	FROM_IPV4 = 2 << 24,
};

/* ---- out: address vectors -------------------------------------------------------------------- */

uint32_t nic_ud_address_bytes(const uint8_t *seg)
{
	uint32_t dqpn = be32_load(seg + offsetof(struct wqe_av, dqp_dct));

	return dqpn & WQE_AV_EXTENDED_F ? sizeof(struct wqe_av) : WQE_UNIT_BYTES;
}

/* The global part, which the longer form has. */
static bool take_global(const struct nic *nic, struct nic_path *path, const uint8_t *seg)
{
	uint32_t word = be32_load(seg + offsetof(struct wqe_av, grh_gid_fl));
	uint32_t index = word >> WQE_AV_SGID_INDEX_SHIFT & 0xff;

	if (index >= NIC_GID_COUNT || !(nic->gid_live >> index & 1))
		return false;
	path->sgid_index = (uint8_t)index;
	memcpy(path->sgid, nic->gids[index], sizeof(path->sgid));
	memcpy(path->dgid, seg + offsetof(struct wqe_av, rgid), sizeof(path->dgid));
	path->traffic_class = seg[offsetof(struct wqe_av, tclass)] & DSCP_MASK;
	path->hop_limit = seg[offsetof(struct wqe_av, hop_limit)];
	path->flow_label = word & FLOW_LABEL_MASK;
	return true;
}

bool nic_ud_address(const struct nic *nic, struct nic_wqe *wqe, const uint8_t *seg)
{
	struct nic_path *path = &wqe->path;
	bool extended = nic_ud_address_bytes(seg) == sizeof(struct wqe_av);
	uint16_t lid = be16_load(seg + offsetof(struct wqe_av, rlid));
	uint8_t sl = seg[offsetof(struct wqe_av, stat_rate_sl)] & 0xf;

	wqe->qkey = be32_load(seg);
	wqe->dqpn = be32_load(seg + offsetof(struct wqe_av, dqp_dct)) & ROCE_QPN_MASK;
	*path = (struct nic_path){.datagram = true};
	if (nic->config.lid == 0) {
		path->sl = sl >> 1;
		path->udp_sport = lid | ROCE_UDP_SPORT_MIN;
		return extended && take_global(nic, path, seg);
	}
	/* A port has one LID: there are no path bits to choose with. */
	path->slid = nic->config.lid;
	path->dlid = lid;
	path->sl = sl;
	if (!extended ||
	    !(be32_load(seg + offsetof(struct wqe_av, grh_gid_fl)) >> WQE_AV_GRH_SHIFT & 1))
		return true;
	return take_global(nic, path, seg);
}

/* ---- in: where it came from ------------------------------------------------------------------ */

/* The path that a datagram came along, as its sender named it: ours is the destination. */
static struct nic_path path_of(const struct nic *nic, const struct nic_rx *rx)
{
	struct nic_path path = {.hop_limit = HOP_LIMIT_DEFAULT};

	if (rx->path)
		return *rx->path;
	if (rx->sgid) {
		path.traffic_class = rx->traffic_class;
		memcpy(path.sgid, rx->sgid, sizeof(path.sgid));
		memcpy(path.dgid, rx->dgid ? rx->dgid : nic->gids[0], sizeof(path.dgid));
	} else if (nic->config.lid == 0) {
		memcpy(path.sgid, nic->gids[0], sizeof(path.sgid));
		memcpy(path.dgid, nic->gids[0], sizeof(path.dgid));
	}
	path.slid = path.dlid = nic->config.lid;
	return path;
}

/* On Ethernet always; on InfiniBand a destination's GID is never zero. */
static bool is_global(const struct nic *nic, const struct nic_path *path)
{
	static const uint8_t none[16];

	return nic->config.lid == 0 || memcmp(path->dgid, none, sizeof(none)) != 0;
}

static bool is_ipv4(const struct nic *nic, const struct nic_path *path)
{
	return nic->config.lid == 0 && roce_gid_is_ipv4(path->sgid);
}

static uint32_t source_of(const struct nic_pkt *pkt)
{
	return be24_load(pkt->header + ROCE_BTH_BYTES + ROCE_DETH_SRC_QPN_OFF);
}

static struct nic_from from_of(const struct nic *nic, const struct nic_path *path,
			       const struct nic_pkt *pkt)
{
	uint32_t flags = source_of(pkt);

	if (is_global(nic, path))
		flags |= 1u << FROM_GRH_SHIFT;
	if (nic->config.lid != 0)
		flags |= (uint32_t)(path->sl & 0xf) << FROM_SL_SHIFT;
	else
		flags |= FROM_UDP_F | (is_ipv4(nic, path) ? FROM_IPV4 : FROM_IPV6);
	return (struct nic_from){.flags_rqpn = flags, .slid = path->slid};
}

/* ---- in: what was around it ------------------------------------------------------------------ */

static uint16_t ip_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (int i = 0; i < ROCE_IPV4_BYTES; i += 2)
		sum += be16_load(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void fill_ipv4(uint8_t *grh, const struct nic_path *path, uint32_t udp_bytes)
{
	uint8_t *ip = grh + ROCE_GRH_BYTES - ROCE_IPV4_BYTES;

	memset(grh, 0, ROCE_GRH_BYTES);
	ip[0] = 4 << 4 | ROCE_IPV4_BYTES / 4;
	ip[1] = path->traffic_class;
	be16_store(ip + 2, (uint16_t)(ROCE_IPV4_BYTES + udp_bytes));
	be16_store(ip + 6, IPV4_DF_F);
	ip[8] = path->hop_limit;
	ip[9] = IP_PROTO_UDP;
	memcpy(ip + 12, path->sgid + 12, 4);
	memcpy(ip + 16, path->dgid + 12, 4);
	be16_store(ip + 10, ip_checksum(ip));
}

/* An IPv6 header and a GRH have the same fields. */
static void fill_global(uint8_t *grh, const struct nic_path *path, uint32_t payload_bytes,
			uint8_t next)
{
	be32_store(grh, 6u << 28 | (uint32_t)path->traffic_class << 20 |
			    (path->flow_label & FLOW_LABEL_MASK));
	be16_store(grh + 4, (uint16_t)payload_bytes);
	grh[6] = next;
	grh[7] = path->hop_limit;
	memcpy(grh + 8, path->sgid, 16);
	memcpy(grh + 24, path->dgid, 16);
}

static void fill_grh(const struct nic *nic, uint8_t *grh, const struct nic_path *path,
		     size_t len_bytes)
{
	/* From the BTH to the ICRC. */
	uint32_t bytes = (uint32_t)len_bytes + ROCE_ICRC_BYTES;

	if (nic->config.lid != 0)
		fill_global(grh, path, bytes, GRH_NEXT_IBA);
	else if (is_ipv4(nic, path))
		fill_ipv4(grh, path, ROCE_UDP_BYTES + bytes);
	else
		fill_global(grh, path, ROCE_UDP_BYTES + bytes, IP_PROTO_UDP);
}

/* ---- in: the receive ------------------------------------------------------------------------- */

static COLD void no_receive(struct nic *nic, const struct nic_qp *qp)
{
	nic->counters.rx_no_receive++;
	nic_trace_deny(nic, qp, 0, TRACE_BY_NO_RECEIVE);
}

/* Whether there is a receive for it, in nic->rx_wqe, that is long enough. Else it is lost, and the
 * receive is the next one's [IBTA1 9.8.3]. */
static bool take_receive(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt)
{
	if (!nic_resp_look(nic, qp, pkt) ||
	    (nic_resp_has_receive(nic, qp) && !nic_wqe_fetch_receive(nic, qp))) {
		nic_qp_error(nic, qp);
		nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
		return false;
	}
	if (nic_resp_has_receive(nic, qp) &&
	    nic->rx_wqe.len_bytes >= (uint64_t)ROCE_GRH_BYTES + pkt->payload_bytes)
		return true;
	nic->counters.rx_drop_message++;
	if (nic_resp_has_receive(nic, qp))
		nic_trace_deny_short(nic, qp, (uint64_t)ROCE_GRH_BYTES + pkt->payload_bytes);
	else
		no_receive(nic, qp);
	return false;
}

static enum nic_mem fill_receive(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
				 const struct nic_path *path)
{
	struct nic_wqe *wqe = &nic->rx_wqe;
	uint8_t grh[ROCE_GRH_BYTES];
	enum nic_mem verdict = NIC_MEM_OK;

	if (is_global(nic, path)) {
		fill_grh(nic, grh, path,
			 pkt->info->header_bytes + pkt->payload_bytes +
			     roce_pad_bytes(pkt->payload_bytes));
		verdict = nic_mem_scatter(nic, qp->pdn_recv, wqe, 0, grh, sizeof(grh));
	}
	if (verdict == NIC_MEM_OK)
		verdict = nic_mem_scatter(nic, qp->pdn_recv, wqe, ROCE_GRH_BYTES, pkt->payload,
					  pkt->payload_bytes);
	return verdict;
}

/* Captures see it the other way round: path->dgid is the peer's. */
static void tell_packet(struct nic *nic, const struct nic_path *path, const struct nic_rx *rx)
{
	struct nic_path back = *path;

	if (!nic->env->packet)
		return;
	memcpy(back.dgid, path->sgid, sizeof(back.dgid));
	memcpy(back.sgid, path->dgid, sizeof(back.sgid));
	nic->env->packet(nic->env->ctx, false, &back, rx->bth, rx->len_bytes);
}

void nic_ud_rx(struct nic *nic, struct nic_qp *qp, const struct nic_pkt *pkt,
	       const struct nic_rx *rx)
{
	uint32_t qkey = be32_load(pkt->header + ROCE_BTH_BYTES + ROCE_DETH_QKEY_OFF);
	struct nic_path path;
	struct nic_from from;
	enum nic_mem verdict;

	nic->now_qp = qp;
	nic->now_responds = true;
	if (qkey != qp->params.qkey) {
		nic->counters.rx_drop_qkey++;
		nic_trace_deny(nic, qp, 0, TRACE_BY_QKEY);
		return;
	}
	if ((rx->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE)
		nic_cnp_marked_datagram(nic, qp, pkt, rx, source_of(pkt));
	if (pkt->payload_bytes > 1u << qp->mtu_log2 || !take_receive(nic, qp, pkt))
		return;
	path = path_of(nic, rx);
	tell_packet(nic, &path, rx);
	qp->counters.rx_packets++;
	qp->counters.rx_payload_bytes += pkt->payload_bytes;
	verdict = fill_receive(nic, qp, pkt, &path);
	if (verdict != NIC_MEM_OK) {
		nic_trace_scatter(nic, qp, NULL, &nic->rx_wqe, ROCE_GRH_BYTES, pkt->payload_bytes,
				  verdict);
		nic_resp_complete_error(nic, qp, nic_mem_fault(verdict));
		nic_qp_error(nic, qp);
		nic_qp_event(nic, qp, NIC_EVENT_QP_FATAL);
		return;
	}
	from = from_of(nic, &path, pkt);
	qp->rx_off = ROCE_GRH_BYTES + pkt->payload_bytes;
	nic_resp_complete(nic, qp, pkt, &from);
	qp->rx_off = 0;
}
