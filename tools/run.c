/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/run.c - `rig5 run`: starts a program on libibverbs with the software NIC as its device.
 *
 * Writes the files of the NICs (shim/tree.h), preloads librig5_shim.so, and becomes the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/tree.h"
#include "tools/program.h"
#include "tools/tools.h"

#define LIBRARY "librig5_shim.so"

struct options {
	char words[SHIM_NICS_BYTES]; /* as RIG5_SOFT has them; "": none were given */
	unsigned int nics;
	bool hide_real;
	bool from_command_line; /* the NICs */
	bool trace;
	const char *trace_file; /* NULL: standard error */
};

static void print_help(void)
{
	printf("Usage: rig5 run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	       "Runs a program that uses libibverbs, unchanged, on the software NIC.\n\n"
	       "  -n, --nic=SPEC    a NIC: [NAME][,KEY=VALUE]...; up to %d times. NAME is mlx5_0,\n"
	       "                    mlx5_1 ... unless given; the keys are those of RIG5_SOFT:\n"
	       "                    addr=127.0.0.5 or addr=eth0, ll=ib, lid=7\n"
	       "      --hide-real   leave out the RDMA devices that the machine has\n"
	       "      --trace[=FILE]  print each verb, work queue entry and completion, and why\n"
	       "                    one failed, to standard error, or append it to FILE\n"
	       "  -h, --help        this text\n\n"
	       "Without --nic the NICs are those of RIG5_SOFT, called mlx5_0 and so on; if that\n"
	       "is not set, one. 'rig5 run -- ibv_devinfo' shows them.\n\n"
	       "Exit status: the program's; 1 it could not be started, 2 wrong command line.\n",
	       SHIM_NIC_MAX);
}

/* ---- which NICs --------------------------------------------------------------------------------
 */

/* One NIC more, called mlx5_<number> if it has no name. */
static int nic_add(struct options *options, const char *spec, size_t len, bool keep_name)
{
	const char *comma = memchr(spec, ',', len);
	const char *equals = memchr(spec, '=', len);
	size_t used = strlen(options->words), name_len = comma ? (size_t)(comma - spec) : len;
	bool has_name = name_len != 0 && !(equals && equals < spec + name_len);
	const char *rest = has_name ? spec + name_len : spec;
	char name[32];
	int more;

	if (options->nics == SHIM_NIC_MAX)
		return tool_usage_error("more than %d NICs", SHIM_NIC_MAX);
	snprintf(name, sizeof(name), "mlx5_%u", options->nics);
	more = snprintf(options->words + used, sizeof(options->words) - used, "%s%.*s%s%.*s",
			options->nics ? ";" : "", has_name && keep_name ? (int)name_len : 0, spec,
			has_name && keep_name ? "" : name, (int)(spec + len - rest), rest);
	if (used + (size_t)more >= sizeof(options->words))
		return tool_usage_error("too many words about the NICs");
	/* "addr=..." alone: a comma is missing behind the name. */
	if (!has_name && len != 0 && rest[0] != ',') {
		size_t at = used + (options->nics != 0) + strlen(name);

		if (strlen(options->words) + 1 >= sizeof(options->words))
			return tool_usage_error("too many words about the NICs");
		memmove(options->words + at + 1, options->words + at,
			strlen(options->words + at) + 1);
		options->words[at] = ',';
	}
	options->nics++;
	return TOOL_OK;
}

static int nic_option(struct options *options, const char *spec)
{
	if (strchr(spec, ';'))
		return tool_usage_error("--nic takes one NIC; repeat it for more");
	options->from_command_line = true;
	return nic_add(options, spec, strlen(spec), true);
}

/* The NICs of RIG5_SOFT under the names that programs expect. */
static int nics_default(struct options *options)
{
	const char *text = getenv("RIG5_SOFT");
	int status = TOOL_OK;

	if (!text)
		return nic_add(options, "", 0, true);
	while (*text && status == TOOL_OK) {
		size_t len = strcspn(text, ";");

		status = nic_add(options, text, len, false);
		text += len + (text[len] == ';');
	}
	if (status == TOOL_OK && options->nics == 0) {
		tool_error("RIG5_SOFT is set to nothing, so there is no software NIC to run on");
		return TOOL_FAILED;
	}
	return status;
}

/* ---- starting ----------------------------------------------------------------------------------
 */

/* The library beside this command, as built, or where it was installed. */
static int library_find(char path[static PATH_MAX])
{
	static const char *const places[] = {"", RIG5_LIBRARY_FROM_BIN "/"};
	char self[PATH_MAX], tried[PATH_MAX + 128];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(tried, sizeof(tried), "%s%s" LIBRARY, self, places[i]);
		if (realpath(tried, path))
			return TOOL_OK;
	}
	tool_error(LIBRARY " is neither beside this command nor in " RIG5_LIBRARY_FROM_BIN);
	return TOOL_FAILED;
}

/* In front of what is preloaded already. */
static int environment_set(const char *library, const char *tree)
{
	const char *others = getenv("LD_PRELOAD");
	char *value;

	/* The loader separates names by these. */
	if (strpbrk(library, " :")) {
		tool_error("cannot preload %s: there is a space or a colon in its path", library);
		return TOOL_FAILED;
	}
	if (asprintf(&value, "%s%s%s%s%s", RIG5_PRELOAD_FIRST, RIG5_PRELOAD_FIRST[0] ? ":" : "",
		     library, others && others[0] ? ":" : "",
		     others && others[0] ? others : "") < 0)
		return TOOL_FAILED;
	setenv("LD_PRELOAD", value, 1);
	setenv(SHIM_RUN_ENV, tree, 1);
	free(value);
	return TOOL_OK;
}

/* The file is opened here, too, so that a wrong name is told at once. */
static int trace_set(const char *file)
{
	char words[PATH_MAX + 32], dir[PATH_MAX] = "";
	struct timespec now;
	int fd, len;

	if (file && file[0] != '/' && !getcwd(dir, sizeof(dir))) {
		tool_error("cannot trace to %s: %s", file, strerror(errno));
		return TOOL_FAILED;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(words, sizeof(words), "%lld %s%s%s",
		       (long long)now.tv_sec * 1000000000 + now.tv_nsec, dir,
		       file && file[0] != '/' ? "/" : "", file ? file : "");
	fd = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (file && (fd < 0 || len >= (int)sizeof(words))) {
		tool_error("cannot trace to %s: %s", file,
			   strerror(fd < 0 ? errno : ENAMETOOLONG));
		return TOOL_FAILED;
	}
	if (file)
		close(fd);
	setenv(SHIM_TRACE_ENV, words, 1);
	return TOOL_OK;
}

/* The parser of RIG5_SOFT names the place that it knows. */
static void say(const struct options *options, const char *why)
{
	static const char place[] = "RIG5_SOFT: ";

	if (options->from_command_line && strncmp(why, place, strlen(place)) == 0)
		tool_error("--nic: %s", why + strlen(place));
	else
		tool_error("%s", why);
}

static int start(const struct options *options, char **argv)
{
	char library[PATH_MAX], why[512] = "";
	struct shim_tree tree;
	int error, status = library_find(library);

	if (status == TOOL_OK && options->trace)
		status = trace_set(options->trace_file);
	if (status != TOOL_OK)
		return status;
	shim_tree_sweep();
	if (shim_tree_make(options->words, options->hide_real, &tree, why, sizeof(why))) {
		say(options, why);
		return TOOL_FAILED;
	}
	if (tree.deaf)
		tool_error("userfaultfd is refused here: programs that write doorbells by "
			   "themselves, as UCX does, are noticed by a timer, up to 10 ms late");
	error = shim_keeper_start(&tree);
	if (error) {
		tool_error("cannot start the process that cleans up: %s", strerror(-error));
		status = TOOL_FAILED;
	} else {
		status = environment_set(library, tree.path);
	}
	if (status == TOOL_OK) {
		execvp(argv[0], argv);
		tool_error("cannot run %s: %s", argv[0], strerror(errno));
		status = TOOL_FAILED;
	}
	shim_tree_remove(tree.path);
	return status;
}

int tool_run(int argc, char **argv)
{
	enum { HIDE_REAL = 256, TRACE };
	static const struct option long_options[] = {
	    {"nic", required_argument, NULL, 'n'},
	    {"hide-real", no_argument, NULL, HIDE_REAL},
	    {"trace", optional_argument, NULL, TRACE},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	static struct options options;
	int letter, status = TOOL_OK;

	while (status == TOOL_OK &&
	       (letter = getopt_long(argc, argv, "+n:h", long_options, NULL)) != -1) {
		if (letter == 'h') {
			print_help();
			return TOOL_OK;
		}
		if (letter == HIDE_REAL) {
			options.hide_real = true;
		} else if (letter == TRACE) {
			options.trace = true;
			options.trace_file = optarg;
		} else if (letter == 'n') {
			status = nic_option(&options, optarg);
		} else {
			status = tool_usage_error(NULL);
		}
	}
	if (status != TOOL_OK)
		return status;
	if (optind == argc)
		return tool_usage_error("a program is missing");
	if (options.nics == 0)
		status = nics_default(&options);
	if (status == TOOL_OK)
		status = tool_program_check(argv[optind]);
	return status == TOOL_OK ? start(&options, argv + optind) : status;
}
