/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * golden_wqe.h - the work queue entries that libmlx5 wrote: tests/golden/wqe/libmlx5-44.txt, read.
 * What the file holds: tests/run/record_wqes.c.
 */
#ifndef TESTS_SUPPORT_GOLDEN_WQE_H
#define TESTS_SUPPORT_GOLDEN_WQE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/wqe_ops.h"

enum { GOLDEN_BYTES_MAX = 1024 };

struct golden_wqe {
	uint32_t transport; /* OP_RC and so on */
	char name[48];
	const struct wqe_op *op; /* NULL: an operation on keys, or a receive */
	const struct wqe_receive *receive;
	bool is_new; /* through ibv_wr_*; else ibv_post_send */
	uint32_t index;
	uint32_t block_count; /* of its ring */
	uint32_t bytes;
	uint8_t raw[GOLDEN_BYTES_MAX];
};

/* golden_wqes - all of them, to be freed; a bad line fails the test. */
struct golden_wqe *golden_wqes(size_t *count);

#endif
