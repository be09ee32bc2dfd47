/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim/load.h - the programs of a simulated world: connections, and random work on them.
 *
 * A connection has two ends; each posts entries and receives as a program would, at random times,
 * and polls or waits for events. When an entry fails, or on a whim, the connection dies: both ends
 * flush (or one just goes), the model is settled, and a new pair of queue pairs takes its place.
 *
 *	load.c	who posts what when	conn.c	birth and death of connections, completions
 */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include "sim/fault.h"
#include "sim/node.h"
#include "sim/oracle.h"
#include "sim/sim.h"

enum {
	SIM_CONNS_MAX = 3,
	SIM_TARGET_BYTES = 128 << 10,
	SIM_MESSAGE_BYTES_MAX = 64 << 10,
	SIM_SLOT_BYTES_SMALL = 256,
	SIM_SLOTS_BIG = 6, /* of SIM_MESSAGE_BYTES_MAX; the first ones */
	SIM_SLOTS_SMALL = 24,
	SIM_SLOTS = SIM_SLOTS_BIG + SIM_SLOTS_SMALL,
	SIM_LOCAL_BYTES =
		SIM_SLOTS_BIG * SIM_MESSAGE_BYTES_MAX + SIM_SLOTS_SMALL * SIM_SLOT_BYTES_SMALL,
	SIM_RECEIVES_MAX = 16,
	SIM_RECEIVE_PIECES = 2,
};

struct sim_load;
struct sim_conn;

/* A completion queue and how its program learns of completions. */
struct sim_queue {
	struct sim_load *load;
	struct sim_node *node;
	struct sim_cq cq;
	bool waits; /* for events; else it polls */
	bool poll_due;
};

struct sim_receive {
	struct sim_piece pieces[SIM_RECEIVE_PIECES];
	uint32_t piece_count;
};

struct sim_end {
	struct sim_conn *conn;
	struct sim_node *node;
	struct sim_end *other;
	struct sim_queue *queue;
	const char *name;
	uint32_t number; /* user index of its queue pairs */
	struct sim_qp qp;
	bool live;	      /* qp exists */
	uint32_t lives;	      /* how often it was connected */
	uint32_t psn;	      /* where it last started to count */
	struct sim_stream out; /* what this end posts, onto the other's target */
	uint64_t target_va;
	uint64_t local_va;    /* slots, then receive buffers, then guard bytes */
	uint64_t receive_va;
	uint8_t *shadow;      /* what is at local_va */
	uint32_t shadow_bytes;
	uint32_t target_key;
	uint32_t local_key;
	bool local_renewed; /* in this life: posted entries and receives may have the old key */
	uint32_t slots_busy;  /* bits */
	uint32_t receive_bytes;
	uint32_t receive_posted; /* free running */
	uint32_t receive_done;	 /* of which receive_good with success; they come first */
	uint32_t receive_good;
	struct sim_receive receives[SIM_RECEIVES_MAX];
	uint32_t sq_wqebb_freed; /* free running, as the driver's count of what was posted */
	uint32_t unsignalled_wqebb;
	uint32_t generated;
	uint64_t tick_ns;     /* how long it sleeps, next */
};

struct sim_conn {
	struct sim_load *load;
	struct sim_end ends[2];
	struct nic_qp_params params;
	uint32_t sq_wqebb_count;
	uint32_t rq_wqe_count;
	bool signal_all;
	bool doomed; /* it may fail: a mistake was posted, an end was killed, a region has gone */
	bool dying;
	uint32_t settle_tries;
	uint64_t harm_count; /* packets lost or late */
};

struct sim_load {
	struct sim_world *world;
	const struct sim_config *config;
	struct sim_faults faults;
	struct sim_node nodes[2];
	uint32_t pdn[2];
	struct sim_queue queues[2 * SIM_CONNS_MAX];
	uint32_t queue_count;
	struct sim_conn conns[SIM_CONNS_MAX];
	uint32_t conn_count;
	uint64_t progress_ns; /* when something last completed */
	uint32_t op_count; /* entries that each end posts */
	uint32_t sabotage_left; /* occasions until the sabotage is done */
	bool silent;		/* harm is not counted, and the cable is cut */
	struct sim_result *result;
};

/* sim_load_open - both hosts, their connections, and the first events. */
void sim_load_open(struct sim_load *load, struct sim_world *world, const struct sim_config *config,
		   struct sim_result *result);
/* sim_load_done - whether all was posted, completed and received. */
bool sim_load_done(const struct sim_load *load);
/* sim_load_finish - the comparisons of the end; then everything is destroyed, and nothing
 * is left. */
void sim_load_finish(struct sim_load *load);
void sim_load_close(struct sim_load *load);

/* conn.c */
void sim_conn_open(struct sim_conn *conn, struct sim_load *load, uint32_t number);
/* sim_conn_join - a fresh pair of queue pairs, connected. */
void sim_conn_join(struct sim_conn *conn);
void sim_conn_compare(struct sim_conn *conn);
void sim_conn_destroy(struct sim_conn *conn);
void sim_conn_close(struct sim_conn *conn);
/* sim_conn_die - it ends some time from now. kill: that end goes at once, and (if vanish) with no
 * flush. */
void sim_conn_die(struct sim_conn *conn, struct sim_end *kill, bool vanish);
/* The keys of end's own buffers, and of what its peer may access, anew; false: there is none. */
bool sim_conn_local_region(struct sim_end *end);
bool sim_conn_target_region(struct sim_end *end);
/* sim_conn_pause - end's send queue is drained, and runs again some time later. */
void sim_conn_pause(struct sim_end *end);
/* sim_queue_poll - takes all completions there are; whether there were any. */
bool sim_queue_poll(struct sim_queue *queue);

/* load.c: whether this occasion is the one to sabotage. */
bool sim_sabotage_now(struct sim_load *load, enum sim_sabotage sabotage);

#endif
