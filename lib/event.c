/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c - waiting for completions and for what the kernel reports.
 *
 * Both event files are read under nic->lock, and so is a destroy: the kernel drops the records of
 * an object that it destroys, so a record that was read names an object that lives. The files
 * block, so one is read only when poll says that it has something; nobody else reads them.
 */
#include "lib/lib.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Kinds and words of the kernel's events, by their number [ib_user_verbs.h ib_event_type]. */
static const struct {
	enum rig_event_kind kind;
	bool names_qp;
	const char *words;
} reports[] = {
	[UV_EVENT_CQ_ERR] = {RIG_EVENT_CQ_ERROR, false, "completion queue overran"},
	[UV_EVENT_QP_FATAL] = {RIG_EVENT_QP_ERROR, true, "queue pair failed"},
	[UV_EVENT_QP_REQ_ERR] = {RIG_EVENT_QP_ERROR, true, "queue pair got an invalid request"},
	[UV_EVENT_QP_ACCESS_ERR] = {RIG_EVENT_QP_ERROR, true,
				    "queue pair got a request that its rights forbid"},
	[UV_EVENT_COMM_EST] = {RIG_EVENT_OTHER, true, "communication established"},
	[UV_EVENT_SQ_DRAINED] = {RIG_EVENT_OTHER, true, "send ring drained"},
	[UV_EVENT_PATH_MIG] = {RIG_EVENT_OTHER, true, "path migrated"},
	[UV_EVENT_PATH_MIG_ERR] = {RIG_EVENT_QP_ERROR, true, "path migration failed"},
	[UV_EVENT_DEVICE_FATAL] = {RIG_EVENT_NIC_ERROR, false, "the NIC is gone"},
	[UV_EVENT_PORT_ACTIVE] = {RIG_EVENT_PORT, false, "port is up"},
	[UV_EVENT_PORT_ERR] = {RIG_EVENT_PORT, false, "port is down"},
	[UV_EVENT_LID_CHANGE] = {RIG_EVENT_PORT, false, "port has another LID"},
	[UV_EVENT_PKEY_CHANGE] = {RIG_EVENT_PORT, false, "port has other partition keys"},
	[UV_EVENT_SM_CHANGE] = {RIG_EVENT_PORT, false, "port has another subnet manager"},
	[UV_EVENT_SRQ_ERR] = {RIG_EVENT_SRQ_ERROR, false, "shared receive queue failed"},
	[UV_EVENT_SRQ_LIMIT_REACHED] = {RIG_EVENT_SRQ_LIMIT, false,
					"shared receive queue runs low"},
	[UV_EVENT_QP_LAST_WQE_REACHED] = {RIG_EVENT_OTHER, true, "last receive taken"},
	[UV_EVENT_CLIENT_REREGISTER] = {RIG_EVENT_PORT, false, "port asks to register anew"},
	[UV_EVENT_GID_CHANGE] = {RIG_EVENT_PORT, false, "port has other addresses"},
	[UV_EVENT_WQ_FATAL] = {RIG_EVENT_OTHER, false, "work queue failed"},
};

/* nic_is_gone - polls fail from now on; the caller holds the lock. */
static void nic_is_gone(struct rig_nic *nic)
{
	nic->gone = true;
	for (struct lib_shell *at = nic->cqs; at; at = at->next)
		atomic_store(&lib_cq_of(at)->poll_ready, 0);
}

static void event_of_report(struct rig_nic *nic, const struct ib_uverbs_async_event_desc *desc,
			    struct rig_event *event)
{
	uint32_t code = desc->event_type;
	const char *words = "an event that this library does not know";

	memset(event, 0, sizeof(*event));
	event->kind = RIG_EVENT_OTHER;
	event->code = code;
	if (code < sizeof(reports) / sizeof(reports[0])) {
		event->kind = reports[code].kind;
		words = reports[code].words;
	}
	if (code < sizeof(reports) / sizeof(reports[0]) && reports[code].names_qp) {
		event->qp = rig_qp_number((struct rig_qp *)(uintptr_t)desc->element);
		snprintf(event->text, sizeof(event->text), "%s: 0x%x", words, event->qp);
		return;
	}
	if (event->kind == RIG_EVENT_CQ_ERROR)
		event->cq = (struct rig_cq *)(uintptr_t)desc->element;
	if (event->kind == RIG_EVENT_SRQ_LIMIT || event->kind == RIG_EVENT_SRQ_ERROR)
		event->srq = (struct rig_srq *)(uintptr_t)desc->element;
	if (event->kind == RIG_EVENT_NIC_ERROR)
		nic_is_gone(nic);
	snprintf(event->text, sizeof(event->text), "%.30s: %.60s", nic->name, words);
}

/* readable - whether a read of fd would not block now. */
static bool readable(const struct rig_nic *nic, int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return nic->os->poll(nic->os->ctx, &one, 1, 0) > 0 && one.revents;
}

/* report_take - one report of the kernel; 1, 0 if there is none, or -errno. */
static int report_take(struct rig_nic *nic, struct rig_event *event)
{
	struct ib_uverbs_async_event_desc desc;
	ssize_t got;

	if (!readable(nic, nic->async_fd))
		return 0;
	got = nic->os->read(nic->os->ctx, nic->async_fd, &desc, sizeof(desc));
	if (got == (ssize_t)sizeof(desc)) {
		event_of_report(nic, &desc, event);
		return 1;
	}
	if (got == -EAGAIN || got == -EINTR)
		return 0;
	return lib_fail_reason(got < 0 ? (int)got : EIO, "rig_wait: the event file of %s",
			       nic->name);
}

/* completion_take - one completion event; 1, 0 if there is none, or -errno. */
static int completion_take(struct rig_nic *nic, struct rig_event *event)
{
	struct ib_uverbs_comp_event_desc desc;
	ssize_t got;

	if (!readable(nic, nic->channel_fd))
		return 0;
	got = nic->os->read(nic->os->ctx, nic->channel_fd, &desc, sizeof(desc));
	if (got == -EAGAIN || got == -EINTR)
		return 0;
	if (got != (ssize_t)sizeof(desc))
		return lib_fail_reason(got < 0 ? (int)got : EIO,
				       "rig_wait: the completion channel of %s", nic->name);
	memset(event, 0, sizeof(*event));
	event->kind = RIG_EVENT_COMPLETION;
	event->cq = (struct rig_cq *)(uintptr_t)desc.cq_handle;
	/* The next arm is another one to the NIC: see db_cq_arm_word. */
	atomic_fetch_add_explicit(&event->cq->arm_sn, 1, memory_order_relaxed);
	snprintf(event->text, sizeof(event->text), "a completion queue has a completion");
	return 1;
}

/* events_take - what both files have now, up to max; failures of the NIC before completions. */
static int events_take(struct rig_nic *nic, struct rig_event *events, int max)
{
	int count = 0, ret = 1;

	while (count < max && (ret = report_take(nic, &events[count])) > 0)
		count++;
	while (ret >= 0 && count < max && (ret = completion_take(nic, &events[count])) > 0)
		count++;
	return count ? count : ret;
}

static int events_take_locked(struct rig_nic *nic, struct rig_event *events, int max)
{
	int err = lib_nic_lock(nic, "rig_wait");

	if (err)
		return err;
	err = events_take(nic, events, max);
	lib_nic_unlock(nic);
	return err;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int rig_wait(struct rig_nic *nic, int timeout_ms, struct rig_event *events, int max)
{
	int64_t end_ms = now_ms() + timeout_ms;
	struct pollfd fds[2];
	int64_t left_ms;
	int ret;

	if (!events || max < 1)
		return lib_fail(EINVAL, "rig_wait: %d events to %p", max, (void *)events);
	for (;;) {
		ret = events_take_locked(nic, events, max);
		left_ms = timeout_ms < 0 ? -1 : end_ms - now_ms();
		if (ret || timeout_ms == 0 || (timeout_ms > 0 && left_ms <= 0))
			return ret;
		fds[0] = (struct pollfd){.fd = nic->async_fd, .events = POLLIN};
		fds[1] = (struct pollfd){.fd = nic->channel_fd, .events = POLLIN};
		ret = nic->os->poll(nic->os->ctx, fds, 2, (int)left_ms);
		if (ret < 0)
			return lib_fail_reason(ret, "rig_wait: %s", nic->name);
	}
}

int rig_fd(struct rig_nic *nic)
{
	int err = lib_nic_lock(nic, "rig_fd");

	if (err)
		return err;
	err = nic->epoll_fd;
	lib_nic_unlock(nic);
	return err;
}
