/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/main.c - the `rig5` command: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/tools.h"

/* A part that is not built is not offered. */
#pragma weak tool_decode

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
    {"devices", tool_devices, "list the NICs of this machine, hardware and software"},
    {"recv", tool_recv, "receive files by RDMA into a directory"},
    {"send", tool_send, "send files by RDMA"},
    {"perf", tool_perf, "measure latency and bandwidth"},
    {"stats", tool_stats, "show what running processes' NICs have counted"},
    {"run", tool_run, "run a program on libibverbs with the software NIC"},
    {"decode", tool_decode, "print a capture of RoCE v2 packets, a line each"},
};

static void print_help(FILE *out)
{
	fprintf(out,
		"Usage: rig5 COMMAND [OPTION]...\n"
		"Drives mlx5 network adapters, and the software NIC that stands in for one.\n\n"
		"Commands:\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].run)
			fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n'rig5 COMMAND --help' tells more; so does rig5(1).\n");
}

/* Output that could not be written (a full disk) is a failure too. */
static int finish(int status)
{
	bool broken = ferror(stdout) != 0;

	if ((fflush(stdout) || broken) && status == TOOL_OK) {
		tool_error("cannot write the output: %s", strerror(errno));
		return TOOL_FAILED;
	}
	return status;
}

/* argv of a command. getopt starts its messages with argv[0]: they shall read as all others do. */
static char **command_argv(char **argv)
{
	static char full_name[32];

	snprintf(full_name, sizeof(full_name), "rig5 %s", argv[1]);
	argv[1] = full_name;
	return argv + 1;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help(stdout);
		return finish(TOOL_OK);
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
		printf("rig5 %s\n", RIG5_VERSION);
		return finish(TOOL_OK);
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].run && !strcmp(name, commands[i].name)) {
			tool_name_set(commands[i].name);
			return finish(commands[i].run(argc - 1, command_argv(argv)));
		}
	if (argc < 2)
		return tool_usage_error("a command is missing");
	return tool_usage_error("no command '%s'", name);
}
