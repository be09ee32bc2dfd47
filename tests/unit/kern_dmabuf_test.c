/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that a dma-buf becomes a region by the kernel's own method, that every access of the NIC to
 * it is announced and ended, and that it is given back whatever happens.
 * By that method, byte for byte, and a made-up dma-buf that counts what is done to it.
 */
#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_wqe.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
	BUF_FD = 5,
	BUF_BYTES = 4 * 4096,
	OFFSET = 0x1234, /* of the region in the buffer: not the start of a page */
	BYTES = 0x1800,
	ALL = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
	      IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC,
};

static struct world {
	struct kern_rig rig;
	uint32_t pd, uar, page;
	struct rig_cq cq;
	struct rig_qp qp;
	uint32_t posted;
	uint8_t *plain; /* an ordinary region beside it */
	struct ib_uverbs_reg_mr_resp plain_mr;
} world;

static int open_world(void **state)
{
	struct kern_rig *rig = &world.rig;

	(void)state;
	memset(&world, 0, sizeof(world));
	kern_rig_open(rig);
	assert_int_equal(rig_context(rig), 0);
	assert_int_equal(rig_pd(rig, &world.pd), 0);
	assert_int_equal(rig_uar(rig, &world.uar, &world.page), 0);
	world.cq = (struct rig_cq){.cqe = 15, .comp_fd = -1, .uar_page = world.page};
	assert_int_equal(rig_cq(rig, &world.cq), 0);
	assert_int_equal(rig_qp_of(rig, world.pd, &world.cq, &world.qp), 0);
	assert_int_equal(rig_connect(rig, &world.qp, world.qp.number), 0);
	world.plain = rig_alloc(rig, 8192);
	assert_int_equal(rig_mr(rig, world.pd, world.plain, 8192, ALL, &world.plain_mr), 0);
	rig->dmabuf = (struct rig_dmabuf){
	    .fd = BUF_FD, .bytes = rig_alloc(rig, BUF_BYTES), .len_bytes = BUF_BYTES};
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	kern_rig_close(&world.rig);
	/* Closing the context gave everything back. */
	assert_int_equal(world.rig.dmabuf.maps, 0);
	assert_int_equal(world.rig.dmabuf.stray, 0);
	return 0;
}

struct request {
	uint64_t offset, length, iova, access;
	int64_t fd;
	uint64_t pd; /* UINT64_MAX: the world's */
};

static const struct request usual = {OFFSET, BYTES, OFFSET & 0xfff, ALL, BUF_FD, UINT64_MAX};

static uint32_t *lkey, *rkey;

static int create(const struct request *request)
{
	struct kern_rig *rig = &world.rig;

	rig_call(rig, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE,
		 request->pd == UINT64_MAX ? world.pd : request->pd, 0);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, request->offset);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, request->length);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_IOVA, request->iova);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_FD, (uint64_t)request->fd, 0);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, request->access);
	lkey = rig_out(rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4);
	rkey = rig_out(rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4);
	return rig_run(rig);
}

/* One entry of the queue pair, which is its own peer; the status of its completion, 0: good. */
static uint8_t run(uint8_t opcode, uint64_t local, uint32_t local_key, uint64_t remote,
		   uint32_t remote_key, uint32_t len)
{
	uint32_t slot = world.posted++ % 8;
	struct wqe_ctrl_seg *ctrl =
	    (void *)(world.qp.ring + 16 * world.qp.rq_count + 64 * (size_t)slot);
	struct wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct wqe_atomic_seg *atomic = (void *)(raddr + 1);
	bool is_atomic = opcode == WQE_OP_ATOMIC_FA;
	struct wqe_data_seg *piece = is_atomic ? (void *)(atomic + 1) : (void *)(raddr + 1);
	const struct cqe_err64 *cqe = (const void *)(world.cq.ring + 64 * (size_t)slot);
	uint64_t word;

	memset(ctrl, 0, 64);
	ctrl->opmod_idx_opcode = wqe_ctrl_op(0, (uint16_t)(world.posted - 1), opcode);
	ctrl->qpn_ds = wqe_ctrl_qpn_ds(world.qp.number, is_atomic ? 4 : 3);
	ctrl->fm_ce_se = WQE_CE_ALWAYS;
	raddr->va = be64_from(remote);
	raddr->rkey = be32_from(remote_key);
	if (is_atomic)
		atomic->swap_add = be64_from(1);
	piece->byte_count = be32_from(len);
	piece->lkey = be32_from(local_key);
	piece->va = be64_from(local);
	world.qp.record[DB_SEND] = be32_from(world.posted).raw;
	memcpy(&word, ctrl, sizeof(word));
	memcpy(world.rig.pages + 4096 * world.page + DB_UAR_BF0, &word, sizeof(word));
	rig_pump(&world.rig);
	assert_int_not_equal(cqe->op_own, 0xf0);
	return cqe_is_error(cqe->op_own) ? cqe->syndrome : 0;
}

/* ---- what it does -------------------------------------------------------------------------------
 */

/* A region's addresses start at the offset in the page, and byte 0 of the region is byte OFFSET of
 * the buffer: reads, writes and atomics, as the local and as the remote end [cases 23]. */
static void bytes_are_where_they_belong(void **state)
{
	struct rig_dmabuf *buf = &world.rig.dmabuf;
	uint64_t iova = usual.iova, plain = rig_va(world.plain);
	uint32_t key;
	uint64_t value = 41;

	(void)state;
	assert_int_equal(create(&usual), 0);
	assert_int_equal(*lkey, *rkey);
	assert_true(buf->map_writable);
	key = *rkey;
	memset(world.plain, 0xa5, 8192);
	/* It is written from outside: 0x900 bytes at 8. */
	assert_int_equal(run(WQE_OP_WRITE, plain, world.plain_mr.lkey, iova + 8, key, 0x900), 0);
	for (uint64_t i = 0; i < BUF_BYTES; i++)
		assert_int_equal(buf->bytes[i],
				 i >= OFFSET + 8 && i < OFFSET + 8 + 0x900 ? 0xa5 : 0);
	assert_true(buf->begins_writable != 0);
	assert_int_equal(buf->begins, 0);
	/* Read from outside: its last 16 bytes. */
	memset(buf->bytes + OFFSET + BYTES - 16, 0x3c, 16);
	assert_int_equal(
	    run(WQE_OP_READ, plain, world.plain_mr.lkey, iova + BYTES - 16, key, 16), 0);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(world.plain[i], 0x3c);
	assert_int_equal(world.plain[16], 0xa5);
	assert_int_equal(buf->begins, 1);
	/* The source of a write, and where a read lands. */
	assert_int_equal(
	    run(WQE_OP_WRITE, iova + BYTES - 16, key, plain + 4096, world.plain_mr.rkey, 16), 0);
	assert_int_equal(world.plain[4096 + 15], 0x3c);
	assert_int_equal(buf->begins, 2);
	assert_int_equal(
	    run(WQE_OP_READ, iova + 0x1000, key, plain + 4096, world.plain_mr.rkey, 16), 0);
	assert_int_equal(buf->bytes[OFFSET + 0x1000 + 15], 0x3c);
	/* An atomic. */
	memcpy(buf->bytes + OFFSET + 4, &value, 8);
	assert_int_equal(
	    run(WQE_OP_ATOMIC_FA, plain, world.plain_mr.lkey, iova + 4, key, 8), 0);
	memcpy(&value, buf->bytes + OFFSET + 4, 8);
	assert_int_equal(value, 42);
	assert_int_equal(buf->begins + buf->begins_writable, buf->ends);
	assert_false(buf->open);
}

/* In these two the queue pair, being its own peer, is flushed before it hears of its own NAK. */
static void beyond_its_end_is_no_access(void **state)
{
	uint64_t plain = rig_va(world.plain);

	(void)state;
	assert_int_equal(create(&usual), 0);
	assert_int_equal(run(WQE_OP_WRITE, plain, world.plain_mr.lkey, usual.iova + BYTES - 8,
			     *rkey, 9),
			 CQE_SYND_WR_FLUSH);
	assert_int_equal(nic_counters(world.rig.nic)->tx_nak_access, 1);
	assert_int_equal(world.rig.dmabuf.begins + world.rig.dmabuf.begins_writable, 0);
}

/* A buffer that cannot be reached is a fault: nothing is copied, and the entry fails. */
static void unreachable_as_target(void **state)
{
	(void)state;
	assert_int_equal(create(&usual), 0);
	world.rig.dmabuf.unreachable = true;
	assert_int_equal(run(WQE_OP_WRITE, rig_va(world.plain), world.plain_mr.lkey, usual.iova,
			     *rkey, 8),
			 CQE_SYND_WR_FLUSH);
	assert_int_equal(nic_counters(world.rig.nic)->tx_nak_operational, 1);
	assert_int_equal(world.rig.dmabuf.ends, 0);
}

static void unreachable_as_source(void **state)
{
	(void)state;
	assert_int_equal(create(&usual), 0);
	world.rig.dmabuf.unreachable = true;
	assert_int_equal(run(WQE_OP_WRITE, usual.iova, *lkey, rig_va(world.plain),
			     world.plain_mr.rkey, 8),
			 CQE_SYND_LOCAL_PROT);
	assert_int_equal(nic_counters(world.rig.nic)->mem_fault, 1);
	assert_int_equal(world.rig.dmabuf.ends, 0);
}

/* Ordinary regions are not announced. */
static void nothing_for_others(void **state)
{
	(void)state;
	assert_int_equal(create(&usual), 0);
	assert_int_equal(run(WQE_OP_WRITE, rig_va(world.plain), world.plain_mr.lkey,
			     rig_va(world.plain) + 4096, world.plain_mr.rkey, 64),
			 0);
	assert_int_equal(world.rig.dmabuf.begins + world.rig.dmabuf.begins_writable, 0);
}

/* ---- what is refused ----------------------------------------------------------------------------
 */

static void refusals(void **state)
{
	static const struct {
		const char *name;
		struct request request;
		int error;
	} rows[] = {
	    {"another offset in the page", {0x1234, 64, 0x235, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"no bytes", {0, 0, 0, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"the offset wraps", {UINT64_MAX - 4095, 8192, 0, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"the address wraps", {0, 8192, UINT64_MAX - 4095, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"longer than the buffer", {0, BUF_BYTES + 1, 0, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"behind the buffer", {BUF_BYTES, 1, 0, ALL, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"remote write without local", {0, 64, 0, 2, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"on demand", {0, 64, 0, IB_UVERBS_ACCESS_ON_DEMAND | 1, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"windows", {0, 64, 0, IB_UVERBS_ACCESS_MW_BIND | 1, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"an unknown right", {0, 64, 0, UINT64_C(1) << 40, BUF_FD, UINT64_MAX}, -EINVAL},
	    {"another descriptor", {0, 64, 0, ALL, BUF_FD + 1, UINT64_MAX}, -EBADF},
	    {"no descriptor", {0, 64, 0, ALL, -1, UINT64_MAX}, -EBADF},
	    {"no number of a descriptor", {0, 64, 0, ALL, INT64_C(1) << 40, UINT64_MAX}, -EINVAL},
	    {"nothing is its domain", {0, 64, 0, ALL, BUF_FD, 99999}, -ENOENT},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int error = create(&rows[i].request);

		if (error != rows[i].error)
			fail_msg("%s: %d", rows[i].name, error);
		assert_int_equal(world.rig.dmabuf.maps, 0);
	}
	/* What the buffer itself answers. */
	world.rig.dmabuf.map_error = -EOPNOTSUPP;
	assert_int_equal(create(&usual), -EOPNOTSUPP);
	world.rig.dmabuf.map_error = 0;
	/* All of it, and the last byte. */
	assert_int_equal(create(&(struct request){0, BUF_BYTES, 0, 0, BUF_FD, UINT64_MAX}), 0);
	assert_false(world.rig.dmabuf.map_writable);
	assert_int_equal(
	    create(&(struct request){BUF_BYTES - 1, 1, 0xfff, 1, BUF_FD, UINT64_MAX}), 0);
	assert_int_equal(world.rig.dmabuf.maps, 2);
}

static void given_back_on_destroy(void **state)
{
	struct kern_rig *rig = &world.rig;

	(void)state;
	assert_int_equal(create(&usual), 0);
	assert_int_equal(rig->dmabuf.maps, 1);
	assert_int_equal(rig_destroy(rig, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
				     UVERBS_ATTR_DESTROY_MR_HANDLE,
				     (uint32_t)rig_data(rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE)),
			 0);
	assert_int_equal(rig->dmabuf.maps, 0);
}

/* No key left, or nowhere to write the answer: nothing stays mapped. */
static void given_back_on_failure(void **state)
{
	struct kern_rig *rig = &world.rig;
	unsigned int made = 0;

	(void)state;
	rig_call(rig, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0, 0);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, world.pd, 0);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 0);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 64);
	rig_in64(rig, UVERBS_ATTR_REG_DMABUF_MR_IOVA, 0);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_FD, BUF_FD, 0);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 0x1000, 4);
	rig_attr(rig, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 0x1000, 4);
	assert_int_equal(rig_run(rig), -EFAULT);
	assert_int_equal(rig->dmabuf.maps, 0);
	while (create(&usual) == 0)
		made++;
	assert_int_equal(made, 63); /* of 64 keys, one is the ordinary region's */
	assert_int_equal(rig->dmabuf.maps, made);
}

static void a_device_without(void **state)
{
	(void)state;
	world.rig.kern_env.dmabuf_map = NULL;
	/* The environment was copied when the device was made. */
	kern_close(world.rig.file, 0);
	world.rig.kern = kern_init(world.rig.kern_arena, &world.rig.config, &world.rig.kern_env,
				   world.rig.nic);
	assert_int_equal(kern_open(world.rig.kern, &world.rig.file), 0);
	assert_int_equal(rig_context(&world.rig), 0);
	assert_int_equal(rig_pd(&world.rig, &world.pd), 0);
	assert_int_equal(create(&usual), -EOPNOTSUPP);
}

#define DMABUF_TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    DMABUF_TEST(bytes_are_where_they_belong),
	    DMABUF_TEST(beyond_its_end_is_no_access),
	    DMABUF_TEST(unreachable_as_target),
	    DMABUF_TEST(unreachable_as_source),
	    DMABUF_TEST(nothing_for_others),
	    DMABUF_TEST(refusals),
	    DMABUF_TEST(given_back_on_destroy),
	    DMABUF_TEST(given_back_on_failure),
	    DMABUF_TEST(a_device_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
