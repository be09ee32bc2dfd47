/* SPDX-License-Identifier: BSD-2-Clause */
/* golden_wqe.c - see golden_wqe.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/golden_wqe.h"

static uint32_t transport_of(const char *name)
{
	static const struct {
		const char *name;
		uint32_t transport;
	} rows[] = {{"rc", OP_RC},   {"uc", OP_UC}, {"ud", OP_UD},
		    {"xrc", OP_XRC}, {"dc", OP_DC}, {"raw", OP_RAW}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, name))
			return rows[i].transport;
	fail_msg("no transport %s", name);
	return 0;
}

static const struct wqe_op *op_of(const char *name)
{
	for (size_t i = 0; i < WQE_OPS; i++)
		if (!strcmp(wqe_ops[i].name, name))
			return &wqe_ops[i];
	for (size_t i = 0; i < WQE_FRAMES; i++)
		if (!strcmp(wqe_frames[i].name, name))
			return &wqe_frames[i];
	return NULL;
}

static const struct wqe_receive *receive_of(const char *name)
{
	for (size_t i = 0; i < WQE_RECEIVES; i++)
		if (!strcmp(wqe_receives[i].name, name))
			return &wqe_receives[i];
	return NULL;
}

static struct golden_wqe head_of(const char *line)
{
	struct golden_wqe wqe = {0};
	char transport[8], api[8];

	if (sscanf(line, "%7s %47s %7s %u %u", transport, wqe.name, api, &wqe.index,
		   &wqe.block_count) != 5)
		fail_msg("not an entry's first line: %s", line);
	wqe.transport = transport_of(transport);
	wqe.op = op_of(wqe.name);
	wqe.receive = receive_of(wqe.name);
	wqe.is_new = !strcmp(api, "new");
	return wqe;
}

static void unit_of(struct golden_wqe *wqe, const char *line)
{
	uint32_t words[4];

	if (sscanf(line, "%8x %8x %8x %8x", &words[0], &words[1], &words[2], &words[3]) != 4 ||
	    wqe->bytes + 16 > GOLDEN_BYTES_MAX)
		fail_msg("not 16 bytes of an entry: %s", line);
	for (uint32_t i = 0; i < 16; i++)
		wqe->raw[wqe->bytes++] = (uint8_t)(words[i / 4] >> (24 - i % 4 * 8));
}

static FILE *file_open(void)
{
	const char *root = getenv("RIG5_SOURCE_DIR");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/golden/wqe/libmlx5-44.txt", root ? root : ".");
	file = fopen(path, "r");
	if (!file)
		fail_msg("cannot open %s", path);
	return file;
}

struct golden_wqe *golden_wqes(size_t *count)
{
	enum { MOST = 512 };
	struct golden_wqe *wqes = calloc(MOST, sizeof(*wqes));
	FILE *file = file_open();
	char line[256];

	assert_non_null(wqes);
	*count = 0;
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		if (line[0] == '\t') {
			assert_true(*count != 0);
			unit_of(&wqes[*count - 1], line);
			continue;
		}
		assert_true(*count < MOST);
		wqes[(*count)++] = head_of(line);
	}
	fclose(file);
	return wqes;
}
