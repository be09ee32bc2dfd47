/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/perf.c - `rig5 perf`: the command line, and the two processes. By default this process is
 * the client and starts itself once more as the target, over a socket that the child inherits.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/perf.h"
#include "tools/tools.h"
#include "tools/units.h"

#define SIZES_MAX        32
#define HALF_CHECKED_MAX (4ull << 20)

struct perf_options {
	bool ops[PERF_OP_COUNT];
	bool kinds[PERF_KIND_COUNT];
	uint32_t sizes[SIZES_MAX];
	int size_count;
	uint32_t iterations; /* 0: by size */
	uint32_t depth;
	bool check, json, passive;
	const char *nic_name;
	int cpus[2]; /* the client's and the target's; -1: any */
	bool listen, connect;
	struct net_address address;
	int target_fd; /* hidden: this is the child, and the client is at the other end of this */
};

static void print_help(void)
{
	printf("Usage: rig5 perf [OPTION]...\n"
	       "Measures latency and bandwidth between two processes. Without --listen or --to\n"
	       "it starts both of them here.\n\n"
	       "  -o, --op OP[,OP]...        write, read, send (default: all)\n"
	       "      --lat, --bw            only latency, only bandwidth (default: both)\n"
	       "  -s, --size SIZE[,SIZE]...  of a message (default: 8,64,512,4K,64K,1M)\n"
	       "  -a, --all                  all powers of two from 1 to 1M\n"
	       "  -i, --iterations N         of each row (default: by size)\n"
	       "  -d, --depth N              messages under way for bandwidth (default: 64)\n"
	       "  -c, --check                verify every byte that arrives\n"
	       "  -l, --listen ADDR[:PORT]   be the target of one 'rig5 perf --to'\n"
	       "      --to HOST[:PORT]       measure to that target (default port: %u)\n"
	       "      --passive              the target sleeps during reads and writes: the\n"
	       "                             NIC's own thread serves them, not its polling\n"
	       "      --cpus A[,B]           run on processor A, the target started here on B\n"
	       "  -n, --nic NAME             use this NIC (default: the first there is)\n"
	       "  -j, --json                 a JSON array, one object for each row\n"
	       "  -h, --help                 this text\n\n"
	       "Latency of writes and sends is half of a round trip, of reads the whole.\n"
	       "Exit status: 0 done, 1 a test failed or a byte was wrong, 2 wrong command line.\n",
	       NET_PORT_DEFAULT);
}

static int pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return 0;
	tool_error("cannot run on processor %d: %s", cpu, strerror(errno));
	return -errno;
}

static uint32_t iterations_of(const struct perf_options *options, enum perf_kind kind,
			      uint32_t size)
{
	if (options->iterations)
		return options->iterations;
	if (options->check)
		return 200;
	if (kind == PERF_LATENCY)
		return size <= 8192 ? 10000 : 1000;
	/* About half a gigabyte. */
	return size <= 4096 ? 100000 : size <= (1u << 20) ? (uint32_t)((512ull << 20) / size) : 100;
}

static struct perf_test make_test(const struct perf_options *options, enum perf_op op,
				  enum perf_kind kind, uint32_t size)
{
	struct perf_test test = {
	    .op = op,
	    .kind = kind,
	    .check = options->check,
	    .size_bytes = size,
	    .iterations = iterations_of(options, kind, size),
	    .depth = options->depth,
	};

	if (!test.check)
		test.warm_up = test.iterations / 10 < 1000 ? test.iterations / 10 : 1000;
	return test;
}

/* Room for the largest message, or for some of them where each has a place of its own. */
static uint64_t half_bytes(const struct perf_options *options)
{
	uint64_t largest = 64, half;

	for (int i = 0; i < options->size_count; i++)
		if (largest < options->sizes[i])
			largest = options->sizes[i];
	if (!options->check)
		return largest;
	half = largest * options->depth;
	if (half > HALF_CHECKED_MAX)
		half = HALF_CHECKED_MAX;
	return half > largest ? half : largest;
}

struct results {
	struct perf_row *rows;
	size_t count;
	bool wrong;
};

static int run_table(struct perf *perf, const struct perf_options *options, enum perf_op op,
		     enum perf_kind kind, struct results *results)
{
	struct perf_test test = make_test(options, op, kind, options->sizes[0]);

	if (!options->json)
		perf_print_title(perf, &test);
	for (int i = 0; i < options->size_count; i++) {
		struct perf_row *row = &results->rows[results->count];
		int err;

		test = make_test(options, op, kind, options->sizes[i]);
		err = perf_client_test(perf, &test, row);
		if (err)
			return err;
		results->count++;
		results->wrong |= row->wrong_bytes != 0;
		if (!options->json)
			perf_print_row(row);
	}
	return 0;
}

static int run_tables(struct perf *perf, const struct perf_options *options,
		      struct results *results)
{
	int err = perf_client_start(perf, options->nic_name, half_bytes(options));

	for (int kind = 0; kind < PERF_KIND_COUNT; kind++)
		for (int op = 0; op < PERF_OP_COUNT; op++)
			if (!err && options->kinds[kind] && options->ops[op])
				err = run_table(perf, options, (enum perf_op)op,
						(enum perf_kind)kind, results);
	return err;
}

static int be_client(const struct perf_options *options, int fd)
{
	struct perf perf = {.peer = "target"};
	struct results results = {0};
	int err;

	results.rows = calloc((size_t)options->size_count * PERF_OP_COUNT * PERF_KIND_COUNT,
			      sizeof(*results.rows));
	if (!results.rows || net_conn_init(&perf.conn, fd, PERF_BYTES_MAX)) {
		free(results.rows);
		tool_error("no memory");
		return TOOL_FAILED;
	}
	err = run_tables(&perf, options, &results);
	if (options->json)
		perf_print_json(&perf, results.rows, results.count);
	if (err)
		tool_error("%s", perf.why);
	else if (results.wrong)
		tool_error("bytes arrived wrong");
	perf_end(&perf);
	free(results.rows);
	return err || results.wrong ? TOOL_FAILED : TOOL_OK;
}

static int be_target(const struct perf_options *options, int fd)
{
	struct perf perf = {.peer = "client", .passive = options->passive};
	int err = net_conn_init(&perf.conn, fd, PERF_BYTES_MAX);

	if (err) {
		tool_error("no memory");
		return TOOL_FAILED;
	}
	err = perf_target_run(&perf, options->nic_name);
	if (err)
		tool_error("target: %s", perf.why);
	perf_end(&perf);
	return err ? TOOL_FAILED : TOOL_OK;
}

static int listen_as_target(struct perf_options *options)
{
	struct net_address peer;
	char why[NET_WHY];
	int listen_fd, fd, err;

	if (net_listen(&options->address, &listen_fd, why)) {
		tool_error("%s", why);
		return TOOL_FAILED;
	}
	fprintf(stderr, "Listening on %s port %u.\n", options->address.host, options->address.port);
	err = net_accept(listen_fd, &fd, &peer);
	close(listen_fd);
	if (err == -EINTR)
		return TOOL_FAILED;
	if (err) {
		tool_error("cannot accept a connection: %s", strerror(-err));
		return TOOL_FAILED;
	}
	return be_target(options, fd);
}

static int connect_as_client(const struct perf_options *options)
{
	char why[NET_WHY];
	int fd;

	if (net_connect(&options->address, 10000, &fd, why)) {
		tool_error("%s", why);
		return TOOL_FAILED;
	}
	return be_client(options, fd);
}

/* The child: this program again, so that it shares nothing with its parent but the socket. */
static void exec_target(const struct perf_options *options, int fd)
{
	char fd_text[16], cpu_text[16];
	const char *args[10] = {"rig5", "perf", "--target-fd", fd_text};
	int count = 4;

	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	if (options->nic_name) {
		args[count++] = "--nic";
		args[count++] = options->nic_name;
	}
	if (options->cpus[1] >= 0) {
		snprintf(cpu_text, sizeof(cpu_text), "%d", options->cpus[1]);
		args[count++] = "--cpus";
		args[count++] = cpu_text;
	}
	if (options->passive)
		args[count++] = "--passive";
	/* execv does not write to its arguments; their type is older than const. */
	execv("/proc/self/exe", (char *const *)(uintptr_t)args);
	tool_error("cannot start the target: %s", strerror(errno));
	_exit(TOOL_FAILED);
}

static int run_both(const struct perf_options *options)
{
	int fds[2], status, result;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		tool_error("no socket: %s", strerror(errno));
		return TOOL_FAILED;
	}
	child = fork();
	if (child == 0) {
		int fd = dup(fds[1]); /* without the close-on-exec flag */

		exec_target(options, fd);
	}
	close(fds[1]);
	if (child < 0) {
		tool_error("cannot start the target: %s", strerror(errno));
		close(fds[0]);
		return TOOL_FAILED;
	}
	result = pin(options->cpus[0]) ? TOOL_FAILED : be_client(options, fds[0]);
	/* The socket is closed by now, which ends the child. */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (result == TOOL_OK && status)
		tool_error("the target ended with status %#x", (unsigned int)status);
	return result == TOOL_OK && status ? TOOL_FAILED : result;
}

/* ---- the command line ---- */

static int parse_ops(const char *text, struct perf_options *options)
{
	static const char *const names[] = {"write", "read", "send"};

	while (*text) {
		size_t len = strcspn(text, ",");
		int op = 0;

		while (op < PERF_OP_COUNT &&
		       (strlen(names[op]) != len || memcmp(names[op], text, len)))
			op++;
		if (op == PERF_OP_COUNT)
			return -EINVAL;
		options->ops[op] = true;
		text += len + (text[len] == ',');
	}
	return 0;
}

static int parse_sizes(const char *text, struct perf_options *options)
{
	while (*text) {
		size_t len = strcspn(text, ",");
		char one[24];
		uint64_t size;

		if (len >= sizeof(one) || options->size_count == SIZES_MAX)
			return -EINVAL;
		memcpy(one, text, len);
		one[len] = '\0';
		if (tool_parse_size(one, &size) || !size || size > PERF_SIZE_MAX)
			return -EINVAL;
		options->sizes[options->size_count++] = (uint32_t)size;
		text += len + (text[len] == ',');
	}
	return 0;
}

static int parse_cpus(const char *text, struct perf_options *options)
{
	const char *comma = strchr(text, ',');
	char first[8];
	size_t len = comma ? (size_t)(comma - text) : strlen(text);
	uint64_t value;

	if (len >= sizeof(first))
		return -EINVAL;
	memcpy(first, text, len);
	first[len] = '\0';
	if (tool_parse_count(first, 0, CPU_SETSIZE - 1, &value))
		return -EINVAL;
	options->cpus[0] = (int)value;
	if (!comma)
		return 0;
	if (tool_parse_count(comma + 1, 0, CPU_SETSIZE - 1, &value))
		return -EINVAL;
	options->cpus[1] = (int)value;
	return 0;
}

enum { OPT_LAT = 256, OPT_BW, OPT_TO, OPT_PASSIVE, OPT_CPUS, OPT_TARGET_FD };

static const struct option long_options[] = {
    {"op", required_argument, NULL, 'o'},
    {"lat", no_argument, NULL, OPT_LAT},
    {"bw", no_argument, NULL, OPT_BW},
    {"size", required_argument, NULL, 's'},
    {"all", no_argument, NULL, 'a'},
    {"iterations", required_argument, NULL, 'i'},
    {"depth", required_argument, NULL, 'd'},
    {"check", no_argument, NULL, 'c'},
    {"listen", required_argument, NULL, 'l'},
    {"to", required_argument, NULL, OPT_TO},
    {"passive", no_argument, NULL, OPT_PASSIVE},
    {"cpus", required_argument, NULL, OPT_CPUS},
    {"nic", required_argument, NULL, 'n'},
    {"json", no_argument, NULL, 'j'},
    {"target-fd", required_argument, NULL, OPT_TARGET_FD},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int parse_number(const char *text, uint64_t max, uint32_t *value)
{
	uint64_t parsed;
	int err = tool_parse_count(text, 1, max, &parsed);

	if (!err)
		*value = (uint32_t)parsed;
	return err;
}

/* An option with an argument; 0 or -EINVAL. */
static int take_argument(int letter, struct perf_options *options)
{
	uint32_t fd;
	int err;

	switch (letter) {
	case 'o':
		return parse_ops(optarg, options);
	case 's':
		return parse_sizes(optarg, options);
	case 'i':
		return parse_number(optarg, PERF_ITERATIONS_MAX, &options->iterations);
	case 'd':
		return parse_number(optarg, PERF_DEPTH_MAX, &options->depth);
	case 'l':
		options->listen = true;
		return net_address_parse(optarg, NET_PORT_DEFAULT, 0, &options->address);
	case OPT_TO:
		options->connect = true;
		return net_address_parse(optarg, NET_PORT_DEFAULT, 1, &options->address);
	case OPT_CPUS:
		return parse_cpus(optarg, options);
	case OPT_TARGET_FD:
		err = parse_number(optarg, 1 << 20, &fd);
		options->target_fd = err ? -1 : (int)fd;
		return err;
	default: /* 'n' */
		options->nic_name = optarg;
		return 0;
	}
}

static const char *option_name(int letter)
{
	for (size_t i = 0; long_options[i].name; i++)
		if (long_options[i].val == letter)
			return long_options[i].name;
	return "?";
}

/* TOOL_OK to go on; -1: help was printed; else the status to end with. */
static int take_option(int letter, struct perf_options *options)
{
	switch (letter) {
	case OPT_LAT:
		options->kinds[PERF_LATENCY] = true;
		return TOOL_OK;
	case OPT_BW:
		options->kinds[PERF_BANDWIDTH] = true;
		return TOOL_OK;
	case 'a':
		options->size_count = 0;
		for (uint32_t size = 1; size <= 1u << 20; size *= 2)
			options->sizes[options->size_count++] = size;
		return TOOL_OK;
	case 'c':
		options->check = true;
		return TOOL_OK;
	case OPT_PASSIVE:
		options->passive = true;
		return TOOL_OK;
	case 'j':
		options->json = true;
		return TOOL_OK;
	case 'h':
		print_help();
		return -1;
	case '?':
		return tool_usage_error(NULL);
	default:
		if (take_argument(letter, options))
			return tool_usage_error("--%s: '%s' makes no sense", option_name(letter),
						optarg);
		return TOOL_OK;
	}
}

static void set_defaults(struct perf_options *options)
{
	static const uint32_t sizes[] = {8, 64, 512, 4096, 65536, 1 << 20};
	bool any = false;

	for (int op = 0; op < PERF_OP_COUNT; op++)
		any |= options->ops[op];
	for (int op = 0; op < PERF_OP_COUNT; op++)
		options->ops[op] |= !any;
	if (!options->kinds[PERF_LATENCY] && !options->kinds[PERF_BANDWIDTH])
		options->kinds[PERF_LATENCY] = options->kinds[PERF_BANDWIDTH] = true;
	if (!options->size_count) {
		memcpy(options->sizes, sizes, sizeof(sizes));
		options->size_count = sizeof(sizes) / sizeof(sizes[0]);
	}
}

static int run(struct perf_options *options)
{
	int status;

	tool_stop_catch();
	/* run_both pins after its fork, so that the child does not inherit it. */
	if ((options->target_fd >= 0 || options->listen || options->connect) &&
	    pin(options->cpus[0]))
		return TOOL_FAILED;
	if (options->target_fd >= 0)
		status = be_target(options, options->target_fd);
	else if (options->listen)
		status = listen_as_target(options);
	else if (options->connect)
		status = connect_as_client(options);
	else
		status = run_both(options);
	tool_stop_exit();
	return status;
}

int tool_perf(int argc, char **argv)
{
	struct perf_options options = {.depth = 64, .cpus = {-1, -1}, .target_fd = -1};
	int letter;

	while ((letter = getopt_long(argc, argv, "o:s:ai:d:cl:n:jh", long_options, NULL)) != -1) {
		int status = take_option(letter, &options);

		if (status)
			return status < 0 ? TOOL_OK : status;
	}
	if (optind < argc)
		return tool_usage_error("'%s' is one argument too many", argv[optind]);
	if (options.listen && options.connect)
		return tool_usage_error("--listen and --to exclude each other");
	set_defaults(&options);
	return run(&options);
}
