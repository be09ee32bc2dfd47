/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/link.c - one NIC, one buffer, one queue pair. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/link.h"
#include "tools/progress.h"

/* A wake-up through the kernel costs about as much as this. */
#define SPIN_NS 5000

int link_open(struct link *link, const char *nic_name, size_t buf_bytes, enum rig_access access)
{
	int err;
	void *buf;

	*link = (struct link){.buf_bytes = buf_bytes};
	err = rig_open(nic_name, &link->nic);
	if (err)
		return err;
	err = rig_nic_info(link->nic, &link->info);
	if (err)
		goto err_close;
	/* Populated: a page fault costs as much as a thousand stores. */
	buf = mmap(NULL, buf_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buf == MAP_FAILED) {
		err = -errno;
		goto err_close;
	}
	link->buf = buf;
	err = rig_region_create(link->nic, buf, buf_bytes, access, &link->region);
	if (err)
		goto err_unmap;
	return 0;
err_unmap:
	munmap(link->buf, buf_bytes);
err_close:
	rig_close(link->nic);
	*link = (struct link){0};
	return err;
}

void link_close(struct link *link)
{
	if (link->nic)
		rig_close(link->nic);
	if (link->buf)
		munmap(link->buf, link->buf_bytes);
	*link = (struct link){0};
}

/* As the library rounds them: a power of two, and a receive ring of at least 4. */
static int round_up(int count)
{
	int rounded = 4;

	while (rounded < count)
		rounded *= 2;
	return rounded;
}

int link_pair(struct link *link, int entries, int receives)
{
	int cqe_count = round_up(entries) + (receives ? round_up(receives) : 0);
	int err = rig_cq_create(link->nic, cqe_count, &link->cq);

	if (err)
		return err;
	err = rig_qp_create(link->cq, entries, receives, &link->qp);
	if (err) {
		rig_cq_destroy(link->cq);
		link->cq = NULL;
	}
	return err;
}

void link_unpair(struct link *link)
{
	if (link->qp)
		rig_qp_destroy(link->qp);
	if (link->cq)
		rig_cq_destroy(link->cq);
	link->qp = NULL;
	link->cq = NULL;
}

/* Sleeps until an event or the time is up. */
static int sleep_on_events(struct link *link, int timeout_ms)
{
	struct rig_event events[8];
	int n = rig_wait(link->nic, timeout_ms, events, 8);

	if (n == -EINTR)
		return 0;
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (events[i].kind == RIG_EVENT_NIC_ERROR)
			return -ENODEV;
	return 0;
}

int link_poll(struct link *link, struct rig_wc *wc, int max, int timeout_ms)
{
	int n = rig_cq_poll(link->cq, wc, max), err;
	uint64_t until_ns;

	if (n || !timeout_ms)
		return n;
	until_ns = progress_now_ns() + SPIN_NS;
	do {
		link_pause();
		n = rig_cq_poll(link->cq, wc, max);
		if (n)
			return n;
	} while (progress_now_ns() < until_ns);
	err = rig_cq_arm(link->cq);
	if (err)
		return err;
	/* What came between the last poll and the arm. */
	n = rig_cq_poll(link->cq, wc, max);
	if (n)
		return n;
	err = sleep_on_events(link, timeout_ms);
	if (err)
		return err;
	return rig_cq_poll(link->cq, wc, max);
}
