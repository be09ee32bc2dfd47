/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_mlx5_test.c - the helpers of the mlx5 headers; layouts are tests/abi/layout_test.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/mlx5_cqe.h"
#include "abi/mlx5_db.h"
#include "abi/mlx5_uapi.h"
#include "abi/mlx5_wqe.h"
#include "abi/uverbs.h"

/* Shows how many units and blocks entries take, at the edges.
 * By counts around one block, and the longest entry. */
static void units_and_blocks(void **state)
{
	(void)state;
	assert_int_equal(wqe_bb_count(1), 1);
	assert_int_equal(wqe_bb_count(4), 1);
	assert_int_equal(wqe_bb_count(5), 2);
	assert_int_equal(wqe_bb_count(WQE_DS_MAX), 16);
	assert_int_equal(wqe_inline_units(0), 1);
	assert_int_equal(wqe_inline_units(12), 1);
	assert_int_equal(wqe_inline_units(13), 2);
	assert_int_equal(2 + wqe_inline_units(WQE_INLINE_ONE_BB_BYTES), 4);
	assert_int_equal(2 + wqe_inline_units(WQE_INLINE_ONE_BB_BYTES + 1), 5);
}

/* Shows the arm word and its parts, and that each part keeps to its bits.
 * By values with bits beyond them. */
static void arm_words(void **state)
{
	struct be32 word = db_cq_arm_word(7, DB_CQ_CMD_SOLICITED, 0xff123456);

	(void)state;
	assert_int_equal(be32_to(word), 0x31123456);
	assert_int_equal(db_cq_arm_sn(word), 3);
	assert_int_equal(db_cq_arm_index(word), 0x123456);
	assert_int_equal(be32_to(db_cq_arm_word(0, DB_CQ_CMD_ANY, 5)), 5);
}

/* Shows where a completion keeps its queue pair and opcode.
 * By one word. */
static void completion_words(void **state)
{
	struct cqe64 cqe = {.sop_drop_qpn = be32_from(0x10abcdef)};

	(void)state;
	assert_int_equal(cqe_qpn(&cqe), 0xabcdef);
	assert_int_equal(cqe_send_opcode(&cqe), WQE_OP_READ);
}

/* Shows mmap offsets of the verbs file, both ways.
 * By the offsets libmlx5 was seen to use, and an index over eight bits. */
static void mmap_offsets(void **state)
{
	(void)state;
	assert_int_equal(uv_mlx5_mmap_offset(MLX5_IB_MMAP_REGULAR_PAGE, 7), 0x7000);
	assert_int_equal(uv_mlx5_mmap_offset(MLX5_IB_MMAP_CORE_CLOCK, 0), 0x500000);
	assert_int_equal(uv_mlx5_mmap_offset(MLX5_IB_MMAP_CLOCK_INFO, 0), 0x700000);
	for (uint32_t index = 0; index < 70000; index += 77) {
		uint64_t offset = uv_mlx5_mmap_offset(9, index);

		assert_int_equal(uv_mlx5_mmap_cmd(offset), 9);
		assert_int_equal(uv_mlx5_mmap_index(offset), index);
	}
}

/* Shows header lengths, extended command numbers and MTU codes.
 * By their edges. */
static void verbs_numbers(void **state)
{
	(void)state;
	assert_int_equal(uv_hdr_bytes(0), 24);
	assert_int_equal(uv_hdr_bytes(3), 72);
	assert_int_equal(UV_WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), 0x80000001);
	assert_int_equal(uv_mtu_bytes(0), 0);
	assert_int_equal(uv_mtu_bytes(UV_MTU_256), 256);
	assert_int_equal(uv_mtu_bytes(UV_MTU_4096), 4096);
	assert_int_equal(uv_mtu_bytes(6), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_and_blocks), cmocka_unit_test(arm_words),
		cmocka_unit_test(completion_words), cmocka_unit_test(mmap_offsets),
		cmocka_unit_test(verbs_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
