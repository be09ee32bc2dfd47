/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/tools.h - the subcommands of the `rig5` command, and what they have in common.
 *
 * A subcommand is one function with main's signature: argv[0] is its name, getopt_long is ready to
 * run over argv. It returns the exit status: TOOL_OK, TOOL_FAILED, or TOOL_USAGE after a message
 * about the command line. Messages for people go to stderr, results to stdout.
 */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_exit {
	TOOL_OK = 0,
	TOOL_FAILED = 1, /* it was tried and did not work, or did not match */
	TOOL_USAGE = 2,  /* the command line makes no sense */
};

int tool_devices(int argc, char **argv);
int tool_recv(int argc, char **argv);
int tool_send(int argc, char **argv);
int tool_perf(int argc, char **argv);
int tool_decode(int argc, char **argv);
int tool_run(int argc, char **argv);
int tool_stats(int argc, char **argv);

/* The subcommand's name, which messages start with. */
void tool_name_set(const char *name);
/* tool_error - "rig5 <command>: <message>" and a line end on stderr. */
void tool_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* tool_usage_error - the same (NULL: getopt has said it), then where help is. Returns TOOL_USAGE.
 */
int tool_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* tool_stop_catch - from now on SIGINT, SIGTERM and SIGHUP are only noted, and SIGPIPE and SIGXFSZ
 * are ignored. */
void tool_stop_catch(void);
/* tool_stop_signal - the signal that came, or 0. */
int tool_stop_signal(void);
/* tool_stop_exit - if one came, ends the process as the signal would have, so that a shell sees it.
 */
void tool_stop_exit(void);

#endif
