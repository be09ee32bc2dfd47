/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabuf_test.c - regions of dma-bufs on the software NIC, from the library down to the descriptor.
 *
 * Kernels without udmabuf have no dma-buf to try: here a memfd stands for one. fstatfs and the
 * ioctl that synchronizes are this program's own, and count. udmabuf_test.c has real ones.
 */
#include "tests/support/peer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUF_BYTES = 1 << 16, OFFSET = 0x1234, BYTES = 0x9000 };

/* ---- the stand-in -------------------------------------------------------------------------------
 */

static struct {
	ino_t inode; /* 0: none */
	dev_t device;
	uint8_t *mem; /* the buffer, as its owner maps it */
	_Atomic uint32_t starts, ends, threads_of_the_port;
	_Atomic bool open;
	_Atomic uint32_t wrong; /* a start in a start, an end without, another direction */
	uint64_t direction;
} buf;

static bool is_buf(int fd)
{
	struct stat stat;

	return buf.inode != 0 && fstat(fd, &stat) == 0 && stat.st_ino == buf.inode &&
	       stat.st_dev == buf.device;
}

static int buf_sync(const struct dma_buf_sync *sync)
{
	bool end = sync->flags & DMA_BUF_SYNC_END;
	uint64_t direction = sync->flags & DMA_BUF_SYNC_RW;

	buf.wrong += buf.open != end || direction == 0 || (end && direction != buf.direction);
	buf.open = !end;
	buf.direction = direction;
	if (end)
		buf.ends++;
	else
		buf.starts++;
	if (syscall(SYS_gettid) != getpid())
		buf.threads_of_the_port++;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == DMA_BUF_IOCTL_SYNC && is_buf(fd))
		return buf_sync(arg);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* From its start, whatever offset is asked for: there are exporters that do so. */
void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	bool ours = !(flags & MAP_ANONYMOUS) && is_buf(fd);

	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, ours ? 0 : offset);
}

int fstatfs(int fd, struct statfs *fs)
{
	int result = (int)syscall(SYS_fstatfs, fd, fs);

	if (result == 0 && is_buf(fd))
		fs->f_type = DMA_BUF_MAGIC;
	return result;
}

/* A new buffer; seals: of the memfd, so that it cannot be mapped. -errno. */
static int buf_make(int seals)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct stat stat;

	if (fd < 0 || ftruncate(fd, BUF_BYTES) != 0 || fstat(fd, &stat) != 0)
		return -errno;
	buf.mem = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (buf.mem == MAP_FAILED || fcntl(fd, F_ADD_SEALS, seals) != 0)
		return -errno;
	buf.inode = stat.st_ino;
	buf.device = stat.st_dev;
	return fd;
}

/* ---- one end, in a child ------------------------------------------------------------------------
 */

static struct rig_nic *nic;
static struct rig_cq *cq;
static struct rig_qp *qp;
static struct rig_region *region; /* of the buffer, or of plain */
static uint8_t plain[BYTES];

static int open_end(struct proc_msg *msg, struct rig_remote *remote)
{
	struct peer_card card = {0};

	PEER_TRY(rig_cq_create(nic, 64, &cq));
	PEER_TRY(rig_qp_create(cq, 16, 16, &qp));
	PEER_TRY(rig_qp_endpoint(qp, &card.endpoint));
	card.remote = *remote;
	memcpy(msg->blob, &card, sizeof(card));
	return 0;
}

/* The target: a region of a buffer whose descriptor is closed at once. */
static int target_open(struct proc_msg *msg)
{
	int fd = buf_make(0);
	struct rig_remote remote;

	PEER_CHECK(fd >= 0);
	PEER_TRY(rig_open(proc_nic(), &nic));
	PEER_TRY(rig_region_create_dmabuf(nic, fd, OFFSET, BYTES, RIG_REMOTE_ALL, &region));
	close(fd);
	PEER_TRY(rig_region_remote(region, 0, BYTES, &remote));
	/* Its addresses keep the offset in the page [cases 23]. */
	PEER_CHECK((remote.addr & 4095) == (OFFSET & 4095) && remote.len_bytes == BYTES);
	return open_end(msg, &remote);
}

static int source_open(struct proc_msg *msg)
{
	struct rig_remote remote;

	PEER_TRY(rig_open(proc_nic(), &nic));
	PEER_TRY(rig_region_create(nic, plain, BYTES, RIG_REMOTE_ALL, &region));
	PEER_TRY(rig_region_remote(region, 0, BYTES, &remote));
	return open_end(msg, &remote);
}

static struct peer_card other;

static int connect_end(struct proc_msg *msg)
{
	memcpy(&other, msg->blob, sizeof(other));
	PEER_TRY(rig_qp_connect(qp, RIG_REMOTE_ALL, &other.endpoint, NULL));
	return 0;
}

/* One entry: len_bytes at `here` of the own region, at `there` of the other's. Its status. */
static int run(enum rig_op op, uint64_t here, uint64_t there, uint32_t len_bytes)
{
	struct rig_local piece;
	struct rig_entry entry = {.op = (uint8_t)op, .flags = RIG_SIGNAL_F, .pieces = &piece,
				  .piece_count = 1, .add_or_swap = 1};
	struct rig_wc wc;

	if (rig_region_local(region, here, len_bytes, &piece) < 0)
		return -EINVAL;
	if (op != RIG_SEND) {
		entry.remote_addr = other.remote.addr + there;
		entry.remote_key = other.remote.key;
	}
	if (rig_qp_post(qp, &entry) < 0 || rig_qp_ring(qp) < 0)
		return -EIO;
	if (peer_next(cq, &wc, 5000) < 0)
		return -ETIMEDOUT;
	return wc.status;
}

static bool is_pattern(const uint8_t *bytes, size_t len, uint8_t first)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != (uint8_t)(first + 7 * i))
			return false;
	return true;
}

static void fill(uint8_t *bytes, size_t len, uint8_t first)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(first + 7 * i);
}

/* The source writes 0x8000 bytes to 100 of the region, reads them back, adds, sends. */
static int source_run(struct proc_msg *msg)
{
	uint64_t old;

	(void)msg;
	fill(plain, 0x8000, 3);
	PEER_CHECK(run(RIG_WRITE, 0, 100, 0x8000) == RIG_OK);
	memset(plain, 0, sizeof(plain));
	PEER_CHECK(run(RIG_READ, 0, 100, 0x8000) == RIG_OK);
	PEER_CHECK(is_pattern(plain, 0x8000, 3));
	PEER_CHECK(run(RIG_FETCH_ADD, 0, 0x8ffc - 0x8, 8) == RIG_OK);
	memcpy(&old, plain, 8);
	PEER_CHECK(old == 0);
	fill(plain, 64, 9);
	PEER_CHECK(run(RIG_SEND, 0, 0, 64) == RIG_OK);
	/* One byte more than the buffer's region has. */
	PEER_CHECK(run(RIG_WRITE, 0, BYTES - 8, 9) == RIG_REMOTE_ACCESS);
	return 0;
}

static int target_receive(struct proc_msg *msg)
{
	struct rig_local piece;

	(void)msg;
	PEER_TRY(rig_region_local(region, 16, 64, &piece));
	PEER_TRY(rig_qp_receive(qp, &piece));
	return 0;
}

/* v[0]: starts, v[1]: how many of those calls were by a thread of the port. */
static int target_check(struct proc_msg *msg)
{
	uint64_t sum;

	PEER_CHECK(is_pattern(buf.mem + OFFSET + 100, 0x8000, 3));
	PEER_CHECK(is_pattern(buf.mem + OFFSET + 16, 64, 9));
	memcpy(&sum, buf.mem + OFFSET + 0x8ff4, 8);
	PEER_CHECK(sum == 1);
	for (unsigned int i = 0; i < BUF_BYTES; i++)
		PEER_CHECK((i >= OFFSET && i < OFFSET + BYTES) || buf.mem[i] == 0);
	PEER_CHECK(buf.wrong == 0 && buf.starts == buf.ends && !buf.open);
	msg->v[0] = buf.starts;
	msg->v[1] = buf.threads_of_the_port;
	PEER_TRY(rig_region_destroy(region));
	PEER_TRY(rig_close(nic));
	return 0;
}

static void skip_on_hardware(void)
{
	if (strcmp(proc_nic(), "soft0") != 0)
		skip();
}

static void link_up(struct proc *a, proc_verb open_a, struct proc *b, proc_verb open_b)
{
	struct proc_msg of_a = {0}, of_b = {0};

	proc_ok(a, open_a, &of_a);
	proc_ok(b, open_b, &of_b);
	proc_ok(a, connect_end, &of_b);
	proc_ok(b, connect_end, &of_a);
}

/*
 * Another process writes, reads, adds and sends into a dma-buf whose descriptor is closed and whose
 * owner sleeps: so the port's own threads, which have a table of descriptors of their own, do the
 * work. By two processes, the buffer's memory, and the count of its synchronizations.
 */
static void test_a_peer_uses_it(void **state)
{
	struct proc_msg msg = {0};
	struct proc *source, *target;

	(void)state;
	skip_on_hardware();
	source = proc_start();
	target = proc_start();
	link_up(source, source_open, target, target_open);
	proc_ok(target, target_receive, NULL);
	proc_ok(source, source_run, NULL);
	proc_ok(target, target_check, &msg);
	assert_true(msg.v[0] >= 8 + 8 + 1 + 1); /* one for each packet at least */
	assert_int_equal(msg.v[1], 2 * msg.v[0]);
}

/* The owner's own entries, by its own thread: the buffer is source of a write, target of a read. */
static int owner_run(struct proc_msg *msg)
{
	(void)msg;
	fill(buf.mem + OFFSET, 0x2000, 5);
	PEER_CHECK(run(RIG_WRITE, 0, 0, 0x2000) == RIG_OK);
	PEER_CHECK(run(RIG_READ, 0x4000, 0, 0x2000) == RIG_OK);
	PEER_CHECK(is_pattern(buf.mem + OFFSET + 0x4000, 0x2000, 5));
	PEER_CHECK(buf.wrong == 0 && buf.starts == buf.ends && buf.starts >= 4);
	return 0;
}

static void test_its_owner_uses_it(void **state)
{
	struct proc *source, *target;

	(void)state;
	skip_on_hardware();
	source = proc_start();
	target = proc_start();
	link_up(source, source_open, target, target_open);
	proc_ok(target, owner_run, NULL);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static int refusals(struct proc_msg *msg)
{
	int other_file = memfd_create("plain", MFD_CLOEXEC);
	int fd = buf_make(0);

	(void)msg;
	PEER_CHECK(fd >= 0 && ftruncate(other_file, BUF_BYTES) == 0);
	PEER_TRY(rig_open(proc_nic(), &nic));
	PEER_CHECK(rig_region_create_dmabuf(nic, other_file, 0, 4096, RIG_LOCAL, &region) ==
		   -EINVAL);
	PEER_CHECK(strstr(rig_error(), "no dma-buf"));
	PEER_CHECK(rig_region_create_dmabuf(nic, fd, 1, BUF_BYTES, RIG_LOCAL, &region) == -EINVAL);
	PEER_CHECK(rig_region_create_dmabuf(nic, fd, BUF_BYTES, 1, RIG_LOCAL, &region) == -EINVAL);
	PEER_TRY(rig_region_create_dmabuf(nic, fd, 1, BUF_BYTES - 1, RIG_LOCAL, &region));
	PEER_TRY(rig_region_destroy(region));
	close(fd);
	PEER_CHECK(rig_region_create_dmabuf(nic, fd, 0, 4096, RIG_LOCAL, &region) == -EBADF);
	/* One that a processor cannot map, as a GPU's. */
	fd = buf_make(F_SEAL_FUTURE_WRITE);
	PEER_CHECK(fd >= 0);
	PEER_CHECK(rig_region_create_dmabuf(nic, fd, 0, 4096, RIG_LOCAL, &region) == -EOPNOTSUPP);
	PEER_CHECK(strstr(rig_error(), "cannot"));
	return 0;
}

static void test_refusals(void **state)
{
	(void)state;
	skip_on_hardware();
	proc_ok(proc_start(), refusals, NULL);
}

/* Closes every descriptor of the buffer that this process has; how many there were. */
static int close_duplicates(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int closed = 0;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd != dirfd(dir) && is_buf(fd)) {
			close(fd);
			closed++;
		}
	}
	closedir(dir);
	return closed;
}

/*
 * The owner closes what is not its own, too. An entry that its own thread runs fails, and no byte
 * is moved unsynchronized; one that the port's thread happens to run works, with the descriptor
 * there.
 */
static int owner_closes_all(struct proc_msg *msg)
{
	int status = RIG_OK;
	uint32_t good = 0;

	(void)msg;
	PEER_CHECK(close_duplicates() == 1);
	for (int i = 0; i < 1000 && status == RIG_OK; i++) {
		status = run(RIG_WRITE, 0, 0, 64);
		good += status == RIG_OK;
	}
	PEER_CHECK(status == RIG_LOCAL_PROTECTION);
	PEER_CHECK(buf.starts == good && buf.ends == good && buf.wrong == 0);
	PEER_TRY(rig_close(nic));
	return 0;
}

static void test_without_a_descriptor(void **state)
{
	struct proc *source, *target;

	(void)state;
	skip_on_hardware();
	source = proc_start();
	target = proc_start();
	link_up(source, source_open, target, target_open);
	proc_ok(target, owner_closes_all, NULL);
}

/* In a child of fork the region is not mapped, its calls are refused, and its end changes nothing
 * for the parent. */
static int owner_forks(struct proc_msg *msg)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		struct rig_region *mine;

		proc_forget_parent();
		_exit(rig_region_create_dmabuf(nic, 0, 0, 4096, RIG_LOCAL, &mine) == -EPERM &&
			      rig_region_destroy(region) == -EPERM
			  ? 0
			  : 1);
	}
	PEER_CHECK(child > 0 && waitpid(child, &status, 0) == child);
	PEER_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return owner_run(msg);
}

static void test_fork(void **state)
{
	struct proc *source, *target;

	(void)state;
	skip_on_hardware();
	source = proc_start();
	target = proc_start();
	link_up(source, source_open, target, target_open);
	proc_ok(target, owner_forks, NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    PEER_TEST(test_a_peer_uses_it),
	    PEER_TEST(test_its_owner_uses_it),
	    PEER_TEST(test_refusals),
	    PEER_TEST(test_without_a_descriptor),
	    PEER_TEST(test_fork),
	};

	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
