/* SPDX-License-Identifier: BSD-2-Clause */
/* env.c - what the NIC asks of the world, answered by a port; captures and faults on its wires. */
#include "host/guard.h"

#include "abi/roce.h"
#include "host/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what the environment asks for ---------------------------------------------------------- */

static int pcap_init(struct host_port *port, const char *path)
{
	int result;

	port->pcap = calloc(1, sizeof(*port->pcap));
	if (!port->pcap)
		return -ENOMEM;
	result = host_pcap_open(port->pcap, path);
	if (result == -EEXIST)
		snprintf(port->why, port->why_size,
			 "RIG5_PCAP: %s exists and is not a capture of ours; remove it", path);
	else if (result < 0)
		snprintf(port->why, port->why_size, "RIG5_PCAP: %s: %s", path, strerror(-result));
	return result;
}

static int faulty_init(struct host_port *port, const char *text)
{
	size_t wrong = 0;
	int result;

	port->faulty = calloc(1, sizeof(*port->faulty));
	if (!port->faulty)
		return -ENOMEM;
	result = host_faulty_init(port->faulty, NULL, text, &wrong);
	if (result < 0)
		snprintf(port->why, port->why_size,
			 "RIG5_FAULT: '%s' is not understood (as in drop=5%%,seed=1)",
			 text + wrong);
	return result;
}

int host_env_init(struct host_port *port)
{
	const char *pcap = getenv("RIG5_PCAP");
	const char *faults = getenv("RIG5_FAULT");
	int result = 0;

	if (pcap && *pcap && port->config.infiniband) {
		snprintf(port->why, port->why_size,
			 "RIG5_PCAP: captures are of RoCE v2, and %s is InfiniBand; unset it, or "
			 "take ll=eth",
			 port->name);
		return -EOPNOTSUPP;
	}
	if (pcap && *pcap)
		result = pcap_init(port, pcap);
	if (result == 0 && faults && *faults)
		result = faulty_init(port, faults);
	return result;
}

void host_env_free(struct host_port *port)
{
	if (port->pcap)
		host_pcap_close(port->pcap);
	free(port->pcap);
	free(port->faulty);
}

/* ---- nic_env -------------------------------------------------------------------------------- */

static bool env_read(void *ctx, void *dst, uint64_t va, size_t len)
{
	return host_guard_read(ctx, dst, va, len);
}

static bool env_write(void *ctx, uint64_t va, const void *src, size_t len)
{
	return host_guard_write(ctx, va, src, len);
}

static uint8_t *env_reserve(void *ctx, const struct nic_path *path, uint32_t dqpn, size_t len)
{
	return host_wire_reserve(&((struct host_port *)ctx)->wire, path, dqpn, len);
}

static void env_commit(void *ctx)
{
	host_wire_commit(&((struct host_port *)ctx)->wire);
}

static void env_cancel(void *ctx)
{
	host_wire_cancel(&((struct host_port *)ctx)->wire);
}

static uint8_t *env_reserve_faulty(void *ctx, const struct nic_path *path, uint32_t dqpn,
				   size_t len)
{
	return host_faulty_reserve(((struct host_port *)ctx)->faulty, path, dqpn, len);
}

static void env_commit_faulty(void *ctx)
{
	struct host_port *port = (struct host_port *)ctx;

	host_faulty_commit(port->faulty, port->clock.now_ns);
}

/* Over UDP nobody knows what the peer has taken. */
static bool env_untaken(void *ctx, const struct nic_path *path, uint32_t dqpn)
{
	struct host_port *port = (struct host_port *)ctx;

	return host_wire_is_here(&port->wire, path) && host_local_untaken(port->local, dqpn);
}

static uint32_t env_window(void *ctx, const struct nic_path *path)
{
	struct host_port *port = (struct host_port *)ctx;

	return host_wire_is_here(&port->wire, path) ? 0 : port->udp.window_bytes;
}

static int env_block(void *ctx, uint32_t *block)
{
	struct host_port *port = (struct host_port *)ctx;
	int result = host_registry_block(&port->registry, block);

	if (result == 0 && port->udp.up) {
		atomic_store(&port->udp.regroup, true);
		host_engine_kick(port);
	}
	return result;
}

/* Members of this port send to everybody who listens; what comes over UDP, to a group's socket. */
static int env_join(void *ctx, const uint8_t gid[static 16])
{
	struct host_port *port = (struct host_port *)ctx;
	int result = roce_gid_is_frames(gid) ? 0 : host_udp_group_join(&port->udp, gid);

	if (result == 0 && port->group_count++ == 0)
		host_local_listen(port->local, true);
	return result;
}

static void env_leave(void *ctx, const uint8_t gid[static 16])
{
	struct host_port *port = (struct host_port *)ctx;

	if (!roce_gid_is_frames(gid))
		host_udp_group_leave(&port->udp, gid);
	if (--port->group_count == 0)
		host_local_listen(port->local, false);
}

static void env_event(void *ctx, const struct nic_event *event)
{
	struct host_port *port = (struct host_port *)ctx;

	if (port->config.event)
		port->config.event(port->config.ctx, event);
}

/* What is around a packet: on UDP, what really is; else what would be. */
static struct host_pcap_around around_of(const struct host_port *port, bool outgoing,
					 const struct nic_path *path, size_t len)
{
	struct host_pcap_around around = {.traffic_class = nic_traffic_class(path, len),
					  .hop_limit = path->hop_limit,
					  .udp_sport = path->udp_sport,
					  .dont_fragment = true};

	if (outgoing && (port->wire.open == HOST_WAY_UDP ||
			 (port->wire.open == HOST_WAY_GROUP && port->wire.over_udp))) {
		struct host_udp_around udp = host_udp_around(&port->udp);

		around.udp_sport = udp.udp_sport;
		around.ip_id = udp.ip_id;
	} else if (!outgoing && port->incoming) {
		around.traffic_class = port->incoming->rx.traffic_class;
		around.hop_limit = 0; /* not told, and not covered by the ICRC */
		around.udp_sport = port->incoming->udp_sport;
		around.ip_id = port->incoming->ip.ip_id;
		around.dont_fragment = port->incoming->ip.dont_fragment;
	}
	return around;
}

static void env_trace(void *ctx, const struct trace_event *event)
{
	struct host_port *port = (struct host_port *)ctx;

	port->config.trace(port->config.ctx, event);
}

static bool env_sync_begin(void *ctx, uint64_t host_va, bool writable)
{
	struct host_port *port = (struct host_port *)ctx;

	return port->config.sync_begin(port->config.ctx, host_va, writable);
}

static void env_sync_end(void *ctx, uint64_t host_va, bool writable)
{
	struct host_port *port = (struct host_port *)ctx;

	port->config.sync_end(port->config.ctx, host_va, writable);
}

static void env_packet(void *ctx, bool outgoing, const struct nic_path *path, const uint8_t *bth,
		       size_t len)
{
	struct host_port *port = (struct host_port *)ctx;
	struct host_pcap_around around = around_of(port, outgoing, path, len);
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	host_pcap_packet(port->pcap, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
			 outgoing, path, &around, bth, len);
}

static void env_wire_counters(void *ctx, struct nic_wire_counters *counters)
{
	const struct host_port *port = (const struct host_port *)ctx;
	const struct host_local_counters *local = &port->local->counters;
	const struct host_udp_counters *udp = &port->udp.counters;

	*counters = (struct nic_wire_counters){
		.rx_malformed = local->rx_drop_malformed + udp->rx_drop_malformed,
		.rx_icrc = udp->rx_drop_icrc,
		.tx_discards = local->tx_drop_nobody + local->tx_drop_dead + local->tx_drop_group +
			       udp->tx_drop,
	};
}

void host_port_env(struct host_port *port, struct nic_env *env)
{
	*env = (struct nic_env){
		.ctx = port,
		.mem_read = env_read,
		.mem_write = env_write,
		.mem_load32 = host_guard_load32,
		.mem_store32 = host_guard_store32,
		.mem_cas64 = host_guard_cas64,
		.tx_reserve = port->faulty ? env_reserve_faulty : env_reserve,
		.tx_commit = port->faulty ? env_commit_faulty : env_commit,
		.tx_cancel = env_cancel,
		.tx_untaken = env_untaken,
		.tx_window_bytes = env_window,
		.qpn_block = env_block,
		.event = env_event,
		.packet = port->pcap ? env_packet : NULL,
		.group_join = env_join,
		.group_leave = env_leave,
		.trace = port->config.trace ? env_trace : NULL,
		.wire_counters = env_wire_counters,
		.sync_begin = port->config.sync_begin ? env_sync_begin : NULL,
		.sync_end = port->config.sync_end ? env_sync_end : NULL,
	};
}
