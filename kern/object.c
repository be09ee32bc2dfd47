/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - the table of objects: slots, handles, who uses whom, destroy.
 *
 * Fresh slots are handed out in order and freed ones are used first, so that memory which no object
 * ever needed is never touched.
 */
#include "kern/devx.h"
#include "kern/state.h"

#include "base/assert.h"
#include "nic/nic_rss.h"

#include <string.h>

uint32_t kern_object_handle(const struct kern_object *object)
{
	return (uint32_t)(object - object->file->kern->objects);
}

static struct kern_object *take_slot(struct kern *kern)
{
	struct kern_object *object;

	if (kern->object_free != KERN_NONE) {
		object = &kern->objects[kern->object_free];
		kern->object_free = object->older;
		return object;
	}
	if (kern->object_fresh == kern->object_count)
		return NULL;
	return &kern->objects[kern->object_fresh++];
}

static void link_newest(struct kern_object *object)
{
	struct kern_file *file = object->file;

	object->newer = KERN_NONE;
	object->older = file->newest;
	if (file->newest != KERN_NONE)
		file->kern->objects[file->newest].newer = kern_object_handle(object);
	file->newest = kern_object_handle(object);
}

struct kern_object *kern_object_create(struct kern_file *file, enum kern_object_type type)
{
	struct kern *kern = file->kern;
	struct kern_object *object = take_slot(kern);

	ASSERT(type != KERN_FREE);
	if (!object)
		return NULL;
	*object = (struct kern_object){.type = type,
				       .file = file,
				       .bfreg = KERN_NONE,
				       .subscriptions = KERN_NONE};
	link_newest(object);
	return object;
}

static void unlink_object(struct kern_object *object)
{
	struct kern_file *file = object->file;
	struct kern_object *objects = file->kern->objects;

	if (object->newer != KERN_NONE)
		objects[object->newer].older = object->older;
	else
		file->newest = object->older;
	if (object->older != KERN_NONE)
		objects[object->older].newer = object->newer;
}

void kern_object_drop(struct kern_object *object)
{
	struct kern *kern = object->file->kern;
	uint32_t slot = kern_object_handle(object);

	ASSERT(object->type != KERN_FREE);
	ASSERT(object->users == 0);
	for (unsigned int i = 0; i < KERN_USES_MAX; i++)
		if (object->uses[i])
			object->uses[i]->users--;
	kern_bfreg_give(object);
	kern_channel_put(object->comp);
	kern_channel_put(object->async);
	kern_devx_unsubscribe_object(object);
	unlink_object(object);
	*object = (struct kern_object){.type = KERN_FREE, .older = kern->object_free};
	kern->object_free = slot;
}

int kern_object_find(struct kern_file *file, uint64_t handle, unsigned int type,
		     struct kern_object **object)
{
	struct kern *kern = file->kern;
	struct kern_object *found;

	/* The kernel takes a negative number for a mistake, not for an unknown handle. */
	if ((int64_t)handle < 0)
		return -EINVAL;
	if (handle >= kern->object_fresh)
		return -ENOENT;
	found = &kern->objects[handle];
	if (found->type == KERN_FREE || found->file != file)
		return -ENOENT;
	if (found->type != type && type != KERN_ANY)
		return -EINVAL;
	*object = found;
	return 0;
}

void kern_object_use(struct kern_object *object, unsigned int place, struct kern_object *used)
{
	ASSERT(!object->uses[place]);
	ASSERT(used->file == object->file);
	object->uses[place] = used;
	used->users++;
}

void kern_object_use_newer(struct kern_object *object, unsigned int place, struct kern_object *used)
{
	ASSERT(object->users == 0);
	object->uses[place]->users--;
	object->uses[place] = NULL;
	unlink_object(object);
	link_newest(object);
	kern_object_use(object, place, used);
}

/* Takes the object away from the nic or from the tables; nothing happened if it fails. */
static int destroy_inner(struct kern *kern, const struct kern_object *object)
{
	switch (object->type) {
	case KERN_PD:
		return nic_pd_destroy(kern->nic, object->number);
	case KERN_CQ:
		return nic_cq_destroy(kern->nic, object->number);
	case KERN_WQ:
		return nic_qp_destroy(kern->nic, object->number);
	case KERN_RWQ_TABLE:
		return kern_rwq_table_destroy(kern, object);
	case KERN_QP:
		if (object->tirn != 0)
			return nic_tir_destroy(kern->nic, object->tirn);
		if (object->qp_type == NIC_QP_XRC_TGT)
			return kern_target_close(kern, object);
		return nic_qp_destroy(kern->nic, object->number);
	case KERN_SRQ:
		return nic_srq_destroy(kern->nic, object->number);
	case KERN_XRCD:
		return kern_xrcd_close(kern, object->number);
	case KERN_MR:
		return kern_mr_destroy(kern, object);
	case KERN_AH:
		kern->ah_count--;
		return 0;
	case KERN_UAR:
	case KERN_VAR:
		kern_uar_free(kern, object->number);
		return 0;
	case KERN_UMEM:
		return 0;
	case KERN_DEVX_OBJ:
		return kern_devx_destroy(kern, object);
	case KERN_MW:
		return nic_mkey_destroy(kern->nic, object->number);
	case KERN_FLOW:
		return nic_rule_destroy(kern->nic, object->number);
	case KERN_DM:
		kern_dm_free(kern, object);
		return 0;
	case KERN_PP:
		kern_pp_free(kern, object->number);
		return 0;
	case KERN_FREE:
		break;
	}
	UNREACHABLE();
}

/* What the application has read: ibv_destroy_* waits until it has acknowledged that many events, so
 * records that it will never see must not count [uverbs.md 4]. */
static uint32_t events_read(struct kern_object *object, struct kern_channel *channel, uint32_t sent)
{
	const struct kern_env *env = &object->file->kern->env;

	if (!channel || channel->released || sent == 0)
		return sent;
	return sent - env->channel_withdraw(env->ctx, channel, object->user_handle);
}

int kern_object_destroy(struct kern_object *object, struct kern_destroyed *destroyed)
{
	struct kern_destroyed events;
	int error;

	if (object->users != 0)
		return -EBUSY;
	error = destroy_inner(object->file->kern, object);
	if (error)
		return error;
	events.comp_events = events_read(object, object->comp, object->comp_events);
	events.async_events = events_read(object, object->async, object->async_events);
	if (destroyed)
		*destroyed = events;
	kern_object_drop(object);
	return 0;
}

int kern_simple_destroy(struct kern_call *call)
{
	/* The methods that end here have one attribute, the handle. */
	ASSERT(call->method->attr_count == 1);
	return kern_object_destroy(call->attrs[0].object, NULL);
}
