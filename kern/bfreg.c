/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bfreg.c - registers as drivers older than register page objects use them: so many for a context,
 * two in each page, given out by number.
 *
 * Register 0 is everybody's and has no write combining; those behind it are shared by queue pairs,
 * the last ones belong to one queue pair each, which then rings without a lock [linux mlx5
 * alloc_bfreg]. The nic does not care which register names a queue pair; who must not share one
 * does.
 *
 * Such a driver gets further pages by mapping them, for what it calls dynamic registers.
 */
#include "kern/state.h"

#include "base/assert.h"

enum {
	/* What the driver is told if the register was its own choice [linux mlx5_ib.h]. */
	BFREG_NONE = (int)(1u << 31),
	/* It counts four registers a page, of which the last two are no queue pair's. */
	DRIVER_BFREGS_PER_PAGE = 4,
};

int kern_bfregs_create(struct kern_file *file, uint32_t count, uint32_t dedicated_count)
{
	if (count > KERN_BFREGS_MAX)
		return -ENOMEM;
	count = (count + KERN_BFREGS_PER_PAGE - 1) & ~(uint32_t)(KERN_BFREGS_PER_PAGE - 1);
	ASSERT(count != 0 && dedicated_count < count);
	while (file->bfreg_count < count) {
		uint32_t page = kern_page_take(file);

		if (page == KERN_NONE) {
			kern_bfregs_destroy(file);
			return -ENOMEM;
		}
		file->bfreg_pages[file->bfreg_count / KERN_BFREGS_PER_PAGE] = (uint16_t)page;
		file->bfreg_count += KERN_BFREGS_PER_PAGE;
	}
	file->bfreg_dedicated_count = (uint16_t)dedicated_count;
	return 0;
}

void kern_bfregs_destroy(struct kern_file *file)
{
	for (; file->bfreg_count != 0; file->bfreg_count -= KERN_BFREGS_PER_PAGE)
		kern_uar_free(file->kern,
			      file->bfreg_pages[file->bfreg_count / KERN_BFREGS_PER_PAGE - 1]);
	for (unsigned int i = 0; i < KERN_DYNAMIC_BFREGS / KERN_BFREGS_PER_PAGE; i++) {
		if (file->dynamic_pages[i] != 0)
			kern_uar_free(file->kern, file->dynamic_pages[i] - 1u);
		file->dynamic_pages[i] = 0;
	}
}

int kern_bfreg_mmap(struct kern_file *file, unsigned int cmd, uint64_t index, uint32_t *page)
{
	if (file->bfreg_count == 0)
		return -EINVAL;
	if (cmd != MLX5_IB_MMAP_ALLOC_WC) {
		if (index >= file->bfreg_count / KERN_BFREGS_PER_PAGE)
			return -EINVAL;
		*page = file->bfreg_pages[index];
		return 0;
	}
	/* Each once. */
	if (index >= KERN_DYNAMIC_BFREGS / KERN_BFREGS_PER_PAGE || file->dynamic_pages[index] != 0)
		return -EINVAL;
	*page = kern_page_take(file);
	if (*page == KERN_NONE)
		return -ENOMEM;
	file->dynamic_pages[index] = (uint16_t)(*page + 1);
	return 0;
}

int kern_bfreg_dynamic(const struct kern_file *file, uint32_t index, uint32_t *page)
{
	if (index >= KERN_DYNAMIC_BFREGS || file->dynamic_pages[index / KERN_BFREGS_PER_PAGE] == 0)
		return -EINVAL;
	*page = file->dynamic_pages[index / KERN_BFREGS_PER_PAGE] - 1u;
	return 0;
}

/* [linux mlx5 create_user_qp] */
int kern_bfreg_check(const struct kern_file *file, const struct mlx5_ib_create_qp *driver)
{
	uint32_t index = driver->bfreg_index / KERN_BFREGS_PER_PAGE;

	if (driver->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX)
		return kern_page_is_of(file, driver->bfreg_index) ? 0 : -EINVAL;
	if (file->bfreg_count == 0)
		return -EINVAL;
	if (!(driver->flags & MLX5_QP_FLAG_BFREG_INDEX))
		return 0;
	return index < KERN_DYNAMIC_BFREGS / KERN_BFREGS_PER_PAGE && file->dynamic_pages[index] != 0
		   ? 0
		   : -EINVAL;
}

static uint32_t choose(const struct kern_file *file)
{
	uint32_t dedicated = file->bfreg_count - file->bfreg_dedicated_count;
	uint32_t best = 0;

	for (uint32_t i = dedicated; i < file->bfreg_count; i++)
		if (i != 0 && file->bfreg_users[i] == 0)
			return i;
	for (uint32_t i = 1; i < dedicated; i++)
		if (best == 0 || file->bfreg_users[i] < file->bfreg_users[best])
			best = i;
	return best;
}

void kern_bfreg_take(struct kern_object *qp, const struct mlx5_ib_create_qp *driver)
{
	if (driver->flags & (MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_BFREG_INDEX))
		return;
	qp->bfreg = choose(qp->file);
	qp->file->bfreg_users[qp->bfreg]++;
}

void kern_bfreg_give(const struct kern_object *qp)
{
	if (qp->bfreg == KERN_NONE)
		return;
	ASSERT(qp->file->bfreg_users[qp->bfreg] != 0);
	qp->file->bfreg_users[qp->bfreg]--;
}

uint32_t kern_bfreg_answer(const struct kern_object *qp)
{
	/* It never rings, but its driver follows the number: the first register's, as the kernel
	 * leaves it [linux mlx5 create_xrc_tgt_qp]. */
	if (qp->qp_type == NIC_QP_XRC_TGT || qp->qp_type == NIC_QP_DCT)
		return 0;
	if (qp->bfreg == KERN_NONE)
		return (uint32_t)BFREG_NONE;
	return qp->bfreg / KERN_BFREGS_PER_PAGE * DRIVER_BFREGS_PER_PAGE +
	       qp->bfreg % KERN_BFREGS_PER_PAGE;
}
