/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that the software NIC's door behaves as the system calls that it stands for: bytes move
 * with and without lent time, events wake poll, a child of fork is refused and harms nobody. By
 * driving the table with raw ioctls, as the library does.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "lib/os.h"
#include "tests/support/kern_rig.h"
#include "tests/support/procs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_S = 20, BULK_BYTES = 128 * 1024, CHANNELS = 300 };

struct side {
	struct rig_qp qp;
	uint32_t posted;
};

struct world {
	const struct lib_os *os;
	int fd;
	struct kern_rig rig;
	uint32_t pd, uar, page;
	uint8_t *registers;
	int async_fd, comp_fd;
	struct rig_cq cq;
	uint32_t polled;
	struct side sides[2];
	uint64_t *data;
	_Atomic bool stop; /* of the thread that lends its time */
	struct ib_uverbs_reg_mr_resp mr; /* last: its size may vary */
};

static int through_door(void *ctx, unsigned long request, void *arg)
{
	struct world *world = ctx;

	return world->os->ioctl(world->os->ctx, world->fd, request, arg);
}

static const struct lib_os *open_os(void)
{
	const struct lib_os *os = NULL;
	char why[256];
	int error = lib_os_soft_open(NULL, &os, why, sizeof(why));

	if (error)
		print_error("%s\n", why);
	assert_int_equal(error, 0);
	return os;
}

static void make_objects(struct world *world)
{
	struct kern_rig *rig = &world->rig;
	uint64_t offset;
	int error = 0;

	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_async(rig, &world->async_fd), 0);
	assert_int_equal(rig_comp_channel(rig, &world->comp_fd), 0);
	assert_int_equal(rig_pd(rig, &world->pd), 0);
	assert_int_equal(rig_uar(rig, &world->uar, &world->page), 0);
	offset = (UINT64_C(0x900) + world->page) * 4096;
	world->registers = world->os->mmap(world->os->ctx, 4096, PROT_WRITE, MAP_SHARED, world->fd,
					   (off_t)offset, &error);
	assert_non_null(world->registers);
	world->cq = (struct rig_cq){
	    .cqe = 15, .user_handle = 0xc0c0, .comp_fd = world->comp_fd, .uar_page = world->page};
	assert_int_equal(rig_cq(rig, &world->cq), 0);
	world->data = rig_alloc(rig, 2 * BULK_BYTES);
	assert_int_equal(rig_mr(rig, world->pd, world->data, 2 * BULK_BYTES, 0xf, &world->mr), 0);
	for (unsigned int i = 0; i < 2; i++) {
		world->sides[i].qp = (struct rig_qp){.pd = world->pd,
						     .send_cq = world->cq.handle,
						     .recv_cq = world->cq.handle,
						     .uar_page = world->page,
						     .sq_count = 8,
						     .rq_count = 4};
		assert_int_equal(rig_qp(rig, &world->sides[i].qp), 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(
		    rig_connect(rig, &world->sides[i].qp, world->sides[1 - i].qp.number), 0);
}

/* The port's own address, which is not 127.0.0.1 where another user has that. */
static void learn_gid(struct world *world)
{
	char text[64];
	ssize_t got = world->os->sysfs_read(world->os->ctx, "class/infiniband/soft0/ports/1/gids/0",
					    text, sizeof(text) - 1);

	assert_true(got > 0);
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	assert_int_equal(inet_pton(AF_INET6, text, world->rig.config.gids[0]), 1);
}

static int open_world(void **state)
{
	static struct world world;

	memset(&world, 0, sizeof(world));
	world.os = open_os();
	world.fd = world.os->open(world.os->ctx, "/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	assert_true(world.fd >= 0);
	kern_rig_over(&world.rig, through_door, &world);
	learn_gid(&world);
	make_objects(&world);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	assert_int_equal(world->os->close(world->os->ctx, world->fd), 0);
	assert_int_equal(world->os->close(world->os->ctx, world->comp_fd), 0);
	assert_int_equal(world->os->close(world->os->ctx, world->async_fd), 0);
	lib_os_soft_close(world->os);
	kern_rig_over_close(&world->rig);
	return 0;
}

/* A write of len bytes from data[from] to data[to]. */
static void post(struct world *world, struct side *side, unsigned int from, unsigned int to,
		 uint32_t len, uint8_t fm_ce_se)
{
	uint8_t *sq = side->qp.ring + 16 * side->qp.rq_count + 64 * (side->posted % 8);
	struct wqe_ctrl_seg *ctrl = (struct wqe_ctrl_seg *)(void *)sq;
	struct wqe_raddr_seg *raddr = (struct wqe_raddr_seg *)(void *)(sq + 16);
	struct wqe_data_seg *data = (struct wqe_data_seg *)(void *)(sq + 32);
	uint64_t word;

	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, (uint16_t)side->posted, WQE_OP_WRITE);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(side->qp.number, 3);
	ctrl->fm_ce_se = fm_ce_se;
	raddr->va = be64_from(rig_va(&world->data[to]));
	raddr->rkey = be32_from(world->mr.rkey);
	data->byte_count = be32_from(len);
	data->lkey = be32_from(world->mr.lkey);
	data->va = be64_from(rig_va(&world->data[from]));
	side->posted++;
	__atomic_store_n(&side->qp.record[DB_SEND], be32_from(side->posted & 0xffff).raw,
			 __ATOMIC_RELEASE);
	memcpy(&word, ctrl, sizeof(word));
	__atomic_store_n((uint64_t *)(void *)(world->registers + DB_UAR_BF0), word,
			 __ATOMIC_RELEASE);
}

static void post_write(struct world *world, struct side *side, unsigned int from, unsigned int to)
{
	post(world, side, from, to, 8, WQE_CE_ALWAYS);
}

static bool completed(struct world *world)
{
	struct cqe64 *cqe = (struct cqe64 *)(void *)(world->cq.ring + 64 * (world->polled % 16));
	uint8_t op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	if ((op_own & CQE_OWNER_MASK) != (world->polled / 16 & 1) || op_own >> 4 == CQE_INVALID)
		return false;
	assert_int_equal(op_own >> 4, CQE_REQ);
	world->polled++;
	__atomic_store_n(&world->cq.record[DB_CQ_CONSUMER], be32_from(world->polled).raw,
			 __ATOMIC_RELEASE);
	return true;
}

static void wait_completion(struct world *world, bool lend)
{
	struct timespec nap = {.tv_nsec = 100000};
	time_t end = time(NULL) + PATIENCE_S;

	while (!completed(world)) {
		assert_true(time(NULL) < end);
		if (lend)
			world->os->progress(world->os->ctx);
		else
			nanosleep(&nap, NULL);
	}
}

static void writes_with_lent_time(void **state)
{
	struct world *world = *state;

	for (unsigned int i = 0; i < 1000; i++) {
		struct side *side = &world->sides[i & 1];

		world->data[i & 7] = 0x1000 + i;
		post_write(world, side, i & 7, 512 + (i & 7));
		wait_completion(world, true);
		assert_int_equal(world->data[512 + (i & 7)], 0x1000 + i);
	}
}

/* Time is lent once, at the ring. A pass copies 256 KiB at most: the engine thread does the rest.
 */
static void the_engine_goes_on(void **state)
{
	struct world *world = *state;

	for (unsigned int i = 0; i < BULK_BYTES / 8; i++)
		world->data[i] = i * 3;
	for (unsigned int i = 0; i < 8; i++)
		post(world, &world->sides[0], 0, BULK_BYTES / 8, BULK_BYTES, WQE_CE_ALWAYS);
	world->os->progress(world->os->ctx);
	for (unsigned int i = 0; i < 8; i++)
		wait_completion(world, false);
	assert_memory_equal(world->data, world->data + BULK_BYTES / 8, BULK_BYTES);
}

static void *ring_the_other(void *arg)
{
	struct world *world = arg;

	post_write(world, &world->sides[1], 1, 513);
	world->os->progress(world->os->ctx);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Two threads ring one register, the second before anybody has looked. The first one's write is not
 * left to one of the scans of now and then: both are done after a few passes. The median, because
 * the engine thread may have the lock while we ask, and be asleep on a busy machine.
 */
static void register_overwritten_by_another_thread(void **state)
{
	struct world *world = *state;
	int passes[101] = {0};
	pthread_t thread;

	for (unsigned int i = 0; i < 101; i++) {
		uint32_t end = world->polled + 2;
		time_t deadline = time(NULL) + PATIENCE_S;

		world->data[0] = 0x3000 + i;
		world->data[1] = 0x4000 + i;
		world->os->progress(world->os->ctx);
		post_write(world, &world->sides[0], 0, 512);
		assert_int_equal(pthread_create(&thread, NULL, ring_the_other, world), 0);
		pthread_join(thread, NULL);
		for (; world->polled != end; passes[i]++) {
			assert_true(time(NULL) < deadline);
			if (!completed(world))
				world->os->progress(world->os->ctx);
		}
		assert_int_equal(world->data[512], 0x3000 + i);
		assert_int_equal(world->data[513], 0x4000 + i);
	}
	qsort(passes, 101, sizeof(passes[0]), by_value);
	assert_in_range(passes[50], 1, 16);
}

static void arm(struct world *world, uint32_t sn)
{
	struct be32 word = db_cq_arm_word(sn, DB_CQ_CMD_ANY, world->polled);
	uint64_t reg;
	struct be32 pair[2] = {word, be32_from(world->cq.number)};

	__atomic_store_n(&world->cq.record[DB_CQ_ARM], word.raw, __ATOMIC_RELEASE);
	memcpy(&reg, pair, sizeof(reg));
	__atomic_store_n((uint64_t *)(void *)(world->registers + DB_UAR_CQ), reg, __ATOMIC_RELEASE);
}

static void event_wakes_poll(void **state)
{
	struct world *world = *state;
	const struct lib_os *os = world->os;
	struct pollfd fds = {.fd = world->comp_fd, .events = POLLIN};
	uint64_t record = 0;

	for (uint32_t sn = 0; sn < 5; sn++) {
		arm(world, sn);
		os->progress(os->ctx);
		assert_int_equal(os->poll(os->ctx, &fds, 1, 0), 0);
		post_write(world, &world->sides[sn & 1], 0, 512);
		assert_int_equal(os->poll(os->ctx, &fds, 1, PATIENCE_S * 1000), 1);
		assert_int_equal(os->read(os->ctx, world->comp_fd, &record, sizeof(record)), 8);
		assert_int_equal(record, 0xc0c0);
		assert_true(completed(world));
	}
	/* A read that would wait, told not to. */
	assert_int_equal(fcntl(world->comp_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(os->read(os->ctx, world->comp_fd, &record, sizeof(record)), -EAGAIN);
	/* And one that waits: the engine thread brings the event. */
	assert_int_equal(fcntl(world->comp_fd, F_SETFL, 0), 0);
	arm(world, 5);
	post_write(world, &world->sides[0], 0, 512);
	assert_int_equal(os->read(os->ctx, world->comp_fd, &record, sizeof(record)), 8);
}

/*
 * The last of 1 MiB of writes completes in a pass of the engine thread, which has other descriptors
 * than the application: the event arrives all the same.
 */
static void event_from_the_engine(void **state)
{
	struct world *world = *state;
	struct pollfd fds = {.fd = world->comp_fd, .events = POLLIN};
	uint64_t record = 0;

	for (uint32_t sn = 0; sn < 3; sn++) {
		arm(world, sn);
		world->os->progress(world->os->ctx);
		for (unsigned int i = 0; i < 8; i++)
			post(world, &world->sides[0], 0, BULK_BYTES / 8, BULK_BYTES,
			     i == 7 ? WQE_CE_ALWAYS : WQE_CE_ON_ERROR);
		world->os->progress(world->os->ctx);
		assert_int_equal(poll(&fds, 1, PATIENCE_S * 1000), 1);
		assert_int_equal(recv(world->comp_fd, &record, sizeof(record), 0), 8);
		assert_int_equal(record, 0xc0c0);
		assert_true(completed(world));
	}
	/* Closed by us, the channel still ends for who reads it. */
	assert_int_equal(world->os->close(world->os->ctx, world->fd), 0);
	assert_int_equal(recv(world->comp_fd, &record, sizeof(record), MSG_DONTWAIT), 0);
	world->fd = world->os->open(world->os->ctx, "/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
}

static void entries_refuse(void **state)
{
	struct world *world = *state;
	const struct lib_os *os = world->os;
	char buf[64];
	int error = 0;

	assert_int_equal(os->open(os->ctx, "/dev/infiniband/uverbs1", O_RDWR), -ENOENT);
	assert_int_equal(os->ioctl(os->ctx, -1, RDMA_VERBS_IOCTL, buf), -EBADF);
	assert_int_equal(os->ioctl(os->ctx, world->comp_fd, RDMA_VERBS_IOCTL, buf), -EBADF);
	assert_int_equal(os->ioctl(os->ctx, world->fd, 1, buf), -ENOTTY);
	assert_int_equal(os->ioctl(os->ctx, world->fd, RDMA_VERBS_IOCTL, NULL), -EFAULT);
	assert_null(os->mmap(os->ctx, 4096, PROT_WRITE, MAP_SHARED, world->fd, 0, &error));
	assert_int_equal(error, -EINVAL);
	assert_null(os->mmap(os->ctx, 4096, PROT_WRITE, MAP_PRIVATE, world->fd,
			     (off_t)(0x900 + world->page) * 4096, &error));
	assert_int_equal(error, -EINVAL);
	assert_null(os->mmap(os->ctx, 4096, PROT_WRITE, MAP_SHARED, world->comp_fd, 0, &error));
	assert_int_equal(error, -EBADF);
	assert_int_equal(os->read(os->ctx, world->fd, buf, sizeof(buf)), -EINVAL);
	assert_int_equal(os->read(os->ctx, -1, buf, sizeof(buf)), -EBADF);
	assert_int_equal(os->close(os->ctx, -1), -EBADF);
	assert_true(os->sysfs_read(os->ctx, "class/infiniband/soft0/node_type", buf, 64) > 0);
	assert_int_equal(os->sysfs_list(os->ctx, "class/infiniband", 0, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "soft0");
}

/* One port per process and name, however often it is opened. */
static void opened_twice_is_one_door(void **state)
{
	struct world *world = *state;
	const struct lib_os *again = open_os();
	int fd;

	assert_ptr_equal(again, world->os);
	fd = again->open(again->ctx, "/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && fd != world->fd);
	assert_int_equal(again->close(again->ctx, fd), 0);
	lib_os_soft_close(again);
	world->data[0] = 77;
	post_write(world, &world->sides[0], 0, 512);
	wait_completion(world, true);
	assert_int_equal(world->data[512], 77);
}

/* The rig's memory for commands is used up otherwise. */
static int new_channel(struct world *world)
{
	uint32_t used = (uint32_t)world->rig.memory_used;
	int fd = -1;

	assert_int_equal(rig_comp_channel(&world->rig, &fd), 0);
	world->rig.memory_used = used;
	return fd;
}

static void *lend_until_stopped(void *arg)
{
	struct world *world = arg;

	while (!atomic_load(&world->stop))
		world->os->progress(world->os->ctx);
	return NULL;
}

/*
 * As many event channels as there are descriptors, one after the other and at the same time, while
 * nothing ever happens on them; without a thread that polls all the while, and with one. The oldest
 * channel gets its events all the same.
 */
static void channels_without_end(void **state)
{
	struct world *world = *state;
	const struct lib_os *os = world->os;
	pthread_t thread;
	int fds[CHANNELS];

	for (int polling = 0; polling < 2; polling++) {
		if (polling)
			assert_int_equal(
			    pthread_create(&thread, NULL, lend_until_stopped, world), 0);
		for (unsigned int i = 0; i < 4 * CHANNELS; i++)
			assert_int_equal(os->close(os->ctx, new_channel(world)), 0);
		for (unsigned int i = 0; i < CHANNELS; i++)
			fds[i] = new_channel(world);
		for (unsigned int i = 0; i < CHANNELS; i++)
			assert_int_equal(os->close(os->ctx, fds[i]), 0);
	}
	atomic_store(&world->stop, true);
	pthread_join(thread, NULL);
	event_from_the_engine(state);
}

/* 0 if every entry of the parent's table refuses. */
static int child_of_fork(struct world *world)
{
	const struct lib_os *os = world->os;
	struct pollfd fds = {.fd = world->comp_fd, .events = POLLIN};
	char buf[64];
	int error = 0;

	if (os->ioctl(os->ctx, world->fd, RDMA_VERBS_IOCTL, buf) != -ENODEV)
		return 1;
	if (os->open(os->ctx, "/dev/infiniband/uverbs0", O_RDWR) != -ENODEV)
		return 2;
	if (os->mmap(os->ctx, 4096, PROT_WRITE, MAP_SHARED, world->fd, 0, &error) ||
	    error != -ENODEV)
		return 3;
	if (os->read(os->ctx, world->comp_fd, buf, sizeof(buf)) != -ENODEV)
		return 4;
	if (os->poll(os->ctx, &fds, 1, 0) != -ENODEV)
		return 5;
	if (os->sysfs_read(os->ctx, "class/infiniband", buf, sizeof(buf)) != -ENODEV)
		return 6;
	if (os->sysfs_list(os->ctx, "class/infiniband", 0, buf, sizeof(buf)) != -ENODEV)
		return 7;
	/* A doorbell of the child reaches nobody, and what it closes is its own. */
	post_write(world, &world->sides[0], 0, 512);
	os->progress(os->ctx);
	if (os->munmap(os->ctx, world->registers, 4096) || os->close(os->ctx, world->comp_fd) ||
	    os->close(os->ctx, world->fd))
		return 8;
	lib_os_soft_close(os);
	return 0;
}

static void child_is_refused_and_harms_nobody(void **state)
{
	struct world *world = *state;
	int status;
	pid_t pid;

	world->data[0] = 5;
	post_write(world, &world->sides[1], 0, 512);
	wait_completion(world, true);
	pid = fork();
	if (pid == 0)
		_exit(child_of_fork(world));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* The parent goes on. */
	arm(world, 0);
	world->data[0] = 6;
	post_write(world, &world->sides[0], 0, 512);
	wait_completion(world, true);
	assert_int_equal(world->data[512], 6);
	assert_int_equal(world->os->read(world->os->ctx, world->comp_fd, &world->data[1], 8), 8);
}

/* A child may open a NIC of its own, while its parent has one. */
static void child_opens_its_own(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime cannot start threads in the child of a process with threads */
#endif
	if (pid == 0) {
		const struct lib_os *os;
		char why[256];
		int fd;

		if (lib_os_soft_open(NULL, &os, why, sizeof(why)))
			_exit(1);
		fd = os->open(os->ctx, "/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
		if (fd < 0 || os->close(os->ctx, fd))
			_exit(2);
		lib_os_soft_close(os);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void names_and_refusals(void **state)
{
	const struct lib_os *os = NULL;
	char name[64], why[256];

	(void)state;
	assert_int_equal(lib_os_soft_name(0, name, sizeof(name)), 0);
	assert_string_equal(name, "soft0");
	assert_int_equal(lib_os_soft_name(1, name, sizeof(name)), -ENOENT);
	assert_int_equal(lib_os_soft_name(0, name, 5), -ENAMETOOLONG);
	assert_int_equal(lib_os_soft_open("soft1", &os, why, sizeof(why)), -ENODEV);
	assert_non_null(strstr(why, "soft1"));
	setenv("RIG5_SOFT", "a;b,addr=127.0.0.9", 1);
	assert_int_equal(lib_os_soft_name(1, name, sizeof(name)), 0);
	assert_string_equal(name, "b");
	setenv("RIG5_SOFT", "a,ll=fc", 1);
	assert_int_equal(lib_os_soft_name(0, name, sizeof(name)), -EINVAL);
	assert_int_equal(lib_os_soft_open(NULL, &os, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "ll=fc"));
	setenv("RIG5_SOFT", "", 1);
	assert_int_equal(lib_os_soft_name(0, name, sizeof(name)), -ENOENT);
	assert_int_equal(lib_os_soft_open(NULL, &os, why, sizeof(why)), -ENODEV);
	unsetenv("RIG5_SOFT");
	assert_null(os);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
	    TEST(writes_with_lent_time),
	    TEST(the_engine_goes_on),
	    TEST(register_overwritten_by_another_thread),
	    TEST(event_wakes_poll),
	    TEST(event_from_the_engine),
	    TEST(entries_refuse),
	    TEST(opened_twice_is_one_door),
	    TEST(channels_without_end),
	    TEST(child_is_refused_and_harms_nobody),
	    TEST(child_opens_its_own),
	    cmocka_unit_test(child_opens_its_own),
	    cmocka_unit_test(names_and_refusals),
	};

	/* Of this test alone: another version's programs may have the default one open. */
	proc_new_port();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
