/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - completion channels and async event files, and the records that go to them.
 *
 * A channel's descriptor belongs to the caller of kern; here is who may send to it. A channel lives
 * until the application has closed it and no object names it, or its context closes.
 */
#include "kern/devx.h"
#include "kern/state.h"

#include "base/assert.h"

uint32_t kern_channel_slot(const struct kern_channel *channel)
{
	return (uint32_t)(channel - channel->kern->channels);
}

static struct kern_channel *take_slot(struct kern *kern)
{
	for (uint32_t slot = 0; slot < kern->channel_fresh; slot++)
		if (!kern->channels[slot].file)
			return &kern->channels[slot];
	if (kern->channel_fresh == KERN_CHANNEL_MAX)
		return NULL;
	return &kern->channels[kern->channel_fresh++];
}

/* A new channel of the call's context, in call->new_channel and call->new_fd. */
int kern_channel_create(struct kern_call *call, enum kern_channel_kind kind)
{
	struct kern *kern = call->kern;
	struct kern_channel *channel = take_slot(kern);
	int fd;

	ASSERT(!call->new_channel);
	if (!channel)
		return -EMFILE;
	*channel = (struct kern_channel){.file = call->file, .kern = kern, .kind = (uint8_t)kind};
	fd = kern->env.channel_open(kern->env.ctx, channel);
	if (fd < 0) {
		*channel = (struct kern_channel){.file = NULL};
		return fd;
	}
	call->new_channel = channel;
	call->new_fd = fd;
	return 0;
}

void kern_channel_get(struct kern_channel *channel)
{
	if (channel)
		channel->users++;
}

void kern_call_async(struct kern_call *call, uint16_t attr, struct kern_object *object)
{
	object->async = kern_call_channel(call, attr);
	if (!object->async)
		object->async = call->file->async_default;
	kern_channel_get(object->async);
}

static void free_if_unused(struct kern_channel *channel)
{
	if (channel->released && channel->users == 0)
		*channel = (struct kern_channel){.file = NULL};
}

void kern_channel_put(struct kern_channel *channel)
{
	if (!channel)
		return;
	ASSERT(channel->users != 0);
	channel->users--;
	free_if_unused(channel);
}

void kern_channel_destroy(struct kern_channel *channel)
{
	struct kern *kern = channel->kern;

	ASSERT(channel->users == 0);
	kern_devx_unsubscribe_channel(channel);
	if (channel->file->async_default == channel)
		channel->file->async_default = NULL;
	if (!channel->released)
		kern->env.channel_close(kern->env.ctx, channel);
	*channel = (struct kern_channel){.file = NULL};
}

void kern_channel_release(struct kern_channel *channel)
{
	struct kern_file *file = channel->file;
	const struct kern_env *env = &channel->kern->env;

	ASSERT(file && !channel->released);
	for (uint32_t slot = file->newest; slot != KERN_NONE;) {
		struct kern_object *object = &channel->kern->objects[slot];

		if (object->comp == channel && object->comp_events != 0)
			object->comp_events -=
			    env->channel_withdraw(env->ctx, channel, object->user_handle);
		if (object->async == channel && object->async_events != 0)
			object->async_events -=
			    env->channel_withdraw(env->ctx, channel, object->user_handle);
		slot = object->older;
	}
	if (file->async_default == channel)
		file->async_default = NULL;
	kern_devx_unsubscribe_channel(channel);
	channel->released = true;
	free_if_unused(channel);
}

/* As the kernel looks up a descriptor: not one of ours, of another kind or context: -EBADF. */
int kern_channel_find(struct kern_file *file, int64_t fd, enum kern_channel_kind kind,
		      struct kern_channel **channel)
{
	struct kern *kern = file->kern;
	struct kern_channel *found;

	if (fd < 0 || fd > INT32_MAX)
		return -EBADF;
	found = kern->env.channel_of(kern->env.ctx, (int)fd);
	if (!found || found->file != file || found->released)
		return -EBADF;
	if (found->kind != kind)
		return -EBADF;
	*channel = found;
	return 0;
}

int kern_async_event_alloc(struct kern_call *call)
{
	int error = kern_channel_create(call, KERN_CHANNEL_ASYNC);

	if (!error && !call->file->async_default)
		call->file->async_default = call->new_channel;
	return error;
}

int kern_write_create_comp_channel(struct kern_call *call)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	int error;

	if (!call->file->context)
		return -EINVAL;
	error = kern_channel_create(call, KERN_CHANNEL_COMP);
	if (error)
		return error;
	resp.fd = (uint32_t)call->new_fd;
	return kern_call_write_whole(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---- events -----------------------------------------------------------------------------------
 */

static void send_async(struct kern *kern, struct kern_channel *channel, uint64_t element,
		       uint32_t event)
{
	struct ib_uverbs_async_event_desc record = {.element = element, .event_type = event};

	kern->env.channel_send(kern->env.ctx, channel, &record, sizeof(record));
}

void kern_event_async(struct kern_object *object, uint32_t event)
{
	if (!object->async || object->async->released)
		return;
	object->async_events++;
	send_async(object->file->kern, object->async, object->user_handle, event);
}

static void event_comp(struct kern_object *cq)
{
	const struct kern_env *env = &cq->file->kern->env;
	struct ib_uverbs_comp_event_desc record = {.cq_handle = cq->user_handle};

	if (!cq->comp || cq->comp->released)
		return;
	cq->comp_events++;
	env->channel_send(env->ctx, cq->comp, &record, sizeof(record));
}

/* The async event of what the nic reports, or -1 if it is not one. */
static int async_event_of(enum nic_event_kind kind)
{
	switch (kind) {
	case NIC_EVENT_CQ_ERROR:
		return UV_EVENT_CQ_ERR;
	case NIC_EVENT_QP_FATAL:
		return UV_EVENT_QP_FATAL;
	case NIC_EVENT_QP_REQ_ERR:
		return UV_EVENT_QP_REQ_ERR;
	case NIC_EVENT_QP_ACCESS_ERR:
		return UV_EVENT_QP_ACCESS_ERR;
	case NIC_EVENT_QP_COMM_EST:
		return UV_EVENT_COMM_EST;
	case NIC_EVENT_QP_SQ_DRAINED:
		return UV_EVENT_SQ_DRAINED;
	case NIC_EVENT_QP_LAST_WQE:
		return UV_EVENT_QP_LAST_WQE_REACHED;
	case NIC_EVENT_SRQ_LIMIT:
		return UV_EVENT_SRQ_LIMIT_REACHED;
	case NIC_EVENT_SRQ_ERROR:
		return UV_EVENT_SRQ_ERR;
	case NIC_EVENT_CQ_COMPLETION:
	case NIC_EVENT_DB_AHEAD: /* Counted by the nic; Linux has no event for it. */
		return -1;
	}
	UNREACHABLE();
}

/* What happens to an XRC target every handle of it is told. */
static void event_to_all(struct kern_object *target, uint32_t event)
{
	struct kern_object *objects = target->file->kern->objects;
	struct kern_object *at = target;

	do {
		kern_event_async(at, event);
		at = &objects[at->next_open];
	} while (at != target);
}

void kern_nic_event(struct kern *kern, const struct nic_event *event)
{
	struct kern_object *object;
	int async;

	ASSERT(event->cookie < kern->object_fresh);
	object = &kern->objects[event->cookie];
	if (object->type == KERN_DEVX_OBJ) {
		kern_devx_event(object, event);
		return;
	}
	ASSERT(object->type == KERN_CQ || object->type == KERN_QP || object->type == KERN_SRQ ||
	       object->type == KERN_WQ);
	if (event->kind == NIC_EVENT_CQ_COMPLETION) {
		event_comp(object);
		return;
	}
	async = async_event_of(event->kind);
	if (object->type == KERN_WQ)
		async = event->kind == NIC_EVENT_QP_FATAL ? UV_EVENT_WQ_FATAL : -1;
	if (async < 0)
		return;
	if (object->type == KERN_QP && object->qp_type == NIC_QP_XRC_TGT)
		event_to_all(object, (uint32_t)async);
	else
		kern_event_async(object, (uint32_t)async);
}

void kern_port_event(struct kern *kern, uint32_t ib_event)
{
	for (unsigned int i = 0; i < KERN_FILE_MAX; i++) {
		struct kern_file *file = &kern->files[i];

		if (file->open && file->async_default)
			send_async(kern, file->async_default, KERN_PORT, ib_event);
		if (file->open)
			kern_devx_port_event(file, ib_event);
	}
}
