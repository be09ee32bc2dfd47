/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c - the device's clock: nanoseconds, the very now_ns that calls and completions carry.
 *
 * Two pages are mapped by applications. One is the clock itself, as on a card, whose register it
 * would be: 8 bytes, big endian, which kern_notice sets. The other says how to turn it into the
 * time of day. As a count of nanoseconds needs no scale, that one holds for ever; like a card's, it
 * does not follow when somebody sets the time of day later.
 */
#include "kern/state.h"

#include "abi/mlx5_db.h"

static uint32_t clock_page(const struct kern *kern)
{
	return kern->register_page_count;
}

static uint32_t info_page(const struct kern *kern)
{
	return kern->register_page_count + 1;
}

static void *page_at(const struct kern *kern, uint32_t page)
{
	return (uint8_t *)kern->config.device_pages + (size_t)page * DB_UAR_BYTES;
}

void kern_clock_init(struct kern *kern)
{
	struct mlx5_ib_clock_info *info = page_at(kern, info_page(kern));

	*info = (struct mlx5_ib_clock_info){
	    .sign = 0, /* even: nobody is changing it */
	    .nsec = kern->config.wall_clock_ns,
	    .cycles = 0,
	    .frac = 0,
	    .mult = 1,
	    .shift = 0,
	    .mask = UINT64_MAX,
	    .overflow_period = INT64_MAX,
	};
	kern->clock_word = page_at(kern, clock_page(kern));
	*kern->clock_word = 0;
}

/* [linux mlx5_ib_mmap]: the clock's offset has no index that counts, the other one a version. */
int kern_clock_mmap(const struct kern *kern, uint64_t offset_bytes, bool writable, uint32_t *page)
{
	bool info = uv_mlx5_mmap_cmd(offset_bytes) == MLX5_IB_MMAP_CLOCK_INFO;

	if (offset_bytes % DB_UAR_BYTES != 0)
		return -EINVAL;
	if (info && uv_mlx5_mmap_index(offset_bytes) != MLX5_IB_CLOCK_INFO_V1)
		return -EOPNOTSUPP;
	if (writable)
		return -EPERM;
	*page = info ? info_page(kern) : clock_page(kern);
	return 0;
}
