/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uverbs.c - one ioctl: the header, its attributes checked against the method's specs, the handler,
 * and what is undone if it fails.
 *
 * The order of checks, and so the error that a wrong request gets, is that of
 * [linux uverbs_ioctl.c]. The header and each attribute are read once.
 */
#include "kern/methods.h"
#include "kern/state.h"
#include "kern/trace.h"

#include "base/assert.h"

#include <string.h>

enum {
	KERN_IOCTL_BYTES_MAX = 4096,
	KERN_DRIVER_ID = RDMA_DRIVER_MLX5,
};

static const struct kern_attr_spec uhw_specs[] = {
    {.id = UVERBS_ATTR_UHW_IN, .type = KERN_ATTR_IN, .len_max = UINT16_MAX},
    {.id = UVERBS_ATTR_UHW_OUT, .type = KERN_ATTR_OUT, .len_max = UINT16_MAX},
};

/* The spec at a place of call->attrs; NULL past the last. */
static const struct kern_attr_spec *spec_at(const struct kern_method *method, unsigned int place)
{
	if (place < method->attr_count)
		return &method->attrs[place];
	if (method->udata && place - method->attr_count < 2)
		return &uhw_specs[place - method->attr_count];
	return NULL;
}

/* The place of attribute id, or -1. */
static int place_of(const struct kern_method *method, uint16_t id)
{
	const struct kern_attr_spec *spec;

	for (unsigned int place = 0; (spec = spec_at(method, place)); place++)
		if (spec->id == id)
			return (int)place;
	return -1;
}

struct kern_attr *kern_call_attr(struct kern_call *call, uint16_t id)
{
	int place = place_of(call->method, id);

	ASSERT(place >= 0);
	return call->attrs[place].present ? &call->attrs[place] : NULL;
}

struct kern_object *kern_call_object(struct kern_call *call, uint16_t id)
{
	struct kern_attr *attr = kern_call_attr(call, id);

	return attr ? attr->object : NULL;
}

struct kern_channel *kern_call_channel(struct kern_call *call, uint16_t id)
{
	struct kern_attr *attr = kern_call_attr(call, id);

	return attr ? attr->channel : NULL;
}

size_t kern_call_len(struct kern_call *call, uint16_t id)
{
	struct kern_attr *attr = kern_call_attr(call, id);

	return attr ? attr->len : 0;
}

bool kern_user_is_zero(struct kern *kern, uint64_t va, size_t len, int *error)
{
	uint8_t chunk[64];

	for (size_t done = 0; done < len; done += sizeof(chunk)) {
		size_t size = len - done < sizeof(chunk) ? len - done : sizeof(chunk);

		if (!kern->env.user_read(kern->env.ctx, chunk, va + done, size)) {
			*error = -EFAULT;
			return false;
		}
		for (size_t i = 0; i < size; i++) {
			if (chunk[i] != 0) {
				*error = -EOPNOTSUPP;
				return false;
			}
		}
	}
	return true;
}

int kern_user_zero(struct kern *kern, uint64_t va, size_t len)
{
	static const uint8_t zeroes[256];

	for (size_t done = 0; done < len; done += sizeof(zeroes)) {
		size_t size = len - done < sizeof(zeroes) ? len - done : sizeof(zeroes);

		if (!kern->env.user_write(kern->env.ctx, va + done, zeroes, size))
			return -EFAULT;
	}
	return 0;
}

int kern_call_read(struct kern_call *call, uint16_t id, void *dst, size_t size)
{
	struct kern_attr *attr = kern_call_attr(call, id);
	struct kern *kern = call->kern;
	size_t len;

	if (!attr)
		return -ENOENT;
	len = attr->len < size ? attr->len : size;
	memset(dst, 0, size);
	if (attr->len <= UV_INLINE_MAX_BYTES)
		memcpy(dst, &attr->data, len);
	else if (!kern->env.user_read(kern->env.ctx, dst, attr->data, len))
		return -EFAULT;
	return 0;
}

/* 0 if bytes [size, len) of an input attribute are zero, else -EOPNOTSUPP or -EFAULT. */
static int rest_is_zero(struct kern *kern, const struct kern_attr *attr, size_t size)
{
	uint8_t bytes[UV_INLINE_MAX_BYTES];
	int error = 0;

	if (attr->len <= size)
		return 0;
	if (attr->len > UV_INLINE_MAX_BYTES) {
		kern_user_is_zero(kern, attr->data + size, attr->len - size, &error);
		return error;
	}
	memcpy(bytes, &attr->data, sizeof(bytes));
	for (size_t i = size; i < attr->len; i++)
		if (bytes[i] != 0)
			return -EOPNOTSUPP;
	return 0;
}

int kern_call_read_exact(struct kern_call *call, uint16_t id, void *dst, size_t size)
{
	int error = kern_call_read(call, id, dst, size);

	return error ? error : rest_is_zero(call->kern, kern_call_attr(call, id), size);
}

int kern_call_const(struct kern_call *call, uint16_t id, uint64_t max, uint64_t *value)
{
	struct kern_attr *attr = kern_call_attr(call, id);

	if (!attr)
		return -ENOENT;
	if (attr->data > max)
		return -EINVAL;
	*value = attr->data;
	return 0;
}

int kern_call_flags(struct kern_call *call, uint16_t id, uint32_t allowed, uint32_t *value)
{
	struct kern_attr *attr = kern_call_attr(call, id);
	uint64_t flags;

	*value = 0;
	if (!attr)
		return 0;
	if (attr->len != 4 && attr->len != 8)
		return -EINVAL;
	flags = attr->len == 8 ? attr->data : (uint32_t)attr->data;
	if (flags & ~(uint64_t)allowed)
		return -EINVAL;
	*value = (uint32_t)flags;
	return 0;
}

static uint64_t attr_va(const struct kern_call *call, const struct kern_attr *attr)
{
	return call->attrs_va + attr->position * sizeof(struct ib_uverbs_attr);
}

static int mark_valid(struct kern_call *call, const struct kern_attr *attr)
{
	uint16_t flags = attr->flags | UVERBS_ATTR_F_VALID_OUTPUT;
	uint64_t va = attr_va(call, attr) + offsetof(struct ib_uverbs_attr, flags);

	return call->kern->env.user_write(call->kern->env.ctx, va, &flags, sizeof(flags)) ? 0
											  : -EFAULT;
}

int kern_call_write(struct kern_call *call, uint16_t id, const void *src, size_t size)
{
	struct kern_attr *attr = kern_call_attr(call, id);
	struct kern *kern = call->kern;
	const struct kern_attr_spec *spec;
	size_t len;

	if (!attr)
		return 0;
	spec = spec_at(call->method, (unsigned int)(attr - call->attrs));
	len = attr->len < size ? attr->len : size;
	if (len != 0 && !kern->env.user_write(kern->env.ctx, attr->data, src, len))
		return -EFAULT;
	if (spec->flags & KERN_ZERO_TRAILING_F &&
	    kern_user_zero(kern, attr->data + len, attr->len - len))
		return -EFAULT;
	return mark_valid(call, attr);
}

int kern_call_write_whole(struct kern_call *call, uint16_t id, const void *src, size_t size)
{
	struct kern_attr *attr = kern_call_attr(call, id);
	int error = kern_call_write(call, id, src, size);

	if (!error && attr && attr->len > size)
		error = kern_user_zero(call->kern, attr->data + size, attr->len - size);
	return error;
}

/* ---- attributes -------------------------------------------------------------------------------
 */

static int check_bytes(struct kern_call *call, const struct kern_attr_spec *spec,
		       const struct ib_uverbs_attr *user, struct kern_attr *attr)
{
	bool zero_trailing = spec->flags & KERN_ZERO_TRAILING_F;
	int error;

	attr->len = user->len;
	attr->data = user->data;
	if (spec->type == KERN_ATTR_IN && zero_trailing && user->len > spec->len_max) {
		error = rest_is_zero(call->kern, attr, spec->len_max);
		if (error)
			return error == -EFAULT ? -EOPNOTSUPP : error;
	}
	if (user->len < spec->len_min || (!zero_trailing && user->len > spec->len_max))
		return -EINVAL;
	if (user->attr_data.reserved)
		return -EINVAL;
	return 0;
}

static int check_object(struct kern_call *call, const struct kern_attr_spec *spec,
			const struct ib_uverbs_attr *user, struct kern_attr *attr)
{
	if (user->attr_data.reserved || user->len != 0)
		return -EINVAL;
	attr->data = user->data;
	switch ((enum kern_attr_type)spec->type) {
	case KERN_ATTR_OBJECT:
		return kern_object_find(call->file, user->data, spec->object, &attr->object);
	case KERN_ATTR_CHANNEL:
		return kern_channel_find(call->file, user->data_s64, spec->object, &attr->channel);
	case KERN_ATTR_FD:
		return user->data_s64 < INT32_MIN || user->data_s64 > INT32_MAX ? -EINVAL : 0;
	case KERN_ATTR_NEW:
	case KERN_ATTR_NEW_CHANNEL:
		return call->file->context ? 0 : -EINVAL;
	case KERN_ATTR_IN:
	case KERN_ATTR_OUT:
		break;
	}
	UNREACHABLE();
}

static int take_attr(struct kern_call *call, unsigned int position)
{
	struct kern *kern = call->kern;
	struct ib_uverbs_attr user;
	const struct kern_attr_spec *spec;
	struct kern_attr *attr;
	int place, error;

	if (!kern->env.user_read(kern->env.ctx, &user, call->attrs_va + position * sizeof(user),
				 sizeof(user)))
		return -EFAULT;
	place = place_of(call->method, user.attr_id);
	if (place < 0)
		return user.flags & UVERBS_ATTR_F_MANDATORY ? -EPROTONOSUPPORT : 0;
	spec = spec_at(call->method, (unsigned int)place);
	attr = &call->attrs[place];
	if (attr->present)
		return -EINVAL;
	attr->position = (uint16_t)position;
	attr->flags = user.flags;
	if (spec->type == KERN_ATTR_IN || spec->type == KERN_ATTR_OUT)
		error = check_bytes(call, spec, &user, attr);
	else
		error = check_object(call, spec, &user, attr);
	attr->present = !error;
	return error;
}

static int take_attrs(struct kern_call *call, unsigned int count)
{
	for (unsigned int position = 0; position < count; position++) {
		int error = take_attr(call, position);

		if (error)
			return error;
	}
	for (unsigned int place = 0; place < call->method->attr_count; place++)
		if (call->method->attrs[place].flags & KERN_MANDATORY_F &&
		    !call->attrs[place].present)
			return -EINVAL;
	return 0;
}

/* ---- the call ---------------------------------------------------------------------------------
 */

/* Writes the handle or descriptor of what the call made where the application looks for it. */
static int return_new(struct kern_call *call)
{
	const struct kern_method *method = call->method;
	struct kern *kern = call->kern;

	for (unsigned int place = 0; place < method->attr_count; place++) {
		uint8_t type = method->attrs[place].type;
		uint64_t value, va;

		if (type != KERN_ATTR_NEW && type != KERN_ATTR_NEW_CHANNEL)
			continue;
		if (type == KERN_ATTR_NEW)
			value = kern_object_handle(call->new_object);
		else
			value = (uint64_t)call->new_fd;
		va = attr_va(call, &call->attrs[place]) + offsetof(struct ib_uverbs_attr, data);
		if (!kern->env.user_write(kern->env.ctx, va, &value, sizeof(value)))
			return -EFAULT;
	}
	return 0;
}

static int finish(struct kern_call *call)
{
	int error = return_new(call);

	if (!error && call->method->udata) {
		struct kern_attr *out = kern_call_attr(call, UVERBS_ATTR_UHW_OUT);

		if (out)
			error = mark_valid(call, out);
	}
	return error;
}

static void undo(struct kern_call *call)
{
	if (call->new_object) {
		int error = kern_object_destroy(call->new_object, NULL);

		ASSERT(!error);
	}
	if (call->new_channel)
		kern_channel_destroy(call->new_channel);
}

/* A call whose header is good. */
static int carry_out(struct kern_call *call, unsigned int attr_count, struct trace_verb *verb)
{
	bool traced = call->kern->env.trace;
	int error = call->method ? take_attrs(call, attr_count) : -EPROTONOSUPPORT;

	if (traced && call->method)
		kern_trace_asked(call, verb);
	if (!error)
		error = call->method->handler(call);
	if (!error)
		error = finish(call);
	if (traced)
		kern_trace_done(call, verb, error);
	if (error)
		undo(call);
	return error;
}

int kern_ioctl(struct kern_file *file, unsigned long request, uint64_t arg, uint64_t now_ns)
{
	struct kern *kern = file->kern;
	struct kern_call call = {.kern = kern, .file = file, .now_ns = now_ns};
	struct ib_uverbs_ioctl_hdr hdr;
	struct trace_verb verb = {.name = NULL};

	ASSERT(file->open);
	kern->now_ns = now_ns;
	if (request != RDMA_VERBS_IOCTL)
		return -ENOTTY;
	if (!kern->env.user_read(kern->env.ctx, &hdr, arg, sizeof(hdr)))
		return -EFAULT;
	if (hdr.length > KERN_IOCTL_BYTES_MAX || hdr.length != uv_hdr_bytes(hdr.num_attrs))
		return -EINVAL;
	if (hdr.reserved1 || hdr.reserved2)
		return -EPROTONOSUPPORT;
	if (hdr.driver_id != KERN_DRIVER_ID)
		return -EINVAL;
	call.method = kern_method_find(hdr.object_id, hdr.method_id);
	call.attrs_va = arg + sizeof(hdr);
	verb.object = hdr.object_id;
	verb.method = hdr.method_id;
	return carry_out(&call, hdr.num_attrs, &verb);
}
