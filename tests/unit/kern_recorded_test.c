/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows that each call that releases of rdma-core make, in their order, is answered as when it was
 * recorded: with the same error, the same outputs marked as written, and as many bytes in them.
 * By making the calls of tests/golden/uverbs again; README.md there says what its lines mean.
 * Handles, descriptors and register pages that calls gave out are replaced by those that they give
 * out now, and the application's memory by the rig's.
 */
#include "kern/methods.h"
#include "tests/support/kern_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	ATTRS_MAX = 24,
	BYTES_MAX = 512, /* of a recorded input */
	SHOWN_MAX = 16,  /* of an output */
	NAMES_MAX = 256,
	FILL = 0xee,              /* what rig_out fills with */
	MEMORY_BYTES = 36 * 1024, /* the largest ring has 32 */
	PAGE_BYTES = 4096,
	RIG_FILE_FD = 500, /* a file, to the rig */
};

struct line {
	unsigned int id, flags, len;
	enum { LINE_IS, LINE_IN, LINE_OUT } form;
	uint64_t before, after; /* of LINE_IS; after: objects and descriptors only */
	unsigned int out_len;
	uint8_t bytes[BYTES_MAX]; /* of LINE_IN, and the first ones of LINE_OUT */
	void *out;                /* where the rig has it */
};

struct call {
	unsigned int object, method, error;
	unsigned int count;
	struct line lines[ATTRS_MAX];
};

/* Numbers as recorded, and as they are now. */
struct names {
	unsigned int count;
	uint64_t was[NAMES_MAX], is[NAMES_MAX];
};

static struct world {
	struct kern_rig rig;
	struct names handles, fds, pages;
	struct call call;
	uint64_t region; /* of the call that is made */
	unsigned int line_number;
} world;

static void learn(struct names *names, uint64_t was, uint64_t is)
{
	assert_true(names->count < NAMES_MAX);
	names->was[names->count] = was;
	names->is[names->count++] = is;
}

/* The last one that was given out under that number. */
static uint64_t now_called(const struct names *names, uint64_t was)
{
	for (unsigned int i = names->count; i-- > 0;)
		if (names->was[i] == was)
			return names->is[i];
	return was;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static FILE *open_golden(const char *name)
{
	const char *root = getenv("RIG5_SOURCE_DIR");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/golden/uverbs/%s", root ? root : ".", name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("cannot open %s", path);
	return file;
}

static void read_hex(const char *text, uint8_t *bytes, size_t size)
{
	size_t count = strspn(text, "0123456789abcdef") / 2;

	assert_true(count <= size);
	for (size_t i = 0; i < count; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(text + 2 * i, "%2x", &byte), 1);
		bytes[i] = (uint8_t)byte;
	}
}

static void read_line(const char *text)
{
	struct line *line = &world.call.lines[world.call.count++];
	char form[4];
	int at = 0, more = 0;

	assert_true(world.call.count <= ATTRS_MAX);
	memset(line, 0, sizeof(*line));
	assert_int_equal(
	    sscanf(text, " %u %u %u %3s %n", &line->id, &line->flags, &line->len, form, &at), 4);
	if (strcmp(form, "is") == 0) {
		line->form = LINE_IS;
		line->before = strtoull(text + at, NULL, 10);
		if (sscanf(text + at, "%*s %n", &more) == 0 && more != 0)
			line->after = strtoull(text + at + more, NULL, 10);
	} else if (strcmp(form, "in") == 0) {
		line->form = LINE_IN;
		assert_true(line->len <= BYTES_MAX);
		read_hex(text + at, line->bytes, BYTES_MAX);
	} else {
		assert_string_equal(form, "out");
		line->form = LINE_OUT;
		assert_int_equal(sscanf(text + at, "%u %n", &line->out_len, &more), 1);
		read_hex(text + at + more, line->bytes, SHOWN_MAX);
	}
}

/* ---- what is replaced -------------------------------------------------------------------------
 */

enum kind { RING, RECORD, REGION, FILE_FD, HANDLE, PAGE16, PAGE32 };

/* Fields of inputs that name something; of INVOKE_WRITE by command, whose number is `method`. */
static const struct field {
	unsigned int object, method, attr;
	size_t offset;
	enum kind kind;
} fields[] = {
#define DRIVER(object_, method_, type_, field_, kind_)                                      \
	{                                                                                   \
		object_, method_, UVERBS_ATTR_UHW_IN, offsetof(struct type_, field_), kind_ \
	}
#define COMMAND(cmd_, type_, field_, kind_)                                                      \
	{                                                                                        \
		UVERBS_OBJECT_DEVICE, cmd_, UVERBS_ATTR_CORE_IN, offsetof(struct type_, field_), \
		    kind_                                                                        \
	}
    DRIVER(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, mlx5_ib_create_cq, buf_addr, RING),
    DRIVER(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, mlx5_ib_create_cq, db_addr, RECORD),
    DRIVER(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, mlx5_ib_create_cq, uar_page_index, PAGE16),
    DRIVER(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, mlx5_ib_create_qp, buf_addr, RING),
    DRIVER(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, mlx5_ib_create_qp, db_addr, RECORD),
    DRIVER(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, mlx5_ib_create_qp, bfreg_index, PAGE32),
    DRIVER(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, mlx5_ib_create_srq, buf_addr, RING),
    DRIVER(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, mlx5_ib_create_srq, db_addr, RECORD),
    {UVERBS_OBJECT_MR, UV_METHOD_REG_MR, UV_ATTR_REG_MR_ADDR, 0, REGION},
    {UVERBS_OBJECT_MR, UV_METHOD_REG_MR, UV_ATTR_REG_MR_IOVA, 0, REGION},
    COMMAND(IB_USER_VERBS_CMD_REG_MR, ib_uverbs_reg_mr, start, REGION),
    COMMAND(IB_USER_VERBS_CMD_REG_MR, ib_uverbs_reg_mr, hca_va, REGION),
    COMMAND(IB_USER_VERBS_CMD_REG_MR, ib_uverbs_reg_mr, pd_handle, HANDLE),
    COMMAND(IB_USER_VERBS_CMD_OPEN_XRCD, ib_uverbs_open_xrcd, fd, FILE_FD),
    COMMAND(IB_USER_VERBS_CMD_CREATE_AH, ib_uverbs_create_ah, pd_handle, HANDLE),
    COMMAND(IB_USER_VERBS_CMD_MODIFY_QP, ib_uverbs_modify_qp, qp_handle, HANDLE),
    COMMAND(IB_USER_VERBS_CMD_QUERY_QP, ib_uverbs_query_qp, qp_handle, HANDLE),
    COMMAND(IB_USER_VERBS_CMD_QUERY_SRQ, ib_uverbs_query_srq, srq_handle, HANDLE),
    COMMAND(IB_USER_VERBS_CMD_MODIFY_SRQ, ib_uverbs_modify_srq, srq_handle, HANDLE),
};

static bool is_write(void)
{
	return world.call.object == UVERBS_OBJECT_DEVICE &&
	       world.call.method == UVERBS_METHOD_INVOKE_WRITE;
}

/* The method, or the command. */
static unsigned int what_is_asked(void)
{
	if (!is_write())
		return world.call.method;
	for (unsigned int i = 0; i < world.call.count; i++)
		if (world.call.lines[i].id == UVERBS_ATTR_WRITE_CMD)
			return (unsigned int)world.call.lines[i].before;
	fail_msg("no command");
	return 0;
}

static uint64_t new_memory(void)
{
	uint64_t va = rig_va(rig_alloc(&world.rig, MEMORY_BYTES + PAGE_BYTES));

	return (va + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

static void replace(const struct field *field, uint8_t *bytes)
{
	uint64_t value64;
	uint32_t value32;
	uint16_t value16;

	switch (field->kind) {
	case REGION: /* the same for its address and for what it is called on the wire */
		if (world.region == 0)
			world.region = new_memory();
		memcpy(bytes, &world.region, sizeof(world.region));
		return;
	case RING:
	case RECORD:
		value64 = field->kind == RING ? new_memory() : rig_va(rig_alloc(&world.rig, 64));
		memcpy(bytes, &value64, sizeof(value64));
		return;
	case FILE_FD:
		value32 = RIG_FILE_FD;
		memcpy(bytes, &value32, sizeof(value32));
		return;
	case PAGE16:
		memcpy(&value16, bytes, sizeof(value16));
		value16 = (uint16_t)now_called(&world.pages, value16);
		memcpy(bytes, &value16, sizeof(value16));
		return;
	case HANDLE:
	case PAGE32:
		memcpy(&value32, bytes, sizeof(value32));
		value32 = (uint32_t)now_called(
		    field->kind == HANDLE ? &world.handles : &world.pages, value32);
		memcpy(bytes, &value32, sizeof(value32));
		return;
	}
}

static void replace_all(unsigned int attr, uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].object == world.call.object && fields[i].method == what_is_asked() &&
		    fields[i].attr == attr && fields[i].offset < len)
			replace(&fields[i], bytes + fields[i].offset);
}

/* ---- calling ----------------------------------------------------------------------------------
 */

static enum kern_attr_type type_of(const struct line *line)
{
	const struct kern_method *method =
	    kern_method_find((uint16_t)world.call.object, (uint16_t)world.call.method);

	for (unsigned int i = 0; method && i < method->attr_count; i++)
		if (method->attrs[i].id == line->id)
			return (enum kern_attr_type)method->attrs[i].type;
	return line->form == LINE_OUT ? KERN_ATTR_OUT : KERN_ATTR_IN;
}

static struct ib_uverbs_attr *give_input(struct line *line)
{
	uint64_t value = line->before;
	void *copy;

	if (line->len <= UV_INLINE_MAX_BYTES) {
		replace_all(line->id, (uint8_t *)&value, sizeof(value));
		return rig_attr(&world.rig, (uint16_t)line->id, value, (uint16_t)line->len);
	}
	replace_all(line->id, line->bytes, line->len);
	copy = rig_alloc(&world.rig, line->len);
	memcpy(copy, line->bytes, line->len);
	return rig_attr(&world.rig, (uint16_t)line->id, rig_va(copy), (uint16_t)line->len);
}

static void give(struct line *line)
{
	struct kern_rig *rig = &world.rig;
	struct ib_uverbs_attr *attr = NULL;

	switch (type_of(line)) {
	case KERN_ATTR_OUT:
		line->out = rig_out(rig, (uint16_t)line->id, (uint16_t)line->len);
		attr = &rig->attrs[rig->hdr->num_attrs - 1];
		break;
	case KERN_ATTR_OBJECT:
		attr =
		    rig_attr(rig, (uint16_t)line->id, now_called(&world.handles, line->before), 0);
		break;
	case KERN_ATTR_CHANNEL:
		attr = rig_attr(rig, (uint16_t)line->id, now_called(&world.fds, line->before), 0);
		break;
	case KERN_ATTR_IN:
		attr = give_input(line);
		break;
	case KERN_ATTR_FD:
	case KERN_ATTR_NEW:
	case KERN_ATTR_NEW_CHANNEL:
		attr = rig_attr(rig, (uint16_t)line->id, line->before, 0);
		break;
	}
	attr->flags = (uint16_t)line->flags;
}

/* What the call gave out, here and when it was recorded. */
static void learn_from(const struct line *line)
{
	uint32_t was, is;

	enum kern_attr_type type = type_of(line);

	if (type == KERN_ATTR_NEW)
		learn(&world.handles, line->after, rig_data(&world.rig, (uint16_t)line->id));
	else if (type == KERN_ATTR_NEW_CHANNEL)
		learn(&world.fds, line->after, rig_data(&world.rig, (uint16_t)line->id));
	if (line->form != LINE_OUT || line->out_len < sizeof(was))
		return;
	memcpy(&was, line->bytes, sizeof(was));
	memcpy(&is, line->out, sizeof(is));
	if (world.call.object == MLX5_IB_OBJECT_UAR &&
	    line->id == MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID)
		learn(&world.pages, was, is);
	if (!is_write() || line->id != UVERBS_ATTR_CORE_OUT)
		return;
	switch (what_is_asked()) {
	case IB_USER_VERBS_CMD_ALLOC_PD:
	case IB_USER_VERBS_CMD_REG_MR:
	case IB_USER_VERBS_CMD_CREATE_AH:
	case IB_USER_VERBS_CMD_OPEN_XRCD:
		learn(&world.handles, was, is);
		break;
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		learn(&world.fds, was, is);
		break;
	default:
		break;
	}
}

static unsigned int written(const struct line *line)
{
	const uint8_t *bytes = line->out;
	unsigned int len = line->len;

	while (len > 0 && bytes[len - 1] == FILL)
		len--;
	return len;
}

static void compare(const struct line *line)
{
	unsigned int len = written(line);

	if (len != line->out_len)
		fail_msg("line %u: attribute %u: %u bytes written, recorded %u", world.line_number,
			 line->id, len, line->out_len);
	if (world.call.error == 0 && len != 0 && !rig_is_valid(&world.rig, (uint16_t)line->id))
		fail_msg("line %u: attribute %u is not marked", world.line_number, line->id);
}

static void make_call(void)
{
	int error;

	if (world.call.count == 0)
		return;
	world.region = 0;
	rig_call(&world.rig, (uint16_t)world.call.object, (uint16_t)world.call.method);
	for (unsigned int i = 0; i < world.call.count; i++)
		give(&world.call.lines[i]);
	error = rig_run(&world.rig);
	if (error != -(int)world.call.error)
		fail_msg("line %u: method %u.%u (%u): %d, recorded %d", world.line_number,
			 world.call.object, world.call.method, what_is_asked(), error,
			 -(int)world.call.error);
	for (unsigned int i = 0; i < world.call.count; i++) {
		if (world.call.lines[i].form == LINE_OUT && world.call.lines[i].out)
			compare(&world.call.lines[i]);
		if (error == 0)
			learn_from(&world.call.lines[i]);
	}
	world.call.count = 0;
}

/* ---- files ------------------------------------------------------------------------------------
 */

static void close_rig(void)
{
	make_call();
	if (world.rig.kern)
		kern_rig_close(&world.rig);
}

/* A program's calls begin: it opens the device for itself. */
static void open_rig(void)
{
	unsigned int line_number = world.line_number;

	close_rig();
	memset(&world, 0, sizeof(world));
	world.line_number = line_number;
	kern_rig_open(&world.rig);
}

static void replay(const char *name)
{
	static char text[4 * BYTES_MAX];
	FILE *file = open_golden(name);
	unsigned int calls = 0;

	memset(&world, 0, sizeof(world));
	while (fgets(text, sizeof(text), file)) {
		assert_non_null(strchr(text, '\n'));
		world.line_number++;
		if (strncmp(text, "program ", 8) == 0) {
			open_rig();
		} else if (strncmp(text, "call ", 5) == 0) {
			make_call();
			assert_int_equal(sscanf(text, "call %u %u %u", &world.call.object,
						&world.call.method, &world.call.error),
					 3);
			calls++;
		} else if (text[0] == ' ') {
			read_line(text);
		} else {
			assert_true(text[0] == '#' || text[0] == '\n');
		}
	}
	close_rig();
	fclose(file);
	assert_true(calls > 200);
}

static void release_44(void **state)
{
	(void)state;
	replay("44.txt");
}

static void release_55(void **state)
{
	(void)state;
	replay("55.txt");
}

static void release_64(void **state)
{
	(void)state;
	replay("64.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(release_44),
	    cmocka_unit_test(release_55),
	    cmocka_unit_test(release_64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
