/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/progress.c - a progress bar on stderr. */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tools/progress.h"
#include "tools/units.h"

#define BAR_MAX     30
#define BAR_MIN     5
#define INTERVAL_NS 100000000ull

uint64_t progress_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* "[####    ]" of width columns between the brackets, or nothing if there is no room for it. */
static void bar_text(uint64_t done_bytes, uint64_t total_bytes, int width, char *bar)
{
	int full;

	bar[0] = '\0';
	if (width < BAR_MIN)
		return;
	if (width > BAR_MAX)
		width = BAR_MAX;
	full = total_bytes ? (int)((double)done_bytes / (double)total_bytes * width) : width;
	bar[0] = '[';
	memset(bar + 1, '#', (size_t)full);
	memset(bar + 1 + full, ' ', (size_t)(width - full));
	memcpy(bar + 1 + width, "] ", 3);
}

const char *progress_text(uint64_t done_bytes, uint64_t total_bytes, uint64_t elapsed_ns,
			  int columns, char *text, size_t size)
{
	char done[TOOL_UNIT_TEXT], total[TOOL_UNIT_TEXT], rate[TOOL_UNIT_TEXT];
	char left[TOOL_UNIT_TEXT], bar[BAR_MAX + 4], rest[4 * TOOL_UNIT_TEXT];
	double per_s = elapsed_ns ? (double)done_bytes / ((double)elapsed_ns / 1e9) : 0;
	double left_s = per_s > 0 ? (double)(total_bytes - done_bytes) / per_s : 0;
	int percent = total_bytes ? (int)((double)done_bytes / (double)total_bytes * 100) : 100;
	int len;

	tool_format_bytes((uint64_t)per_s, rate);
	if (per_s > 0 && left_s < 1e7)
		tool_format_seconds((uint64_t)(left_s + 0.5), left);
	else
		snprintf(left, sizeof(left), "-:--");
	len = snprintf(rest, sizeof(rest), "%s of %s  %s/s  %s left",
		       tool_format_bytes(done_bytes, done), tool_format_bytes(total_bytes, total),
		       rate, left);
	/* "100% " before, "[] " around. */
	bar_text(done_bytes, total_bytes, columns - len - 8, bar);
	snprintf(text, size, "%3d%% %s%s", percent, bar, rest);
	if (columns >= 0 && (size_t)columns < size)
		text[columns] = '\0';
	return text;
}

static int terminal_columns(void)
{
	struct winsize window;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || !window.ws_col)
		return 80;
	return window.ws_col;
}

void progress_start(struct progress *progress, uint64_t total_bytes, bool quiet)
{
	*progress = (struct progress){
	    .shown = !quiet && isatty(STDERR_FILENO),
	    .start_ns = progress_now_ns(),
	    .total_bytes = total_bytes,
	};
}

void progress_update(struct progress *progress, uint64_t done_bytes)
{
	char text[256];
	uint64_t now_ns;

	if (!progress->shown)
		return;
	now_ns = progress_now_ns();
	if (now_ns - (progress->drawn ? progress->drawn_ns : progress->start_ns) < INTERVAL_NS)
		return;
	progress->drawn = true;
	progress->drawn_ns = now_ns;
	/* One column less: a full line would wrap on some terminals. Then clear to the line's end.
	 */
	fprintf(stderr, "\r%s\033[K",
		progress_text(done_bytes, progress->total_bytes, now_ns - progress->start_ns,
			      terminal_columns() - 1, text, sizeof(text)));
	fflush(stderr);
}

void progress_clear(struct progress *progress)
{
	if (progress->drawn)
		fprintf(stderr, "\r\033[K");
	progress->drawn = false;
}
