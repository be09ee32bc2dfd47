/* SPDX-License-Identifier: BSD-2-Clause */
/* package: ucx */
/*
 * ucx_data.c - checks every byte that UCX moves between two processes, for ucx.sh.
 *
 *   run_ucx_data [-e] [-r ROUNDS] -p PORT [HOST]
 *
 * Without HOST it waits for the other one on the TCP port. Each side in turn is the active one:
 * tagged messages there and back and both ways at once, puts into the other's window, gets out of
 * it, and atomics of 4 and 8 bytes on it, each with what lies around them. -e: sleeps where there
 * is nothing to do. Prints the transports of its endpoint. Exit status 0: all was as it should be.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ucp/api/ucp.h>

enum {
	MARGIN = 64, /* bytes before a message */
	SIZE_MAX_BYTES = 5 << 20,
	BEHIND = 4096, /* bytes behind a message that are looked at */
	WINDOW = 2 * MARGIN + SIZE_MAX_BYTES + BEHIND,
	FILLER = 0x5a,
	ATOMICS = 40,
	PACKED_MAX = 1024,
};

/* Around what is sent inline, in one packet, in several, and by rendezvous. */
static const size_t sizes[] = {0,    1,    7,    8,    63,    64,    65,      200,           1023,
			       1025, 4095, 4097, 8192, 20001, 65536, 1 << 20, SIZE_MAX_BYTES};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct remote {
	uint64_t window; /* address there */
	unsigned char rkey[PACKED_MAX], address[PACKED_MAX];
};

static struct {
	ucp_context_h context;
	ucp_worker_h worker;
	ucp_ep_h ep;
	ucp_mem_h mem;
	ucp_rkey_h rkey;
	struct remote remote;
	bool sleeps;
	unsigned char *window; /* registered; the other side's puts and gets */
	unsigned char *local;  /* not registered */
	const char *doing;
	size_t size;
} me;

static void die(const char *what)
{
	fprintf(stderr, "ucx_data: %s of %zu bytes: %s\n", me.doing, me.size, what);
	exit(1);
}

static void must(ucs_status_t status, const char *what)
{
	if (status == UCS_OK)
		return;
	fprintf(stderr, "ucx_data: %s: %s: %s\n", me.doing, what, ucs_status_string(status));
	exit(1);
}

/* ---- what is expected --------------------------------------------------------------------------
 */

static unsigned char byte_of(uint32_t seed, size_t i)
{
	return (unsigned char)((seed * 2654435761u + i * 40503u) >> 11 ^ i);
}

/* A message of the present size at an offset that is nobody's favourite. */
static size_t offset_of(void)
{
	return MARGIN + me.size % 61;
}

/* What a check looks at. */
static size_t reach(void)
{
	return offset_of() + me.size + BEHIND;
}

static void clear(unsigned char *memory)
{
	memset(memory, FILLER, reach());
}

static void write_pattern(unsigned char *memory, uint32_t seed)
{
	for (size_t i = 0; i < me.size; i++)
		memory[offset_of() + i] = byte_of(seed, i);
}

/* The pattern, and all else as it was. */
static void check(const unsigned char *memory, uint32_t seed)
{
	size_t start = offset_of(), end = start + me.size;

	for (size_t i = 0; i < reach(); i++) {
		bool inside = i >= start && i < end;

		if (memory[i] == (inside ? byte_of(seed, i - start) : FILLER))
			continue;
		fprintf(stderr, "ucx_data: byte %zd is 0x%02x\n", (ssize_t)i - (ssize_t)start,
			memory[i]);
		die("wrong data");
	}
}

/* ---- moving ------------------------------------------------------------------------------------
 */

static void progress(void)
{
	if (ucp_worker_progress(me.worker) == 0 && me.sleeps)
		must(ucp_worker_wait(me.worker), "wait");
}

static void finish(ucs_status_ptr_t request)
{
	ucs_status_t status;

	if (!UCS_PTR_IS_PTR(request)) {
		must(UCS_PTR_STATUS(request), "start");
		return;
	}
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		progress();
	ucp_request_free(request);
	must(status, "completion");
}

static const ucp_request_param_t plain = {0};

static void flush(void)
{
	finish(ucp_ep_flush_nbx(me.ep, &plain));
}

static void send_bytes(const void *bytes, size_t len, ucp_tag_t tag)
{
	finish(ucp_tag_send_nbx(me.ep, bytes, len, tag, &plain));
}

static void receive_bytes(void *bytes, size_t len, ucp_tag_t tag)
{
	finish(ucp_tag_recv_nbx(me.worker, bytes, len, tag, ~(ucp_tag_t)0, &plain));
}

enum { TAG_TURN = 1, TAG_DATA = 2 };

/* The other side may go on: what this one has done is in its memory. */
static void pass(void)
{
	char word = 1;

	flush();
	send_bytes(&word, 1, TAG_TURN);
}

static void await(void)
{
	char word;

	receive_bytes(&word, 1, TAG_TURN);
}

/* ---- the checks, each as the active side and as the other one ----------------------------------
 */

/* There, and back with another pattern, so that no byte can be left from the way there. */
static void tag(bool active, uint32_t seed)
{
	if (active) {
		clear(me.local);
		write_pattern(me.local, seed);
		send_bytes(me.local + offset_of(), me.size, TAG_DATA);
	}
	clear(me.local);
	receive_bytes(me.local + offset_of(), me.size, TAG_DATA);
	check(me.local, active ? ~seed : seed);
	if (active)
		return;
	write_pattern(me.local, ~seed);
	send_bytes(me.local + offset_of(), me.size, TAG_DATA);
}

/* Both ways at once. */
static void crossed(bool active, uint32_t seed)
{
	ucs_status_ptr_t receive;

	clear(me.local);
	clear(me.window);
	write_pattern(me.local, active ? seed : ~seed);
	receive = ucp_tag_recv_nbx(me.worker, me.window + offset_of(), me.size, TAG_DATA,
				   ~(ucp_tag_t)0, &plain);
	send_bytes(me.local + offset_of(), me.size, TAG_DATA);
	finish(receive);
	check(me.window, active ? ~seed : seed);
}

static void put(bool active, uint32_t seed)
{
	if (active) {
		clear(me.local);
		write_pattern(me.local, seed);
		await();
		finish(ucp_put_nbx(me.ep, me.local + offset_of(), me.size,
				   me.remote.window + offset_of(), me.rkey, &plain));
		pass();
		await();
	} else {
		clear(me.window);
		pass();
		await();
		check(me.window, seed);
		pass();
	}
}

static void get(bool active, uint32_t seed)
{
	if (active) {
		clear(me.local);
		await();
		finish(ucp_get_nbx(me.ep, me.local + offset_of(), me.size,
				   me.remote.window + offset_of(), me.rkey, &plain));
		check(me.local, seed);
		pass();
	} else {
		clear(me.window);
		write_pattern(me.window, seed);
		pass();
		await();
		check(me.window, seed);
	}
}

/* One atomic on the counter in the other's window; gives what was there. For a compare and swap
 * the value is what to compare with, and result what to put there. */
static uint64_t atomic(ucp_atomic_op_t op, uint64_t value, uint64_t result)
{
	ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
						     UCP_OP_ATTR_FIELD_REPLY_BUFFER,
				     .datatype = ucp_dt_make_contig(me.size),
				     .reply_buffer = &result};

	finish(ucp_atomic_op_nbx(me.ep, op, &value, 1, me.remote.window + MARGIN, me.rkey, &param));
	return me.size == sizeof(uint32_t) ? (uint32_t)result : result;
}

static void expect(uint64_t got, uint64_t wanted)
{
	if (me.size == sizeof(uint32_t))
		wanted = (uint32_t)wanted;
	if (got == wanted)
		return;
	fprintf(stderr, "ucx_data: 0x%llx, not 0x%llx\n", (unsigned long long)got,
		(unsigned long long)wanted);
	die("wrong value");
}

static void atomics_active(uint64_t value)
{
	for (uint64_t i = 0; i < ATOMICS; i++, value += i * 0x10001)
		expect(atomic(UCP_ATOMIC_OP_ADD, (i + 1) * 0x10001, 0), value);
	expect(atomic(UCP_ATOMIC_OP_SWAP, 0x1122334455667788, 0), value);
	expect(atomic(UCP_ATOMIC_OP_CSWAP, 0, 1), 0x1122334455667788);
	expect(atomic(UCP_ATOMIC_OP_CSWAP, 0x1122334455667788, 0xf0f1f2f3f4f5f6f7),
	       0x1122334455667788);
	expect(atomic(UCP_ATOMIC_OP_AND, 0xffff0000ffff0000, 0), 0xf0f1f2f3f4f5f6f7);
	expect(atomic(UCP_ATOMIC_OP_OR, 0x0000000f0000000f, 0), 0xf0f10000f4f50000);
	expect(atomic(UCP_ATOMIC_OP_XOR, 0xff, 0), 0xf0f1000ff4f5000f);
}

static void atomics(bool active, uint32_t seed)
{
	uint64_t value = 0xfffffffffff00000 | (seed & 0xff), last = 0xf0f1000ff4f500f0, got = 0;

	if (active) {
		await();
		atomics_active(value);
		pass();
		return;
	}
	clear(me.window);
	memcpy(me.window + MARGIN, &value, me.size);
	pass();
	await();
	memcpy(&got, me.window + MARGIN, me.size);
	expect(got, last);
	memset(me.window + MARGIN, FILLER, me.size);
	for (size_t i = 0; i < reach(); i++)
		if (me.window[i] != FILLER)
			die("a byte beside the counter");
}

/* ---- two sides ---------------------------------------------------------------------------------
 */

static void run_all(bool active, unsigned int round)
{
	for (size_t i = 0; i < SIZES; i++) {
		uint32_t seed = (uint32_t)(round * SIZES + i) * 2;

		me.size = sizes[i];
		me.doing = "tag";
		tag(active, seed);
		me.doing = "crossed tag";
		crossed(active, seed + 1);
		if (me.size == 0)
			continue;
		me.doing = "put";
		put(active, seed + 1);
		me.doing = "get";
		get(active, seed);
	}
	me.doing = "atomic";
	for (me.size = sizeof(uint32_t); me.size <= sizeof(uint64_t); me.size *= 2)
		atomics(active, round);
}

static void create(void)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
			       .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
					   UCP_FEATURE_AMO64 |
					   (me.sleeps ? UCP_FEATURE_WAKEUP : 0)};
	ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				      .thread_mode = UCS_THREAD_MODE_SINGLE};
	ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						  UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				    .length = WINDOW};
	ucp_config_t *config;

	me.doing = "opening";
	me.window = aligned_alloc(4096, (WINDOW + 4095) / 4096 * 4096);
	me.local = malloc(WINDOW);
	if (!me.window || !me.local)
		die("no memory");
	map.address = me.window;
	must(ucp_config_read(NULL, NULL, &config), "configuration");
	must(ucp_init(&params, config, &me.context), "context");
	ucp_config_release(config);
	must(ucp_worker_create(me.context, &worker, &me.worker), "worker");
	must(ucp_mem_map(me.context, &map, &me.mem), "registration");
}

static int meet(const char *host, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), fd;

	if (host) {
		if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
		    connect(listener, (struct sockaddr *)&address, sizeof(address)) != 0)
			die("cannot connect");
		return listener;
	}
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 1) != 0)
		die("cannot listen");
	fd = accept(listener, NULL, NULL);
	close(listener);
	return fd;
}

static void connect_to(int fd)
{
	struct remote own = {.window = (uintptr_t)me.window};
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
				  .address = (const ucp_address_t *)me.remote.address};
	ucp_address_t *address;
	size_t address_bytes, rkey_bytes;
	void *rkey;

	must(ucp_worker_get_address(me.worker, &address, &address_bytes), "address");
	must(ucp_rkey_pack(me.context, me.mem, &rkey, &rkey_bytes), "packing the key");
	if (address_bytes > PACKED_MAX || rkey_bytes > PACKED_MAX)
		die("address or key too long");
	memcpy(own.address, address, address_bytes);
	memcpy(own.rkey, rkey, rkey_bytes);
	ucp_worker_release_address(me.worker, address);
	ucp_rkey_buffer_release(rkey);
	if (send(fd, &own, sizeof(own), 0) != (ssize_t)sizeof(own) ||
	    recv(fd, &me.remote, sizeof(own), MSG_WAITALL) != (ssize_t)sizeof(own))
		die("cannot exchange addresses");
	must(ucp_ep_create(me.worker, &params, &me.ep), "endpoint");
	must(ucp_ep_rkey_unpack(me.ep, me.remote.rkey, &me.rkey), "unpacking the key");
}

static void destroy(int fd)
{
	char word = 0;

	me.doing = "closing";
	ucp_rkey_destroy(me.rkey);
	finish(ucp_ep_close_nbx(me.ep, &plain));
	/* Who is done helps the other one until it is, too. */
	if (send(fd, &word, 1, 0) != 1)
		die("the other one has gone");
	while (recv(fd, &word, 1, MSG_DONTWAIT) < 0)
		ucp_worker_progress(me.worker);
	close(fd);
	ucp_mem_unmap(me.context, me.mem);
	ucp_worker_destroy(me.worker);
	ucp_cleanup(me.context);
	free(me.window);
	free(me.local);
}

int main(int argc, char **argv)
{
	unsigned int rounds = 2;
	int letter, port = 0, fd;
	const char *host;

	while ((letter = getopt(argc, argv, "ep:r:")) != -1) {
		if (letter == 'e')
			me.sleeps = true;
		else if (letter == 'p')
			port = atoi(optarg);
		else if (letter == 'r')
			rounds = (unsigned int)atoi(optarg);
		else
			return 2;
	}
	host = argv[optind];
	create();
	fd = meet(host, port);
	connect_to(fd);
	for (unsigned int round = 0; round < rounds; round++)
		run_all((round % 2 == 0) == (host != NULL), round);
	ucp_ep_print_info(me.ep, stdout);
	destroy(fd);
	return 0;
}
