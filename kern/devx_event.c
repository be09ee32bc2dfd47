/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_event.c - the channels of DevX, and events of objects and of the port to whoever subscribed.
 *
 * A record is the subscriber's cookie and, unless its channel omits data, the entry that a card
 * would have written into its event queue [linux mlx5 devx.c]. Events that are not read yet are not
 * merged: each is a record of its own.
 */
#include "kern/devx.h"

#include "base/assert.h"

#include <string.h>

enum {
	SUBSCRIPTIONS_MAX = 131072,
	EVENTS_PER_CALL_MAX = 16,
};

struct kern_subscription {
	struct kern_channel *channel; /* NULL: a free one */
	uint64_t cookie;
	uint32_t object; /* its slot, or KERN_NONE: events of the port */
	uint32_t next;   /* of the same object; of a free one: the next free one */
	uint16_t event;
};

size_t kern_devx_subscription_bytes(void)
{
	return SUBSCRIPTIONS_MAX * sizeof(struct kern_subscription);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Where the list that a subscription hangs on starts. */
static uint32_t *head_of(struct kern *kern, const struct kern_subscription *sub)
{
	if (sub->object == KERN_NONE)
		return &sub->channel->file->subscriptions;
	return &kern->objects[sub->object].subscriptions;
}

static bool has_room(const struct kern *kern, unsigned int count)
{
	uint32_t fresh = SUBSCRIPTIONS_MAX - kern->subscription_fresh;

	for (uint32_t i = kern->subscription_free; i != KERN_NONE && fresh < count;
	     i = kern->subscriptions[i].next)
		fresh++;
	return fresh >= count;
}

static void add(struct kern *kern, const struct kern_subscription *sub)
{
	uint32_t at = kern->subscription_free;
	uint32_t *head = head_of(kern, sub);

	if (at != KERN_NONE)
		kern->subscription_free = kern->subscriptions[at].next;
	else
		at = kern->subscription_fresh++;
	ASSERT(at < SUBSCRIPTIONS_MAX);
	kern->subscriptions[at] = *sub;
	kern->subscriptions[at].next = *head;
	*head = at;
}

/* Takes the subscription that *link leads to out of its list. */
static void cut(struct kern *kern, uint32_t *link)
{
	uint32_t at = *link;
	struct kern_subscription *sub = &kern->subscriptions[at];

	*link = sub->next;
	*sub = (struct kern_subscription){.channel = NULL, .next = kern->subscription_free};
	kern->subscription_free = at;
}

void kern_devx_unsubscribe_object(struct kern_object *object)
{
	while (object->subscriptions != KERN_NONE)
		cut(object->file->kern, &object->subscriptions);
}

void kern_devx_unsubscribe_channel(const struct kern_channel *channel)
{
	struct kern *kern = channel->kern;

	if (channel->kind != KERN_CHANNEL_DEVX_EVENT)
		return;
	for (uint32_t at = 0; at < kern->subscription_fresh; at++) {
		uint32_t *link;

		if (kern->subscriptions[at].channel != channel)
			continue;
		link = head_of(kern, &kern->subscriptions[at]);
		while (*link != at)
			link = &kern->subscriptions[*link].next;
		cut(kern, link);
	}
}

/* ---- channels -------------------------------------------------------------------------------- */

int kern_devx_async_cmd_fd_alloc(struct kern_call *call)
{
	return kern_channel_create(call, KERN_CHANNEL_DEVX_CMD);
}

int kern_devx_async_event_fd_alloc(struct kern_call *call)
{
	uint32_t flags;
	int error = kern_call_flags(call, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS,
				    MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA, &flags);

	if (!error)
		error = kern_channel_create(call, KERN_CHANNEL_DEVX_EVENT);
	if (!error)
		call->new_channel->omit_data = flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA;
	return error;
}

/* ---- subscribing ----------------------------------------------------------------------------- */

/* [linux mlx5 devx.c is_legacy_obj_event_num] */
static bool is_object_event(uint16_t event)
{
	switch (event) {
	case CMD_EVENT_COMP:
	case CMD_EVENT_PATH_MIG:
	case CMD_EVENT_COMM_EST:
	case CMD_EVENT_SQ_DRAINED:
	case CMD_EVENT_CQ_ERROR:
	case CMD_EVENT_WQ_CATAS_ERROR:
	case CMD_EVENT_PATH_MIG_FAILED:
	case CMD_EVENT_WQ_INVAL_REQ_ERROR:
	case CMD_EVENT_WQ_ACCESS_ERROR:
	case CMD_EVENT_SRQ_CATAS_ERROR:
	case CMD_EVENT_LAST_WQE:
	case CMD_EVENT_SRQ_LIMIT:
	case CMD_EVENT_XRQ_ERROR:
	case CMD_EVENT_DCT_DRAINED:
	case CMD_EVENT_DCT_KEY_VIOLATION:
		return true;
	default:
		return false;
	}
}

/* The events of the call: how many, or -errno. */
static int read_events(struct kern_call *call, const struct kern_object *object,
		       uint16_t events[static EVENTS_PER_CALL_MAX])
{
	const uint16_t attr = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST;
	size_t len = kern_call_len(call, attr);
	unsigned int count = (unsigned int)(len / sizeof(uint16_t));
	int error;

	if (len % sizeof(uint16_t) != 0 || count > EVENTS_PER_CALL_MAX)
		return -EINVAL;
	error = kern_call_read(call, attr, events, len);
	if (error)
		return error;
	for (unsigned int i = 0; i < count; i++)
		if (object ? !is_object_event(events[i]) : events[i] != CMD_EVENT_PORT_CHANGE)
			return -EINVAL;
	return (int)count;
}

/* Telling an eventfd instead of the channel is not offered. */
static int read_cookie(struct kern_call *call, uint64_t *cookie)
{
	bool to_eventfd = kern_call_attr(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM);

	*cookie = 0;
	if (!kern_call_attr(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE))
		return to_eventfd ? -EOPNOTSUPP : 0;
	if (to_eventfd)
		return -EINVAL;
	return kern_call_read(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie,
			      sizeof(*cookie));
}

int kern_devx_subscribe_event(struct kern_call *call)
{
	struct kern_object *object =
	    kern_call_object(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	struct kern_subscription sub = {
	    .channel = kern_call_channel(call, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE),
	    .object = object ? kern_object_handle(object) : KERN_NONE,
	};
	uint16_t events[EVENTS_PER_CALL_MAX];
	int count, error;

	if (!call->file->devx)
		return -EINVAL;
	error = read_cookie(call, &sub.cookie);
	if (error)
		return error;
	count = read_events(call, object, events);
	if (count < 0)
		return count;
	if (!has_room(call->kern, (unsigned int)count))
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		sub.event = events[i];
		add(call->kern, &sub);
	}
	return 0;
}

/* ---- delivering ------------------------------------------------------------------------------ */

struct record {
	uint64_t cookie;
	uint8_t eqe[CMD_EQE_BYTES];
};

static void deliver(struct kern *kern, uint32_t list, struct record *record)
{
	const struct kern_env *env = &kern->env;
	uint32_t event = cmd_get(record->eqe, CMD_EQE_TYPE);

	for (uint32_t at = list; at != KERN_NONE; at = kern->subscriptions[at].next) {
		const struct kern_subscription *sub = &kern->subscriptions[at];

		if (sub->event != event)
			continue;
		record->cookie = sub->cookie;
		env->channel_send(env->ctx, sub->channel, record,
				  sub->channel->omit_data ? sizeof(record->cookie)
							  : sizeof(*record));
	}
}

/* The event's type as a card numbers it; -1: it has none. */
static int type_of(enum nic_event_kind kind)
{
	switch (kind) {
	case NIC_EVENT_CQ_COMPLETION:
		return CMD_EVENT_COMP;
	case NIC_EVENT_CQ_ERROR:
		return CMD_EVENT_CQ_ERROR;
	case NIC_EVENT_QP_FATAL:
		return CMD_EVENT_WQ_CATAS_ERROR;
	case NIC_EVENT_QP_REQ_ERR:
		return CMD_EVENT_WQ_INVAL_REQ_ERROR;
	case NIC_EVENT_QP_ACCESS_ERR:
		return CMD_EVENT_WQ_ACCESS_ERROR;
	case NIC_EVENT_QP_COMM_EST:
		return CMD_EVENT_COMM_EST;
	case NIC_EVENT_QP_SQ_DRAINED:
		return CMD_EVENT_SQ_DRAINED;
	case NIC_EVENT_QP_LAST_WQE:
		return CMD_EVENT_LAST_WQE;
	case NIC_EVENT_SRQ_LIMIT:
		return CMD_EVENT_SRQ_LIMIT;
	case NIC_EVENT_SRQ_ERROR:
		return CMD_EVENT_SRQ_CATAS_ERROR;
	case NIC_EVENT_DB_AHEAD:
		return -1;
	}
	UNREACHABLE();
}

void kern_devx_event(const struct kern_object *object, const struct nic_event *event)
{
	struct record record = {.cookie = 0};
	int type = type_of(event->kind);

	if (type < 0 || object->subscriptions == KERN_NONE)
		return;
	cmd_set(record.eqe, CMD_EQE_TYPE, (uint32_t)type);
	if (type == CMD_EVENT_COMP) {
		cmd_set(record.eqe, CMD_EQE_COMP_CQN, object->number);
	} else if (type == CMD_EVENT_CQ_ERROR) {
		cmd_set(record.eqe, CMD_EQE_CQ_ERR_CQN, object->number);
		cmd_set(record.eqe, CMD_EQE_CQ_ERR_SYNDROME,
			event->overrun ? CMD_EQE_CQ_ERR_OVERRUN : CMD_EQE_CQ_ERR_ACCESS);
	} else {
		cmd_set(record.eqe, CMD_EQE_QP_SRQ_N, object->number);
		cmd_set(record.eqe, CMD_EQE_QP_TYPE,
			object->devx_opcode == CMD_CREATE_RQ ? CMD_EQE_QUEUE_RQ : CMD_EQE_QUEUE_QP);
	}
	deliver(object->file->kern, object->subscriptions, &record);
}

void kern_devx_port_event(const struct kern_file *file, uint32_t ib_event)
{
	struct record record = {.cookie = 0};

	if (ib_event != UV_EVENT_PORT_ACTIVE && ib_event != UV_EVENT_PORT_ERR)
		return;
	cmd_set(record.eqe, CMD_EQE_TYPE, CMD_EVENT_PORT_CHANGE);
	cmd_set(record.eqe, CMD_EQE_SUBTYPE,
		ib_event == UV_EVENT_PORT_ACTIVE ? CMD_EQE_PORT_ACTIVE : CMD_EQE_PORT_DOWN);
	cmd_set(record.eqe, CMD_EQE_PORT, KERN_PORT);
	deliver(file->kern, file->subscriptions, &record);
}
