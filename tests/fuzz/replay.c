/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - runs a committed corpus through its fuzz target: fuzz.<target> <corpus file>.
 *
 * A corpus is a text, so that one can see in a diff what came in. An entry is a line "@ <name>:
 * <where it came from>" and lines of hexadecimal digits; lines that start with # are comments.
 * tests/fuzz/_corpus.py turns it into a directory for libFuzzer, and a directory into it.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

enum { INPUT_BYTES_MAX = 1 << 16, LINE_BYTES_MAX = 4096 };

static uint8_t input[INPUT_BYTES_MAX];
static size_t input_bytes;
static char name[LINE_BYTES_MAX];
static unsigned int entries;

static void run_entry(void)
{
	uint8_t *exact;

	if (!name[0])
		return;
	/* Of its exact size, so that the address sanitizer sees a read past the end. */
	exact = malloc(input_bytes ? input_bytes : 1);
	FUZZ_CHECK(exact);
	memcpy(exact, input, input_bytes);
	fprintf(stderr, "%s\n", name);
	LLVMFuzzerTestOneInput(exact, input_bytes);
	free(exact);
	entries++;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : tolower(c) - 'a' + 10;
}

static void add_digits(const char *line)
{
	for (; isxdigit((unsigned char)line[0]) && isxdigit((unsigned char)line[1]); line += 2) {
		FUZZ_CHECK(input_bytes < INPUT_BYTES_MAX);
		input[input_bytes++] = (uint8_t)(digit(line[0]) << 4 | digit(line[1]));
	}
	FUZZ_CHECK(*line == '\n' || *line == '\0');
}

int main(int argc, char **argv)
{
	char line[LINE_BYTES_MAX];
	FILE *file = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (!file) {
		fprintf(stderr, "usage: %s <corpus file>\n", argv[0]);
		return 2;
	}
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '@') {
			run_entry();
			line[strcspn(line, "\n")] = '\0';
			snprintf(name, sizeof(name), "%s", line);
			input_bytes = 0;
		} else if (line[0] != '#') {
			add_digits(line);
		}
	}
	fclose(file);
	run_entry();
	printf("%u entries\n", entries);
	return entries ? 0 : 1;
}
