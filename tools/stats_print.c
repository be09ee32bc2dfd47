/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/stats_print.c - what `rig5 stats` has found, as a table and as JSON. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "tools/stats.h"
#include "tools/units.h"

enum { ADDRESS_TEXT = INET6_ADDRSTRLEN + 8, COUNTER_COLUMNS = 3 };

static const uint8_t nowhere[16];

/* "127.0.0.1", "fe80::1", "LID 7"; "": none. */
static const char *address_text(const uint8_t gid[static 16], uint16_t lid,
				char text[static ADDRESS_TEXT])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	text[0] = '\0';
	if (lid != 0)
		snprintf(text, ADDRESS_TEXT, "LID %u", lid);
	else if (memcmp(gid, nowhere, sizeof(nowhere)) == 0)
		return text;
	else if (memcmp(gid, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, gid + 12, text, ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, gid, text, ADDRESS_TEXT);
	return text;
}

/* ---- table ----------------------------------------------------------------------------------- */

/* The same flow in another view: in the same place, or not far from it. */
static const struct stats_flow *find_flow(const struct stats_nic *nic,
					  const struct stats_flow *flow, uint32_t near)
{
	for (uint32_t i = 0; nic && i < nic->flow_count; i++) {
		const struct stats_flow *other = &nic->flows[(near + i) % nic->flow_count];

		if (other->qpn == flow->qpn && other->dlid == flow->dlid && other->sl == flow->sl &&
		    other->sgid_index == flow->sgid_index &&
		    memcmp(other->dgid, flow->dgid, sizeof(flow->dgid)) == 0)
			return other;
	}
	return NULL;
}

static const struct stats_nic *find_nic(const struct stats_view *view, const struct stats_nic *nic)
{
	for (uint32_t i = 0; view && i < view->count; i++)
		if (strcmp(view->nics[i].name, nic->name) == 0)
			return &view->nics[i];
	return NULL;
}

/* The counters that are not 0. */
static void print_counters(const struct stats_nic *nic)
{
	unsigned int shown = 0;

	for (unsigned int i = 0; i < STATS_COUNT; i++) {
		if (nic->reply.counters[i] == 0)
			continue;
		printf("%s%-24s %12llu", shown % COUNTER_COLUMNS ? "   " : "  ", stats_names[i],
		       (unsigned long long)nic->reply.counters[i]);
		if (++shown % COUNTER_COLUMNS == 0)
			putchar('\n');
	}
	if (shown % COUNTER_COLUMNS)
		putchar('\n');
}

static const char *rate_text(const struct stats_flow *flow, char text[static TOOL_UNIT_TEXT])
{
	if (!flow->has_cc || !flow->paced)
		return "-";
	snprintf(text, TOOL_UNIT_TEXT, "%.3f Gb/s", (double)flow->rate_bps / 1e9);
	return text;
}

static const char *rtt_text(const struct stats_flow *flow, char text[static TOOL_UNIT_TEXT])
{
	if (flow->rtt_ns == 0)
		return "-";
	snprintf(text, TOOL_UNIT_TEXT, "%.1f us", (double)flow->rtt_ns / 1e3);
	return text;
}

static const char *peer_text(const struct stats_flow *flow, char text[static ADDRESS_TEXT])
{
	address_text(flow->dgid, flow->dlid, text);
	return text[0] ? text : "-";
}

static const char *algorithm_text(const struct stats_flow *flow)
{
	return flow->has_cc ? stats_algorithm_text(flow->algorithm) : "-";
}

/* Bits a second between two views; "": it is not known. */
static const char *speed_text(uint64_t bytes, uint64_t bytes_before, uint64_t ns,
			      char text[static TOOL_UNIT_TEXT])
{
	text[0] = '\0';
	if (ns != 0 && bytes >= bytes_before)
		snprintf(text, TOOL_UNIT_TEXT, "%.3f Gb/s",
			 (double)(bytes - bytes_before) * 8 / (double)ns);
	return text;
}

static void print_qp(const struct stats_flow *flow, const struct stats_flow *before, uint64_t ns)
{
	char peer[ADDRESS_TEXT], rate[TOOL_UNIT_TEXT], rtt[TOOL_UNIT_TEXT], out[TOOL_UNIT_TEXT],
	    in[TOOL_UNIT_TEXT], out_speed[TOOL_UNIT_TEXT] = "", in_speed[TOOL_UNIT_TEXT] = "";

	if (before) {
		speed_text(flow->qp.tx_payload_bytes, before->qp.tx_payload_bytes, ns, out_speed);
		speed_text(flow->qp.rx_payload_bytes, before->qp.rx_payload_bytes, ns, in_speed);
	}
	printf("  0x%06x %-7s %-5s %-15s %-9s %-12s %-9s %10s %10s %8llu %8llu %6llu %6llu",
	       flow->qpn, stats_type_text(flow->type), stats_state_text(flow->state),
	       peer_text(flow, peer), algorithm_text(flow), rate_text(flow, rate),
	       rtt_text(flow, rtt), tool_format_bytes(flow->qp.tx_payload_bytes, out),
	       tool_format_bytes(flow->qp.rx_payload_bytes, in),
	       (unsigned long long)flow->qp.retransmits, (unsigned long long)flow->cc.marks,
	       (unsigned long long)flow->cc.cnps_sent, (unsigned long long)flow->cc.cnps_handled);
	if (out_speed[0])
		printf("   %s out, %s in", out_speed, in_speed);
	putchar('\n');
}

static void print_qps(const struct stats_nic *nic, const struct stats_nic *before)
{
	uint64_t ns = before ? nic->reply.time_ns - before->reply.time_ns : 0;
	bool headed = false;

	for (uint32_t i = 0; i < nic->flow_count; i++) {
		const struct stats_flow *flow = &nic->flows[i];

		if (flow->qpn == 0)
			continue;
		if (!headed)
			printf("  %-8s %-7s %-5s %-15s %-9s %-12s %-9s %10s %10s %8s %8s %6s %6s\n",
			       "QP", "type", "state", "peer", "algorithm", "rate", "RTT", "sent",
			       "received", "again", "marks", "CNPs", "took");
		headed = true;
		print_qp(flow, find_flow(before, flow, i), ns);
	}
}

static void print_dest(const struct stats_flow *flow)
{
	char peer[ADDRESS_TEXT], rate[TOOL_UNIT_TEXT], rtt[TOOL_UNIT_TEXT];

	printf("  %-24s %2u %-9s %-7s %-12s %-9s %8llu %8llu %8llu %6llu %6llu %8llu\n",
	       peer_text(flow, peer), flow->sl, algorithm_text(flow), flow->mapped ? "yes" : "no",
	       rate_text(flow, rate), rtt_text(flow, rtt), (unsigned long long)flow->qp.tx_packets,
	       (unsigned long long)flow->cc.retransmits, (unsigned long long)flow->cc.marks,
	       (unsigned long long)flow->cc.cnps_sent, (unsigned long long)flow->cc.cnps_handled,
	       (unsigned long long)flow->cc.waits);
}

static void print_dests(const struct stats_nic *nic)
{
	bool headed = false;

	for (uint32_t i = 0; i < nic->flow_count; i++) {
		if (nic->flows[i].qpn != 0)
			continue;
		if (!headed)
			printf("  %-24s %2s %-9s %-7s %-12s %-9s %8s %8s %8s %6s %6s %8s\n",
			       "destination", "SL", "algorithm", "mapped", "rate", "RTT", "sent",
			       "again", "marks", "CNPs", "took", "waits");
		headed = true;
		print_dest(&nic->flows[i]);
	}
}

void stats_print_table(const struct stats_view *view, const struct stats_view *before)
{
	char address[ADDRESS_TEXT], name[STATS_NIC_BYTES];

	for (uint32_t i = 0; i < view->count; i++) {
		const struct stats_nic *nic = &view->nics[i];

		printf("%s%s of process %u (%s), at %s\n", i ? "\n" : "",
		       tool_printable(nic->reply.nic, name, sizeof(name)), nic->pid, nic->program,
		       address_text(nic->reply.gid, nic->reply.lid, address));
		print_counters(nic);
		print_qps(nic, find_nic(before, nic));
		print_dests(nic);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void print_number(const char *before, const char *name, uint64_t value)
{
	printf("%s\"%s\": %llu", before, name, (unsigned long long)value);
}

static void print_text(const char *before, const char *name, const char *text)
{
	printf("%s\"%s\": ", before, name);
	tool_json_string(stdout, text);
}

static void print_cc_json(const struct stats_flow *flow)
{
	printf(", \"congestion\": {");
	print_text("", "algorithm", stats_algorithm_text(flow->algorithm));
	printf(", \"paced\": %s", flow->paced ? "true" : "false");
	print_number(", ", "rate_bps", flow->rate_bps);
	print_number(", ", "rtt_ns", flow->rtt_ns);
	if (flow->window_packets != UINT32_MAX)
		print_number(", ", "window_packets", flow->window_packets);
#define X(name) print_number(", ", #name, flow->cc.name);
	STATS_CC_COUNTERS(X)
#undef X
	printf("}");
}

static void print_flow_json(const struct stats_flow *flow)
{
	char address[ADDRESS_TEXT];

	printf("{");
	if (flow->qpn != 0) {
		print_number("", "qpn", flow->qpn);
		print_text(", ", "type", stats_type_text(flow->type));
		print_text(", ", "state", stats_state_text(flow->state));
		print_number(", ", "dest_qpn", flow->dest_qpn);
		print_text(", ", "peer", address_text(flow->dgid, flow->dlid, address));
#define X(name) print_number(", ", #name, flow->qp.name);
		STATS_QP_COUNTERS(X)
#undef X
	} else {
		print_text("", "peer", address_text(flow->dgid, flow->dlid, address));
		print_number(", ", "sl", flow->sl);
		print_number(", ", "sgid_index", flow->sgid_index);
		printf(", \"mapped\": %s", flow->mapped ? "true" : "false");
		print_number(", ", "tx_packets", flow->qp.tx_packets);
	}
	if (flow->has_cc)
		print_cc_json(flow);
	printf("}");
}

static void print_flows_json(const struct stats_nic *nic, const char *name, bool qps)
{
	const char *before = "";

	printf(", \"%s\": [", name);
	for (uint32_t i = 0; i < nic->flow_count; i++) {
		if ((nic->flows[i].qpn != 0) != qps)
			continue;
		fputs(before, stdout);
		print_flow_json(&nic->flows[i]);
		before = ", ";
	}
	printf("]");
}

void stats_print_json(const struct stats_view *view)
{
	char address[ADDRESS_TEXT];

	printf("{\"nics\": [");
	for (uint32_t i = 0; i < view->count; i++) {
		const struct stats_nic *nic = &view->nics[i];

		printf("%s{", i ? ", " : "");
		print_text("", "nic", nic->reply.nic);
		print_number(", ", "pid", nic->pid);
		print_text(", ", "program", nic->program);
		print_text(", ", "address", address_text(nic->reply.gid, nic->reply.lid, address));
		print_number(", ", "time_ns", nic->reply.time_ns);
		printf(", \"counters\": {");
		for (unsigned int at = 0; at < STATS_COUNT; at++)
			print_number(at ? ", " : "", stats_names[at], nic->reply.counters[at]);
		printf("}");
		print_flows_json(nic, "queue_pairs", true);
		print_flows_json(nic, "destinations", false);
		printf("}");
	}
	printf("]}\n");
}
