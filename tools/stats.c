/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/stats.c - `rig5 stats`: what running processes' software NICs have counted. */
#include "tools/stats.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/tools.h"
#include "tools/units.h"

enum {
	PATIENCE_MS = 1000,
	WATCH_DEFAULT_S = 1,
	WATCH_MAX_S = 86400,
	PARTS_MAX = 2000, /* of the flows of one NIC */
};

struct choice {
	uint32_t pid;    /* 0: any */
	const char *nic; /* NULL: any */
	uint32_t watch_s;
	bool json;
};

static void print_help(void)
{
	printf("Usage: rig5 stats [OPTION]... [PID | NIC]\n"
	       "Shows what the software NICs of running processes have counted: the port's\n"
	       "counters by Linux's names, and each queue pair and destination. Also of\n"
	       "processes under 'rig5 run'. Those of this user; as root, of all.\n\n"
	       "  -w, --watch[=SECONDS]  again and again, each second or so many, until the\n"
	       "                         processes have ended\n"
	       "  -j, --json             JSON, one line for each time\n"
	       "  -h, --help             this text\n\n"
	       "PID is a process's number, NIC a NIC's name in its process (soft0, mlx5_0).\n\n"
	       "Exit status: 0 something was shown, 1 nothing was, 2 wrong command line.\n");
}

/* ---- collecting ------------------------------------------------------------------------------ */

struct collect {
	const struct choice *choice;
	struct stats_view *view;
	uint32_t next;
	bool added;
};

/* The name it was started by: without the folder, and without arguments. */
static void program_of(uint32_t pid, char *program, size_t size)
{
	char path[64], text[4096] = "";
	FILE *file;
	char *slash;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	file = fopen(path, "r");
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		fclose(file);
	}
	slash = strrchr(text, '/');
	tool_printable(text[0] ? (slash ? slash + 1 : text) : "?", program, size);
}

static bool flows_add(struct stats_nic *nic, const struct stats_reply *reply)
{
	uint32_t count = nic->flow_count + reply->flow_count;
	struct stats_flow *flows;

	if (reply->flow_count == 0)
		return true;
	flows = realloc(nic->flows, count * sizeof(*flows));
	if (!flows)
		return false;
	memcpy(flows + nic->flow_count, reply->flows, reply->flow_count * sizeof(*flows));
	nic->flows = flows;
	nic->flow_count = count;
	return true;
}

static void take_first(void *ctx, const struct host_stats_answer *answer)
{
	struct collect *collect = ctx;
	struct stats_view *view = collect->view;
	struct stats_nic *nics, *nic;

	if ((collect->choice->pid && collect->choice->pid != answer->pid) ||
	    (collect->choice->nic && strcmp(collect->choice->nic, answer->reply->nic) != 0))
		return;
	nics = realloc(view->nics, (view->count + 1) * sizeof(*nics));
	if (!nics)
		return;
	view->nics = nics;
	nic = &nics[view->count++];
	memset(nic, 0, sizeof(*nic));
	snprintf(nic->name, sizeof(nic->name), "%s", answer->name);
	nic->pid = answer->pid;
	program_of(nic->pid, nic->program, sizeof(nic->program));
	nic->reply = *answer->reply;
	flows_add(nic, answer->reply);
}

static void take_next(void *ctx, const struct host_stats_answer *answer)
{
	struct collect *collect = ctx;

	collect->added = flows_add(&collect->view->nics[0], answer->reply);
	collect->next = answer->reply->next;
}

/* The rest of a NIC's flows; a process that ends meanwhile has no more. */
static void complete(struct stats_nic *nic)
{
	struct stats_view one = {.nics = nic, .count = 1};
	struct collect collect = {.view = &one, .next = nic->reply.next, .added = true};
	struct host_stats_missed missed;

	for (int i = 0; i < PARTS_MAX && collect.next != 0 && collect.added; i++) {
		collect.added = false;
		if (host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES]) & nic->name, 1,
				   collect.next, PATIENCE_MS, take_next, &collect, &missed))
			break;
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct stats_nic *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->reply.nic, y->reply.nic);
}

static int collect_view(const struct choice *choice, struct stats_view *view)
{
	static struct host_stats_names names;
	struct collect collect = {.choice = choice, .view = view};
	int error = host_stats_find(&names, true);

	*view = (struct stats_view){0};
	if (!error)
		error =
		    host_stats_ask((const char(*)[HOST_STATS_NAME_BYTES])names.names, names.count,
				   0, PATIENCE_MS, take_first, &collect, &view->missed);
	for (uint32_t i = 0; i < view->count; i++)
		complete(&view->nics[i]);
	if (view->count != 0)
		qsort(view->nics, view->count, sizeof(*view->nics), by_pid);
	return error;
}

static void view_free(struct stats_view *view)
{
	for (uint32_t i = 0; i < view->count; i++)
		free(view->nics[i].flows);
	free(view->nics);
	*view = (struct stats_view){0};
}

/* ---- showing --------------------------------------------------------------------------------- */

static int show(const struct choice *choice, const struct stats_view *view,
		const struct stats_view *before)
{
	if (choice->json)
		stats_print_json(view);
	else if (view->count != 0)
		stats_print_table(view, before);
	fflush(stdout);
	/* Who was asked for one and got it does not care for others. */
	if (view->missed.silent + view->missed.refused != 0 &&
	    (view->count == 0 || (!choice->pid && !choice->nic)))
		tool_error("%u that may have the software NIC open do not answer (stopped?)",
			   view->missed.silent + view->missed.refused);
	return view->count != 0 ? TOOL_OK : TOOL_FAILED;
}

static void explain_nothing(const struct choice *choice)
{
	if (choice->pid)
		tool_error("process %u has no software NIC open, or is another user's",
			   choice->pid);
	else if (choice->nic)
		tool_error("no process has a software NIC '%s' open", choice->nic);
	else
		tool_error("no process has the software NIC open");
}

/* Until there is nothing left to show, a signal comes or nobody reads. */
static int watch(const struct choice *choice)
{
	struct stats_view before = {0}, now;
	uint32_t shown = 0;
	int error;

	tool_stop_catch();
	for (;;) {
		struct timespec nap = {.tv_sec = choice->watch_s};

		error = collect_view(choice, &now);
		if (error || now.count == 0 || tool_stop_signal())
			break;
		if (!choice->json && shown++ != 0)
			fputs(isatty(1) ? "\033[H\033[2J" : "\n", stdout);
		show(choice, &now, before.count != 0 ? &before : NULL);
		view_free(&before);
		before = now;
		now = (struct stats_view){0};
		if (ferror(stdout) || nanosleep(&nap, NULL) != 0)
			break;
	}
	shown += before.count;
	view_free(&before);
	view_free(&now);
	tool_stop_exit();
	if (error)
		tool_error("cannot ask: %s", strerror(-error));
	else if (shown == 0)
		explain_nothing(choice);
	return shown != 0 && !error ? TOOL_OK : TOOL_FAILED;
}

static int once(const struct choice *choice)
{
	struct stats_view view;
	int error = collect_view(choice, &view);
	int status = error ? TOOL_FAILED : show(choice, &view, NULL);

	if (error)
		tool_error("cannot ask: %s", strerror(-error));
	else if (status != TOOL_OK)
		explain_nothing(choice);
	view_free(&view);
	return status;
}

static int parse_watch(const char *text, uint32_t *watch_s)
{
	uint64_t value = WATCH_DEFAULT_S;

	if (text && tool_parse_count(text, 1, WATCH_MAX_S, &value))
		return tool_usage_error("'%s' is no number of seconds from 1 to %d", text,
					WATCH_MAX_S);
	*watch_s = (uint32_t)value;
	return TOOL_OK;
}

int tool_stats(int argc, char **argv)
{
	static const struct option options[] = {
	    {"watch", optional_argument, NULL, 'w'},
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	struct choice choice = {0};
	uint64_t pid;
	int letter;

	while ((letter = getopt_long(argc, argv, "w::jh", options, NULL)) != -1) {
		if (letter == 'h') {
			print_help();
			return TOOL_OK;
		}
		if (letter == 'j')
			choice.json = true;
		else if (letter != 'w')
			return tool_usage_error(NULL);
		else if (parse_watch(optarg, &choice.watch_s))
			return TOOL_USAGE;
	}
	if (argc - optind > 1)
		return tool_usage_error("'%s' is one argument too many", argv[optind + 1]);
	if (optind < argc && tool_parse_count(argv[optind], 1, INT32_MAX, &pid) == 0)
		choice.pid = (uint32_t)pid;
	else if (optind < argc)
		choice.nic = argv[optind];
	return choice.watch_s != 0 ? watch(&choice) : once(&choice);
}
