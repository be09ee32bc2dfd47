/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads_test.c - what may be called from which thread: queue pairs of one NIC in several threads,
 * post and poll of one queue pair in two, destroy while another thread polls.
 */
#include "tests/support/loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	LANES = 2,
	LANE_WRITES = 100000, /* of each lane; more than 2^16, so that the 16-bit counters wrap */
	LANE_RING = 64,
	SIGNAL_EACH = 16,
	DESTROY_ROUNDS = 200,
};

/* One queue pair, connected to itself: it writes the words of `from` one after the other to `to`.
 */
struct lane {
	struct rig_cq *cq;
	struct rig_qp *qp;
	struct rig_region *region;
	uint64_t words[8]; /* [0] is the target, the rest must stay as they are */
	struct rig_remote remote;
	_Atomic uint64_t posted, polled;
	_Atomic bool failed;
	char what[128];
};

static void lane_fail(struct lane *lane, const char *what)
{
	if (!atomic_exchange(&lane->failed, true))
		strncpy(lane->what, what, sizeof(lane->what) - 1);
}

static int lane_open(struct lane *lane, struct rig_nic *nic, struct rig_cq *cq)
{
	struct rig_endpoint endpoint;

	memset(lane->words, 0xee, sizeof(lane->words));
	lane->cq = cq;
	if (!cq)
		PEER_TRY(rig_cq_create(nic, LANE_RING, &lane->cq));
	PEER_TRY(rig_region_create(nic, lane->words, sizeof(lane->words), RIG_REMOTE_ALL,
				   &lane->region));
	PEER_TRY(rig_region_remote(lane->region, 0, 8, &lane->remote));
	PEER_TRY(rig_qp_create(lane->cq, LANE_RING, 0, &lane->qp));
	PEER_TRY(rig_qp_endpoint(lane->qp, &endpoint));
	PEER_TRY(rig_qp_connect(lane->qp, RIG_REMOTE_ALL, &endpoint, NULL));
	return 0;
}

/* Writes value to the lane's word; waits for room, which polling makes. */
static void lane_write(struct lane *lane, uint64_t value, bool signal)
{
	struct rig_entry entry = {.op = RIG_WRITE,
				  .flags = RIG_INLINE_F | (signal ? RIG_SIGNAL_F : 0),
				  .inline_data = &value,
				  .inline_len_bytes = sizeof(value),
				  .remote_addr = lane->remote.addr,
				  .remote_key = lane->remote.key};
	int result = rig_qp_post(lane->qp, &entry);

	if (result < 0 || rig_qp_ring(lane->qp) < 0)
		lane_fail(lane, rig_error());
	atomic_fetch_add(&lane->posted, 1);
}

static void lane_poll(struct lane *lane)
{
	struct rig_wc wc[8];
	int n = rig_cq_poll(lane->cq, wc, 8);

	if (n < 0)
		lane_fail(lane, rig_error());
	for (int i = 0; i < n; i++) {
		uint16_t expected = (uint16_t)(atomic_load(&lane->polled) + SIGNAL_EACH - 1);

		if (wc[i].status != RIG_OK)
			lane_fail(lane, rig_status_text(wc[i].status));
		if (wc[i].index != expected || wc[i].qp != rig_qp_number(lane->qp))
			lane_fail(lane, "a completion is missing, double or another's");
		atomic_fetch_add(&lane->polled, SIGNAL_EACH);
	}
	if (n == 0)
		sched_yield();
}

static bool lane_busy(struct lane *lane)
{
	return atomic_load(&lane->polled) < LANE_WRITES && !atomic_load(&lane->failed);
}

static void *lane_post_thread(void *arg)
{
	struct lane *lane = arg;
	uint64_t end_ns = proc_now_ns() + PROC_STEP_MS * 500000ull;

	for (uint64_t i = 1; i <= LANE_WRITES && !atomic_load(&lane->failed); i++) {
		while (rig_qp_room(lane->qp, RIG_RING_SEND) == 0 && proc_now_ns() < end_ns)
			sched_yield();
		lane_write(lane, i, i % SIGNAL_EACH == 0);
		if (proc_now_ns() > end_ns)
			lane_fail(lane, "does not end");
	}
	return NULL;
}

static void *lane_poll_thread(void *arg)
{
	struct lane *lane = arg;

	while (lane_busy(lane))
		lane_poll(lane);
	return NULL;
}

/* Posts and polls in one thread. */
static void *lane_both_thread(void *arg)
{
	struct lane *lane = arg;
	uint64_t end_ns = proc_now_ns() + PROC_STEP_MS * 500000ull;
	uint64_t next = 1;

	while (lane_busy(lane)) {
		while (next <= LANE_WRITES && rig_qp_room(lane->qp, RIG_RING_SEND) > 0) {
			lane_write(lane, next, next % SIGNAL_EACH == 0);
			next++;
		}
		lane_poll(lane);
		if (proc_now_ns() > end_ns)
			lane_fail(lane, "does not end");
	}
	return NULL;
}

static int lane_check(const struct lane *lane)
{
	if (atomic_load(&lane->failed))
		return proc_fail(-EPROTO, "%s", lane->what);
	PEER_CHECK(lane->words[0] == LANE_WRITES);
	for (int i = 1; i < 8; i++)
		PEER_CHECK(lane->words[i] == 0xeeeeeeeeeeeeeeeeu);
	return 0;
}

/* ---- two queue pairs, two threads ------------------------------------------------------------ */

static int two_lanes(struct proc_msg *msg)
{
	static struct lane lanes[LANES];
	pthread_t threads[LANES];

	(void)msg;
	for (int i = 0; i < LANES; i++)
		PEER_TRY(lane_open(&lanes[i], peer.nic, NULL));
	for (int i = 0; i < LANES; i++)
		PEER_CHECK(pthread_create(&threads[i], NULL, lane_both_thread, &lanes[i]) == 0);
	for (int i = 0; i < LANES; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < LANES; i++) {
		int result = lane_check(&lanes[i]);

		if (result < 0)
			return result;
	}
	/* What a register named was always in its record already [cases 6]. */
	if (peer.nic->software)
		PEER_CHECK(loop_counters(peer.nic)->db_ahead == 0);
	return 0;
}

/*
 * Two threads with a queue pair each, of one NIC and so on one register page, never corrupt each
 * other [cases 7], no register is seen before its record [cases 6], and the 16-bit counter of
 * entries wraps under unsignalled ones [cases 4]. By 200,000 writes, every completion's index and
 * the last values checked.
 */
static void test_two_threads_share_a_register_page(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, two_lanes, &msg);
}

static int post_here_poll_there(struct proc_msg *msg)
{
	static struct lane lane;
	pthread_t poster, poller;

	(void)msg;
	PEER_TRY(lane_open(&lane, peer.nic, NULL));
	PEER_CHECK(pthread_create(&poster, NULL, lane_post_thread, &lane) == 0);
	PEER_CHECK(pthread_create(&poller, NULL, lane_poll_thread, &lane) == 0);
	pthread_join(poster, NULL);
	pthread_join(poller, NULL);
	return lane_check(&lane);
}

/*
 * A queue pair may be posted to by one thread while another polls its completion queue: the poster
 * sees room as the poller makes it. By 100,000 writes on a ring of 64.
 */
static void test_one_thread_posts_and_another_polls(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, post_here_poll_there, &msg);
}

/* ---- destroy under a poller ------------------------------------------------------------------ */

struct polled {
	struct rig_cq *cq;
	_Atomic bool stop;
	_Atomic int error;
	_Atomic uint32_t destroyed; /* number of a queue pair that is gone; 0: none */
	_Atomic uint64_t late;      /* its completions that were polled after that */
	_Atomic uint64_t count;
	_Atomic uint64_t laps;
};

static void *polled_thread(void *arg)
{
	struct polled *polled = arg;
	struct rig_wc wc[16];

	while (!atomic_load(&polled->stop)) {
		uint32_t gone = atomic_load(&polled->destroyed);
		int n = rig_cq_poll(polled->cq, wc, 16);

		if (n < 0)
			atomic_store(&polled->error, n);
		for (int i = 0; i < n; i++)
			if (gone && wc[i].qp == gone)
				atomic_fetch_add(&polled->late, 1);
		atomic_fetch_add(&polled->count, (uint64_t)(n > 0 ? n : 0));
		atomic_fetch_add(&polled->laps, 1);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

/* The number of the last round may come back: the poller must have heard that it is alive again. */
static void forget_destroyed(struct polled *polled)
{
	uint64_t laps = atomic_load(&polled->laps);

	atomic_store(&polled->destroyed, 0);
	while (atomic_load(&polled->laps) < laps + 2)
		sched_yield();
}

static int destroy_rounds(struct polled *polled)
{
	static struct lane stays, goes;

	PEER_TRY(lane_open(&stays, peer.nic, polled->cq));
	for (int round = 0; round < DESTROY_ROUNDS; round++) {
		uint32_t number;

		PEER_TRY(lane_open(&goes, peer.nic, polled->cq));
		number = rig_qp_number(goes.qp);
		forget_destroyed(polled);
		for (int i = 0; i < LANE_RING / 2; i++) {
			lane_write(&goes, (uint64_t)i, true);
			while (rig_qp_room(stays.qp, RIG_RING_SEND) == 0)
				sched_yield();
			lane_write(&stays, (uint64_t)i, true);
		}
		PEER_TRY(rig_qp_destroy(goes.qp));
		atomic_store(&polled->destroyed, number);
		PEER_TRY(rig_region_destroy(goes.region));
		PEER_CHECK(!goes.failed && !stays.failed);
	}
	while (rig_qp_room(stays.qp, RIG_RING_SEND) < LANE_RING)
		sched_yield();
	PEER_TRY(rig_qp_destroy(stays.qp));
	PEER_TRY(rig_region_destroy(stays.region));
	return 0;
}

static int destroy_while_polled(struct proc_msg *msg)
{
	struct polled polled = {0};
	pthread_t poller;
	int result;

	PEER_TRY(rig_cq_create(peer.nic, 4 * LANE_RING, &polled.cq));
	PEER_CHECK(pthread_create(&poller, NULL, polled_thread, &polled) == 0);
	result = destroy_rounds(&polled);
	atomic_store(&polled.stop, true);
	pthread_join(poller, NULL);
	if (result < 0)
		return result;
	PEER_CHECK(polled.error == 0);
	PEER_CHECK(polled.late == 0);
	/* None of those that stay is lost: each of their writes has asked for a completion. */
	PEER_CHECK(polled.count >= (uint64_t)DESTROY_ROUNDS * LANE_RING / 2);
	msg->v[0] = polled.count;
	return 0;
}

/*
 * A queue pair may be destroyed while another thread polls its completion queue: its completions
 * are gone, those of the other queue pairs stay [cases 9]. By 200 rounds under a poller that looks
 * for a completion of a queue pair that is gone.
 */
static void test_destroy_while_another_thread_polls(void **state)
{
	struct proc *child = peer_start(1);
	struct proc_msg msg = {0};

	(void)state;
	proc_ok(child, destroy_while_polled, &msg);
}

/* ---- a NIC for each thread ------------------------------------------------------------------- */

static void *open_close_thread(void *arg)
{
	_Atomic int *error = arg;

	for (int i = 0; i < 10 && !atomic_load(error); i++) {
		struct rig_nic *nic;
		struct rig_cq *cq;
		int result = rig_open(proc_nic(), &nic);

		if (result == 0)
			result = rig_cq_create(nic, 64, &cq);
		if (result == 0)
			result = rig_close(nic);
		if (result < 0)
			atomic_store(error, result);
	}
	return NULL;
}

static int open_close_in_threads(struct proc_msg *msg)
{
	_Atomic int error = 0;
	pthread_t threads[4];

	(void)msg;
	for (int i = 0; i < 4; i++)
		PEER_CHECK(pthread_create(&threads[i], NULL, open_close_thread, &error) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	PEER_CHECK(error == 0);
	return 0;
}

/*
 * NICs may be opened and closed by several threads at once, under traffic of another NIC of the
 * same process. By four threads, ten times each.
 */
static void test_open_and_close_in_several_threads(void **state)
{
	struct proc *child = peer_start(1);
	struct proc *fresh = proc_start();
	struct peer_pair self = peer_pair(child, child);
	struct proc_msg msg = {0};

	(void)state;
	peer_run_on(child, 200);
	proc_ok(child, open_close_in_threads, &msg);
	proc_ok(child, peer_drain, NULL);
	peer_agree(child, self.a, child, self.b);
	proc_ok(fresh, open_close_in_threads, &msg);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_two_threads_share_a_register_page),
	    PEER_TEST(test_one_thread_posts_and_another_polls),
	    PEER_TEST(test_destroy_while_another_thread_polls),
	    PEER_TEST(test_open_and_close_in_several_threads),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
