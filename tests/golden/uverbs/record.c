/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record.c - writes down each verbs call that a program makes, to the file that RECORD names;
 * README.md says how it is used and what a line means.
 *
 * Which attributes are outputs the kernel says only afterwards, by a mark. Those that have been seen
 * are kept in the file that RECORD_OUTPUTS names, and in later runs filled with 0xee before a call, so
 * that it shows how much a call writes: so a program is recorded twice.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>

enum {
	FILL = 0xee,
	ATTRS_MAX = 64,
	BYTES_MAX = 8192,
	INLINE_MAX = 8,
	SHOWN_MAX = 16, /* bytes of an output that are written down */
	OUTPUTS_MAX = 256,
};

struct output {
	unsigned int object, method, attr;
};

static struct output outputs[OUTPUTS_MAX];
static unsigned int output_count;
static FILE *record, *outputs_file;

static int is_output(const struct ib_uverbs_ioctl_hdr *hdr, unsigned int attr)
{
	for (unsigned int i = 0; i < output_count; i++)
		if (outputs[i].object == hdr->object_id && outputs[i].method == hdr->method_id &&
		    outputs[i].attr == attr)
			return 1;
	return 0;
}

/* A request may have its answer in the very place of an input: that one cannot be filled. */
static int is_shared(const struct ib_uverbs_ioctl_hdr *hdr, unsigned int at)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (i != at && hdr->attrs[i].len != 0 && hdr->attrs[i].data == hdr->attrs[at].data)
			return 1;
	return 0;
}

static void note_output(const struct ib_uverbs_ioctl_hdr *hdr, unsigned int attr)
{
	if (is_output(hdr, attr) || output_count == OUTPUTS_MAX)
		return;
	outputs[output_count++] = (struct output){hdr->object_id, hdr->method_id, attr};
	fprintf(outputs_file, "%u %u %u\n", hdr->object_id, hdr->method_id, attr);
	fflush(outputs_file);
}

static int start(void)
{
	struct output one;

	if (record)
		return 1;
	if (!getenv("RECORD") || !getenv("RECORD_OUTPUTS"))
		return 0;
	record = fopen(getenv("RECORD"), "a");
	outputs_file = fopen(getenv("RECORD_OUTPUTS"), "a+");
	if (!record || !outputs_file)
		abort();
	rewind(outputs_file);
	while (output_count < OUTPUTS_MAX &&
	       fscanf(outputs_file, "%u %u %u", &one.object, &one.method, &one.attr) == 3)
		outputs[output_count++] = one;
	return 1;
}

static void hex(const unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(record, "%02x", bytes[i]);
}

/* What the call left alone behind the last byte that it wrote gets its old bytes back. */
static void show_output(const struct ib_uverbs_attr *attr, const unsigned char *old)
{
	unsigned char *now = (unsigned char *)attr->data;
	size_t end = attr->len;

	while (end > 0 && now[end - 1] == FILL)
		end--;
	fprintf(record, " out %zu ", end);
	hex(now, end < SHOWN_MAX ? end : SHOWN_MAX);
	memcpy(now + end, old + end, attr->len - end);
}

static void show_attr(const struct ib_uverbs_ioctl_hdr *hdr, unsigned int i,
		      const struct ib_uverbs_attr *before, const unsigned char *old)
{
	const struct ib_uverbs_attr *attr = &hdr->attrs[i];

	fprintf(record, " %u %u %u", attr->attr_id, before->flags, attr->len);
	if (attr->len == 0) {
		fprintf(record, " is %lld %lld", (long long)before->data, (long long)attr->data);
	} else if (attr->flags & UVERBS_ATTR_F_VALID_OUTPUT || is_output(hdr, attr->attr_id)) {
		show_output(attr, old);
	} else if (attr->len <= INLINE_MAX) {
		fprintf(record, " is %llu", (unsigned long long)before->data);
	} else {
		fprintf(record, " in ");
		hex((const unsigned char *)attr->data, attr->len);
	}
	fprintf(record, "\n");
	if (attr->len != 0 && attr->flags & UVERBS_ATTR_F_VALID_OUTPUT)
		note_output(hdr, attr->attr_id);
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	static unsigned char old[ATTRS_MAX][BYTES_MAX];
	struct ib_uverbs_attr before[ATTRS_MAX];
	struct ib_uverbs_ioctl_hdr *hdr;
	va_list args;
	int result, error;

	va_start(args, request);
	hdr = va_arg(args, void *);
	va_end(args);
	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if (request != RDMA_VERBS_IOCTL || !start())
		return next(fd, request, hdr);
	for (unsigned int i = 0; i < hdr->num_attrs; i++) {
		before[i] = hdr->attrs[i];
		if (before[i].len == 0 || !is_output(hdr, before[i].attr_id))
			continue;
		memcpy(old[i], (const void *)before[i].data, before[i].len);
		if (!is_shared(hdr, i))
			memset((void *)before[i].data, FILL, before[i].len);
	}
	result = next(fd, request, hdr);
	error = errno;
	fprintf(record, "call %u %u %d\n", hdr->object_id, hdr->method_id, result ? error : 0);
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		show_attr(hdr, i, &before[i], old[i]);
	fflush(record);
	errno = error;
	return result;
}
