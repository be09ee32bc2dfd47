/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/progress.h - a progress bar on stderr, when that is a terminal: bytes, rate, time left. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	bool shown; /* stderr is a terminal, and nobody asked for quiet */
	bool drawn; /* a line is on the screen */
	uint64_t start_ns, drawn_ns;
	uint64_t total_bytes;
};

/*
 * progress_text - the bar as one line of at most `columns` columns, no line end:
 *   " 42% [########            ] 1.2 GiB of 3.0 GiB  900.3 MiB/s  0:02 left"
 * Narrow terminals lose the bar first. Pure. Returns text.
 */
const char *progress_text(uint64_t done_bytes, uint64_t total_bytes, uint64_t elapsed_ns,
			  int columns, char *text, size_t size);

void progress_start(struct progress *progress, uint64_t total_bytes, bool quiet);
/* Draws at most ten times a second: cheap to call. */
void progress_update(struct progress *progress, uint64_t done_bytes);
/* Takes the line away, so that messages can follow. */
void progress_clear(struct progress *progress);

uint64_t progress_now_ns(void);

#endif
