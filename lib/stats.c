/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - what the NIC has counted: the port's counters from sysfs, flows from the software NIC.
 */
#include "abi/stats.h"
#include "lib/lib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the port's counters --------------------------------------------------------------------- */

/* One file; false: it cannot be read, or is no number. */
static bool counter_read(const struct rig_nic *nic, const char *folder, struct rig_counter *counter)
{
	char path[256], line[64], *end;

	if ((size_t)snprintf(path, sizeof(path), "class/infiniband/%s/ports/%d/%s/%s", nic->name,
			     LIB_PORT, folder, counter->name) >= sizeof(path) ||
	    lib_sysfs_line(nic->os, path, line, sizeof(line)))
		return false;
	counter->value = strtoull(line, &end, 10);
	return end != line && *end == '\0';
}

/* The files of a folder, behind the count that there are already; how many then. */
static int folder_read(const struct rig_nic *nic, const char *folder, struct rig_counter *counters,
		       int count, int max)
{
	struct rig_counter counter;
	char path[256];

	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%d/%s", nic->name, LIB_PORT,
		 folder);
	for (unsigned int i = 0;; i++) {
		int err =
		    nic->os->sysfs_list(nic->os->ctx, path, i, counter.name, sizeof(counter.name));

		if (err == -ENAMETOOLONG)
			continue;
		if (err)
			return count;
		/* How long something took to be read, and no counter. */
		if (strcmp(counter.name, "lifespan") == 0 || !counter_read(nic, folder, &counter))
			continue;
		if (count < max)
			counters[count] = counter;
		count++;
	}
}

int rig_nic_counters(struct rig_nic *nic, struct rig_counter *counters, int max)
{
	int err, count;

	if (max < 0 || (!counters && max != 0))
		return lib_fail(EINVAL, "rig_nic_counters: no place for %d counters", max);
	err = lib_nic_lock(nic, "rig_nic_counters");
	if (err)
		return err;
	count = folder_read(nic, "hw_counters", counters, 0, max);
	count = folder_read(nic, "counters", counters, count, max);
	lib_nic_unlock(nic);
	return count;
}

/* ---- flows ----------------------------------------------------------------------------------- */

static void flow_of(const struct rig_nic *nic, const struct stats_flow *from, struct rig_flow *flow)
{
	*flow = (struct rig_flow){
	    .qp = from->qpn,
	    .remote_qp = from->dest_qpn,
	    .address = {.link = nic->port.link},
	    .cc = from->has_cc ? (enum rig_cc)from->algorithm : RIG_CC_NONE,
	    .mapped = from->mapped,
	    .rate_bps = from->has_cc && from->paced ? from->rate_bps : 0,
	    .rtt_ns = from->rtt_ns,
	    .marks = from->cc.marks,
	    .notices_sent = from->cc.cnps_sent,
	    .notices_handled = from->cc.cnps_handled,
	    .retransmits = from->qpn != 0 ? from->qp.retransmits : from->cc.retransmits,
	};
	if (nic->port.link == RIG_LINK_INFINIBAND)
		flow->address.lid = from->dlid;
	else
		memcpy(flow->address.gid, from->dgid, sizeof(flow->address.gid));
	if (from->qpn == 0)
		return;
	flow->sent_packets = from->qp.tx_packets;
	flow->sent_bytes = from->qp.tx_payload_bytes;
	flow->received_packets = from->qp.rx_packets;
	flow->received_bytes = from->qp.rx_payload_bytes;
	flow->timeouts = from->qp.ack_timeouts;
}

static int flows_read(const struct rig_nic *nic, struct rig_flow *flows, int max)
{
	struct stats_flow part[STATS_FLOWS_MAX];
	uint32_t from = 0;
	int count = 0;

	do {
		int got = nic->os->flows(nic->os->ctx, &from, part, STATS_FLOWS_MAX);

		if (got < 0)
			return got;
		for (int i = 0; i < got; i++, count++)
			if (count < max)
				flow_of(nic, &part[i], &flows[count]);
	} while (from != 0);
	return count;
}

int rig_nic_flows(struct rig_nic *nic, struct rig_flow *flows, int max)
{
	int result;

	if (max < 0 || (!flows && max != 0))
		return lib_fail(EINVAL, "rig_nic_flows: no place for %d flows", max);
	result = lib_nic_lock(nic, "rig_nic_flows");
	if (result)
		return result;
	if (!nic->os->flows)
		result = lib_fail(EOPNOTSUPP,
				  "rig_nic_flows: only the software NIC can tell, "
				  "%s is hardware",
				  nic->name);
	else
		result = flows_read(nic, flows, max);
	lib_nic_unlock(nic);
	return result;
}

int rig_qp_flow(const struct rig_qp *qp, struct rig_flow *flow)
{
	struct stats_flow from;
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_flow");
	if (!flow)
		return lib_fail(EINVAL, "rig_qp_flow: no place for the answer");
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_flow");
	if (err)
		return err;
	if (!nic->os->qp_flow)
		err = lib_fail(EOPNOTSUPP,
			       "rig_qp_flow: only the software NIC can tell, %s is "
			       "hardware",
			       nic->name);
	else
		err = nic->os->qp_flow(nic->os->ctx, qp->number, &from);
	if (!err)
		flow_of(nic, &from, flow);
	lib_nic_unlock(nic);
	return err;
}
