/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/report.c - messages of the command, and the signals that end it. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/tools.h"
#include "tools/units.h"

static const char *command_name = "";
static volatile sig_atomic_t stop_signal;

void tool_name_set(const char *name)
{
	command_name = name;
}

/* A message may hold a name that somebody else chose: a terminal must not obey it. */
static void print_prefixed(const char *format, va_list args)
{
	char text[1024], shown[1024];

	fflush(stdout);
	vsnprintf(text, sizeof(text), format, args);
	fprintf(stderr, "rig5%s%s: %s\n", *command_name ? " " : "", command_name,
		tool_printable(text, shown, sizeof(shown)));
}

void tool_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_prefixed(format, args);
	va_end(args);
}

int tool_usage_error(const char *format, ...)
{
	va_list args;

	if (format) {
		va_start(args, format);
		print_prefixed(format, args);
		va_end(args);
	}
	fprintf(stderr, "Try 'rig5%s%s --help'.\n", *command_name ? " " : "", command_name);
	return TOOL_USAGE;
}

static void on_stop(int number)
{
	stop_signal = number;
}

void tool_stop_catch(void)
{
	struct sigaction action = {.sa_handler = on_stop};

	/* No SA_RESTART: a call that waits ends with EINTR, and its caller looks. */
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/* As errors of the calls that run into them. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

int tool_stop_signal(void)
{
	return stop_signal;
}

void tool_stop_exit(void)
{
	int number = stop_signal;

	if (!number)
		return;
	fflush(stdout);
	signal(number, SIG_DFL);
	raise(number);
}
