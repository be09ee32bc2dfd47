/* SPDX-License-Identifier: BSD-2-Clause */
/* engine.c - who runs the NIC when: passes, lent threads, and the engine thread that sleeps. */
#include "abi/roce.h"
#include "base/be.h"
#include "host/group.h"
#include "host/guard.h"
#include "host/port.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PASS_PACKETS = 64,
	PASS_BYTES = 256 * 1024,
	SCAN_EVERY = 64,       /* passes */
	ROUNDS_MAX = 8,        /* passes that one lent thread runs for others */
	PASS_WEIGHT = 16,      /* a pass with much to do takes as long as so many with nothing */
	STREAK_MIN = 32,       /* application passes that make it a polling one, */
	STREAK_NS = 200000,    /* in at least this time, */
	STREAK_GAP_NS = 10000, /* with no longer pauses than this */
	WATCH_NS = 4000000,    /* how often the engine looks whether polling goes on */
	WATCH_PASSES_MIN = 64, /* and how many passes in between mean that it does */
	HOT_NS = 1000000,      /* how long a polling thread looks for datagrams in vain */
	COLD_NS = 5000000,     /* how often one looks that expects none */
	REGROUP_NS = 2000000,  /* how often the group of sockets is put right at most */
	RETRY_NS = 50000,      /* when to try again to send what a socket did not take */
	NAP_MIN_NS =
	    50000, /* how long the engine sleeps that is not told of doorbells: at first, */
	NAP_MAX_NS = 10000000,   /* and at most */
	LINGER_NS = 50000,       /* how long the engine stays awake after work that comes quickly */
	LINGER_MIN = 4,          /* that many sleeps in a row were shorter than that: it does */
	LINGER_PASSES = 8,       /* passes between offers to leave the processor */
	CROWD_NS = 100000,       /* an offer that takes longer: somebody took it, */
	CROWD_MIN_NS = 20000000, /* and the engine does not stay awake for so long: at first, */
	CROWD_MAX_NS = 500000000, /* and at most */
};

static struct shm_member *self_of(const struct host_port *port)
{
	return host_registry_member(&port->registry, port->registry.slot);
}

/* ---- a pass --------------------------------------------------------------------------------- */

static void take_incoming(struct host_port *port, const struct host_udp_packet *packet)
{
	port->incoming = packet;
	nic_rx(port->nic, &packet->rx, port->clock.now_ns);
	port->incoming = NULL;
}

/* A member got it over UDP, with a right ICRC, and handed it on. */
static void take_foreign(struct host_port *port, const struct shm_foreign *foreign,
			 const uint8_t *bth, size_t len)
{
	struct host_udp_packet packet = {
	    .rx = {.bth = bth,
		   .len_bytes = len,
		   .sgid = packet.sgid,
		   .dgid = port->gid,
		   .traffic_class = foreign->traffic_class},
	    .udp_sport = foreign->udp_sport,
	    .ip = {.ip_id = foreign->ip_id, .dont_fragment = foreign->dont_fragment == 1},
	};

	memcpy(packet.sgid, foreign->sgid, sizeof(packet.sgid));
	take_incoming(port, &packet);
}

static void pass_take(void *ctx, const uint8_t *bth, size_t len)
{
	struct host_port *port = (struct host_port *)ctx;
	struct nic_rx rx = {.bth = bth, .len_bytes = len, .path = port->local->path};

	if (port->local->foreign)
		take_foreign(port, port->local->foreign, bth, len);
	else
		nic_rx(port->nic, &rx, port->clock.now_ns);
}

/* The packet is another member's: the kernel gave it to the wrong socket. */
static void hand_on(struct host_port *port, const struct host_udp_packet *packet, uint32_t owner,
		    uint32_t dqpn)
{
	struct shm_foreign foreign = {.udp_sport = packet->udp_sport,
				      .ip_id = packet->ip.ip_id,
				      .dont_fragment = packet->ip.dont_fragment,
				      .traffic_class = packet->rx.traffic_class};

	memcpy(foreign.sgid, packet->sgid, sizeof(foreign.sgid));
	if (host_local_hand_on(port->local, dqpn, &foreign, packet->rx.bth, packet->rx.len_bytes))
		port->udp.counters.rx_handed_on++;
	else
		port->udp.counters.rx_drop_nobody++;
	if (packet->first && host_group_misplaced(&port->registry, &port->udp, owner, dqpn) &&
	    port->clock.now_ns - port->udp.regroup_ns > REGROUP_NS &&
	    !atomic_exchange(&port->udp.regroup, true))
		host_engine_kick(port);
}

static void pass_take_udp(void *ctx, const struct host_udp_packet *packet)
{
	struct host_port *port = (struct host_port *)ctx;
	uint32_t dqpn = be24_load(packet->rx.bth + ROCE_BTH_DQPN_OFF);
	int owner = host_registry_owner(&port->registry, dqpn);
	bool to_group = packet->rx.dgid != port->udp.gid;

	/* It may answer what this pass has sent, and some time has gone by since. */
	if (packet->first)
		(void)host_clock_now(&port->clock);
	/* A group's address and its number go together. Every member gets a copy of its own. */
	if (to_group != (dqpn == ROCE_QPN_MASK))
		port->udp.counters.rx_drop_address++;
	else if (to_group)
		take_incoming(port, packet);
	else if (owner == (int)port->registry.slot)
		take_incoming(port, packet);
	else if (owner >= 0)
		hand_on(port, packet, (uint32_t)owner, dqpn);
	else
		port->udp.counters.rx_drop_nobody++; /* 0 and 1, too: management is not there */
}

/* Datagrams, while any are expected. A polling thread that has looked in vain for some time leaves
 * it to the port thread to tell of the next one. */
static uint32_t pass_receive_udp(struct host_port *port)
{
	static const struct host_udp_limit limit = {PASS_PACKETS, PASS_BYTES};
	struct host_udp *udp = &port->udp;
	uint64_t now_ns = port->clock.now_ns;
	uint32_t taken;

	/* The port thread tells when something comes, but a thread that polls at a real-time
	 * priority may keep it from running. */
	if (!host_udp_hot(udp) && now_ns - port->cold_look_ns < COLD_NS)
		return 0;
	port->cold_look_ns = now_ns;
	taken = host_udp_receive(udp, &limit, now_ns, pass_take_udp, port);
	if (taken > 0 && atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_WATCH)
		host_udp_heat(udp);
	else if (taken == 0 && host_udp_hot(udp) && now_ns - udp->busy_ns > HOT_NS)
		(void)host_udp_cool(udp, now_ns);
	return taken;
}

/* Only acknowledgements wait, and somebody polls: they may go out with what the application sends
 * when it has seen what they acknowledge, or with the next pass. */
static bool flush_can_wait(const struct host_port *port)
{
	return port->udp.tx.acks_only &&
	       atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_WATCH;
}

/* What there is for other hosts. An answer is likely: a polling thread looks for it itself. */
static void pass_flush_udp(struct host_port *port)
{
	struct host_udp *udp = &port->udp;

	if (udp->tx.count == 0)
		return;
	port->udp_worked = true;
	if (!host_udp_flush(udp, port->clock.now_ns))
		port->more = NIC_BLOCKED;
	if (!host_udp_hot(udp) &&
	    atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_WATCH)
		host_udp_heat(udp);
}

/* What is through the slow wire and found no room tries again, too. */
static uint64_t fault_deadline(const struct host_port *port, uint64_t deadline_ns)
{
	uint64_t due_ns = port->faulty ? host_faulty_due_ns(port->faulty) : UINT64_MAX;

	if (due_ns <= port->clock.now_ns)
		due_ns = port->clock.now_ns + RETRY_NS;
	return due_ns < deadline_ns ? due_ns : deadline_ns;
}

static uint64_t pass_deadline(const struct host_port *port)
{
	uint64_t deadline_ns = nic_deadline_ns(port->nic);
	uint64_t retry_ns = port->clock.now_ns + RETRY_NS;

	/* Acknowledgements wait for a polling thread; should it stop, for the engine. */
	if (port->udp.tx.count != 0 && retry_ns < deadline_ns)
		deadline_ns = retry_ns;
	return fault_deadline(port, deadline_ns);
}

/* One bounded look at everything. true: something was received, or more is to do at once. */
static bool pass_run(struct host_port *port, bool scan)
{
	static const struct host_local_limit limit = {PASS_PACKETS, PASS_BYTES};
	static const struct nic_budget budget = {PASS_PACKETS, PASS_BYTES};
	uint64_t now_ns = host_clock_now(&port->clock);
	uint32_t taken, taken_udp;

	if (!port->nic)
		return false;
	if (port->config.notice)
		port->config.notice(port->config.ctx, now_ns);
	if (scan || ++port->pass_count % SCAN_EVERY == 0) {
		if (port->config.scan)
			port->config.scan(port->config.ctx, scan, now_ns);
		host_local_sweep(port->local);
	}
	port->udp_worked = false;
	if (port->faulty)
		host_faulty_run(port->faulty, now_ns);
	port->wire.now_ns = now_ns;
	taken = host_local_receive(port->local, &limit, pass_take, port);
	port->more = nic_run(port->nic, &budget, now_ns);
	pass_flush_udp(port);
	/* After what goes out: a message that was just posted does not wait for the look. */
	taken_udp = pass_receive_udp(port);
	if (taken_udp) {
		now_ns = port->wire.now_ns = port->clock.now_ns;
		port->more = nic_run(port->nic, &budget, now_ns);
		if (flush_can_wait(port))
			host_udp_hold(&port->udp);
		else
			pass_flush_udp(port);
	}
	taken += taken_udp;
	host_local_flush(port->local);
	if (port->local->rx_left)
		port->more = NIC_BUSY;
	port->deadline_ns = pass_deadline(port);
	return taken > 0 || port->more == NIC_BUSY;
}

/* [lock] Nobody polls: from here on a store to a register stops, and what was stored before is seen
 * now. true: there is more to do first. */
static bool pass_before_sleep(struct host_port *port)
{
	host_bell_hang(&port->bell);
	return pass_run(port, true);
}

/* Who lifted the bell to store, or found it lifted, and does not poll, hangs it again. */
static bool pass_lent(struct host_port *port, bool scan)
{
	bool worked = pass_run(port, scan);

	if (atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_IDLE &&
	    host_bell_is_lifted(&port->bell))
		worked |= pass_before_sleep(port);
	return worked;
}

/* [lock] Nobody is about to look for datagrams: the port thread will be told. false: not possible
 * in this thread. */
static bool pass_cool(struct host_port *port)
{
	return !atomic_load(&port->udp.hot) || host_udp_cool(&port->udp, port->clock.now_ns);
}

/* After a pass by another thread than the engine's: does the sleeping engine have to know? Nobody
 * polls, so this may have been the last pass for long: the port thread is told of datagrams. */
static void pass_tell(struct host_port *port)
{
	if (port->udp.up && atomic_load_explicit(&port->udp.app_lost, memory_order_relaxed))
		atomic_store(&port->mode, HOST_IDLE); /* application threads cannot serve it */
	if (atomic_load_explicit(&port->mode, memory_order_relaxed) != HOST_IDLE)
		return;
	if (!pass_cool(port) || port->more != NIC_IDLE || atomic_load(&port->local->any_suspects) ||
	    port->deadline_ns < atomic_load(&port->engine_until_ns))
		host_engine_kick(port);
}

/* Releases the lock, after the passes that others asked for meanwhile. true: there were some, which
 * may have left something, or set a timer. */
static bool pass_release(struct host_port *port, bool engine)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (host_lock_try_release(&port->lock))
			return round != 0;
		(void)host_lock_asked(&port->lock);
		(void)pass_run(port, true);
		if (!engine)
			pass_tell(port);
	}
	if (host_lock_release(&port->lock))
		host_engine_kick(port);
	return true;
}

void host_engine_finish(struct host_port *port)
{
	host_clock_forget(&port->clock);
	(void)pass_lent(port, host_lock_asked(&port->lock));
	pass_tell(port);
	pass_release(port, false);
}

/* ---- lent threads --------------------------------------------------------------------------- */

void host_engine_kick(struct host_port *port)
{
	struct shm_member *self = self_of(port);

	if (atomic_exchange(&self->wake, SHM_KICKED) != SHM_KICKED)
		syscall(SYS_futex, &self->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* From here on it is the application's time that passes. */
static void streak_pause(struct host_port *port)
{
	if (atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_IDLE)
		atomic_store_explicit(&port->app_left_ns, host_now_ns(), memory_order_relaxed);
}

/*
 * [lock] An application thread that polls takes over from the engine: one that has come back again
 * and again, without a pause. Passes alone do not show it: a program may post, poll until that is
 * complete, and then wait for memory to change, without a word. What we take for a pass, or to wake
 * somebody, is no pause of the application's; nor is it one to find the engine at work.
 */
static void streak_count(struct host_port *port, uint64_t now_ns)
{
	uint64_t left_ns = atomic_load_explicit(&port->app_left_ns, memory_order_relaxed);

	if (port->udp.up && atomic_load_explicit(&port->udp.app_lost, memory_order_relaxed))
		return;
	/* Another thread may have left after this one came. */
	if (port->streak == 0 || (now_ns > left_ns && now_ns - left_ns > STREAK_GAP_NS)) {
		port->streak = 0;
		port->streak_ns = now_ns;
	}
	if (++port->streak < STREAK_MIN || now_ns - port->streak_ns < STREAK_NS)
		return;
	port->streak = 0;
	atomic_store(&port->mode, HOST_WATCH);
	host_engine_kick(port);
}

/* [lock] The pass of an application thread that lends itself. true: there was something to do. */
static bool pass_polled(struct host_port *port)
{
	uint64_t now_ns = host_clock_now(&port->clock);
	bool worked = pass_lent(port, false) || port->udp_worked;

	atomic_fetch_add_explicit(&port->app_passes, worked ? PASS_WEIGHT : 1,
				  memory_order_relaxed);
	if (atomic_load_explicit(&port->mode, memory_order_relaxed) == HOST_IDLE)
		streak_count(port, now_ns);
	pass_tell(port);
	return worked;
}

void host_port_progress(struct host_port *port)
{
	bool worked;

	if (*(volatile uint32_t *)port->alive == 0)
		return; /* a child of fork */
	if (__builtin_expect(!host_guard_thread_ready(), 0)) {
		/* A guarded fault would end the process here: leave it to the engine. */
		host_engine_kick(port);
		return;
	}
	if (!host_lock_try_or_ask(&port->lock)) {
		streak_pause(port);
		return;
	}
	worked = pass_polled(port);
	pass_release(port, false);
	streak_pause(port);
#if defined(__x86_64__)
	/* The next look is at lines that a peer is about to write: give it time. */
	if (!worked) {
		__builtin_ia32_pause();
		__builtin_ia32_pause();
	}
#else
	(void)worked;
#endif
}

void host_port_sleeping(struct host_port *port)
{
	int was;

	if (host_port_forked(port))
		return;
	was = atomic_exchange(&port->mode, HOST_IDLE);
	if (!host_guard_thread_ready() || !host_lock_try_or_ask(&port->lock)) {
		host_engine_kick(port);
		return;
	}
	port->streak = 0;
	/* The engine sleeps for some milliseconds at most: let peers wake it from here on. */
	if (was == HOST_WATCH) {
		host_local_announce(port->local);
		host_local_await_room(port->local);
	}
	if (pass_lent(port, true))
		host_engine_kick(port);
	pass_tell(port);
	pass_release(port, false);
}

void host_port_wake(struct host_port *port)
{
	if (host_port_forked(port))
		return;
	atomic_store(&port->mode, HOST_IDLE); /* else the engine would only watch */
	host_engine_kick(port);
}

void host_port_registers(struct host_port *port, void *va, size_t len_bytes)
{
	if (host_port_forked(port))
		return;
	host_bell_add(&port->bell, va, len_bytes);
	/* The engine may be asleep already. */
	atomic_store(&port->bell.hung, false);
	host_engine_kick(port);
}

void host_port_ringing(struct host_port *port)
{
	if (*(volatile uint32_t *)port->alive != 0)
		host_bell_ready(&port->bell);
}

/* ---- the engine thread ---------------------------------------------------------------------- */

/* true: somebody woke it. */
static bool engine_wait(struct host_port *port, uint32_t value, uint64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
				 .tv_nsec = (long)(until_ns % 1000000000u)};

	/* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time [futex(2)]. */
	return syscall(SYS_futex, &self_of(port)->wake, FUTEX_WAIT_BITSET, value,
		       until_ns == UINT64_MAX ? NULL : &until, NULL, FUTEX_BITSET_MATCH_ANY) == 0;
}

/* Whether staying awake would have been as good as the sleep that just ended. */
static void linger_learn(struct host_port *port, bool woken, uint64_t slept_ns)
{
	if (woken && slept_ns < LINGER_NS)
		port->short_sleeps++;
	else
		port->short_sleeps = 0;
}

/* Something other than packets to look at; an application thread that lends itself does that. */
static bool linger_ends(struct host_port *port, uint32_t app_passes)
{
	return atomic_load_explicit(&port->stop, memory_order_relaxed) ||
	       atomic_load_explicit(&port->mode, memory_order_relaxed) != HOST_IDLE ||
	       atomic_load_explicit(&port->app_passes, memory_order_relaxed) != app_passes ||
	       atomic_load_explicit(&port->local->any_suspects, memory_order_relaxed) ||
	       atomic_load_explicit(&port->udp.regroup, memory_order_relaxed);
}

/* Passes for who finds nobody at work. true: there was something to do. */
static bool linger_passes(struct host_port *port)
{
	bool worked = false;

	for (int i = 0; i < LINGER_PASSES; i++) {
		if (!host_lock_try(&port->lock))
			return worked;
		host_clock_forget(&port->clock);
		worked |= pass_run(port, false);
		worked |= pass_release(port, true);
	}
	return worked;
}

/* Somebody had the processor for long: the next attempt comes later each time. */
static void linger_refrain(struct host_port *port, uint64_t now_ns)
{
	port->crowded_for_ns = port->crowded_for_ns < CROWD_MIN_NS       ? CROWD_MIN_NS
			       : port->crowded_for_ns < CROWD_MAX_NS / 2 ? port->crowded_for_ns * 2
									 : CROWD_MAX_NS;
	port->crowded_until_ns = now_ns + port->crowded_for_ns;
	port->short_sleeps = 0;
}

/*
 * The target of operations that follow one another at once sleeps between them, and to be woken
 * takes far longer than to serve them. So where sleeps turn out short, the engine stays awake for
 * as long as a wake-up costs, if nobody else wants its processor: it offers to leave it again and
 * again, and when that is taken, it sleeps as before. Meanwhile senders take it for awake.
 */
static void engine_linger(struct host_port *port)
{
	uint32_t app_passes = atomic_load_explicit(&port->app_passes, memory_order_relaxed);
	uint64_t now_ns = host_now_ns();
	uint64_t until_ns = now_ns + LINGER_NS;

	if (port->short_sleeps < LINGER_MIN || now_ns < port->crowded_until_ns)
		return;
	while (now_ns < until_ns && !linger_ends(port, app_passes)) {
		uint64_t offered_ns;

		if (linger_passes(port))
			until_ns = host_now_ns() + LINGER_NS;
		offered_ns = host_now_ns();
		sched_yield();
		now_ns = host_now_ns();
		if (now_ns - offered_ns >= CROWD_NS) {
			linger_refrain(port, now_ns);
			return;
		}
	}
	port->short_sleeps = 0;
	port->crowded_for_ns = 0;
}

/* [lock] Peers that do not take their packets: dead, or only slow? */
static void engine_bury(struct host_port *port)
{
	uint64_t suspects[SHM_WORD_COUNT];

	(void)host_local_suspects(port->local, suspects);
	for (uint32_t slot = 0; slot < SHM_MEMBER_MAX; slot++) {
		uint32_t generation;

		if (!(suspects[slot / 64] & 1ull << slot % 64))
			continue;
		generation = atomic_load(&host_registry_member(&port->registry, slot)->generation);
		if (!host_registry_alive(&port->registry, slot))
			host_local_bury(port->local, slot, generation);
	}
}

/* Only this thread can ask who lives. It must not hold up a polling thread, so it does not wait. */
static void engine_inquire(struct host_port *port)
{
	if (!atomic_load(&port->local->any_suspects) || !host_lock_try_or_ask(&port->lock))
		return;
	engine_bury(port);
	pass_release(port, true);
}

/* Only this thread can change the group of sockets. If it cannot do so now, it comes again. */
static void engine_regroup(struct host_port *port)
{
	struct host_udp *udp = &port->udp;

	if (!udp->up || !atomic_load(&udp->regroup) || !host_lock_try_or_ask(&port->lock))
		return;
	atomic_store(&udp->regroup, false);
	if (host_group_refresh(&port->registry, udp) == 0)
		udp->regroup_ns = host_now_ns();
	else
		atomic_store(&udp->regroup, true);
	pass_release(port, true);
}

/* Passes until there is nothing to do, or somebody else holds the lock and was asked for one. */
static void engine_serve(struct host_port *port)
{
	bool busy = true;

	while (busy && !atomic_load_explicit(&port->stop, memory_order_relaxed)) {
		if (!host_lock_try_or_ask(&port->lock))
			return;
		host_clock_forget(&port->clock);
		busy = pass_run(port, false);
		busy |= pass_release(port, true);
	}
}

/* If somebody else has the lock, its pass serves them, and what it leaves it tells of again. */
void host_engine_datagrams(struct host_port *port)
{
	bool busy = true;

	while (busy && !atomic_load_explicit(&port->stop, memory_order_relaxed)) {
		host_udp_heat(&port->udp);
		if (atomic_load(&port->mode) == HOST_WATCH || !host_lock_try_or_ask(&port->lock))
			return;
		host_clock_forget(&port->clock);
		busy = pass_run(port, false);
		pass_tell(port);
		pass_release(port, false);
	}
}

/* As for datagrams; and where somebody else has the lock, the engine hangs the bell again. */
void host_engine_rung(struct host_port *port)
{
	bool busy = host_bell_rang(&port->bell);

	if (busy)
		host_bell_lift(&port->bell);
	while (busy && !atomic_load_explicit(&port->stop, memory_order_relaxed)) {
		if (!host_lock_try_or_ask(&port->lock)) {
			host_engine_kick(port);
			return;
		}
		host_clock_forget(&port->clock);
		busy = pass_run(port, false) ||
		       (atomic_load(&port->mode) == HOST_IDLE && pass_before_sleep(port));
		pass_tell(port);
		pass_release(port, false);
	}
}

/* An application thread polls: sleep a little, then see whether it still does. */
static void engine_watch(struct host_port *port, uint32_t *passes)
{
	uint32_t now = atomic_load_explicit(&port->app_passes, memory_order_relaxed);
	uint32_t kicked = SHM_KICKED;
	int watch = HOST_WATCH;
	uint64_t until_ns;

	if (now - *passes < WATCH_PASSES_MIN) {
		atomic_compare_exchange_strong(&port->mode, &watch, HOST_IDLE);
		return;
	}
	*passes = now;
	until_ns = host_now_ns() + WATCH_NS;
	atomic_store(&port->engine_until_ns, until_ns);
	if (atomic_compare_exchange_strong(&self_of(port)->wake, &kicked, SHM_AWAKE))
		engine_wait(port, SHM_AWAKE, until_ns);
}

/* [lock] Where stores to registers are not told of, the engine looks, less often the longer there
 * are none. */
static uint64_t engine_nap(struct host_port *port, uint64_t until_ns)
{
	const struct nic_counters *counters;
	uint64_t moved, wake_ns;

	if (!host_bell_deaf(&port->bell))
		return until_ns;
	counters = nic_counters(port->nic);
	moved = counters->tx_packets + counters->rx_packets;
	if (moved != port->nap_moved || port->nap_ns < NAP_MIN_NS)
		port->nap_ns = NAP_MIN_NS;
	else if (port->nap_ns < NAP_MAX_NS)
		port->nap_ns *= 2;
	port->nap_moved = moved;
	wake_ns = port->clock.now_ns + port->nap_ns;
	return wake_ns < until_ns ? wake_ns : until_ns;
}

/*
 * Nobody polls: announce it, hang the bell, look once more at everything, and sleep. If somebody
 * holds the lock, its next pass comes after the announcement, and it kicks us if there is something
 * for us.
 */
static void engine_idle(struct host_port *port)
{
	uint64_t until_ns = host_bell_deaf(&port->bell) ? host_now_ns() + NAP_MIN_NS : UINT64_MAX;
	bool busy = false;

	atomic_store(&port->engine_until_ns, UINT64_MAX);
	host_local_announce(port->local);
	if (host_lock_try_or_ask(&port->lock)) {
		host_local_await_room(port->local);
		busy = pass_before_sleep(port) || atomic_load(&port->local->any_suspects);
		(void)pass_cool(port);
		until_ns = engine_nap(port, port->deadline_ns);
		atomic_store(&port->engine_until_ns, until_ns);
		busy |= pass_release(port, true);
	}
	if (atomic_load(&port->udp.regroup) && until_ns > host_now_ns() + REGROUP_NS)
		until_ns = host_now_ns() + REGROUP_NS;
	/* Hot: the port thread found the lock taken, and the pass it asked for has been. */
	if (!busy && !atomic_load(&port->udp.hot) && atomic_load(&port->mode) == HOST_IDLE &&
	    !atomic_load(&port->stop)) {
		uint64_t slept_ns = host_now_ns();
		bool woken = engine_wait(port, SHM_ASLEEP, until_ns);

		linger_learn(port, woken, host_now_ns() - slept_ns);
	}
}

void *host_engine_main(void *arg)
{
	struct host_port *port = (struct host_port *)arg;
	uint32_t passes = 0;

	while (!atomic_load(&port->stop)) {
		atomic_store(&self_of(port)->wake, SHM_KICKED);
		atomic_store(&port->engine_until_ns, 0);
		host_guard_recheck();
		engine_inquire(port);
		engine_regroup(port);
		if (atomic_load(&port->mode) == HOST_WATCH) {
			engine_watch(port, &passes);
		} else {
			engine_serve(port);
			engine_linger(port);
			engine_idle(port);
			passes = atomic_load(&port->app_passes) - WATCH_PASSES_MIN;
		}
	}
	return NULL;
}
