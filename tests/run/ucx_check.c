/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ucx_check.c - what ucx_perftest does not do: looks at the bytes. One process listens and one
 * connects; both send tagged messages of many sizes, and the one that connected writes, reads and
 * does atomics in the other's memory.
 *
 *   run_ucx_check <port>             serves one peer
 *   run_ucx_check <port> <address>   connects
 */
/* link: ucp ucs */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { MEMORY_BYTES = 1 << 20, ATOMICS = 100, WORD_AT = MEMORY_BYTES - 64 };

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h peer;
static int sock;

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "not so: %s\n", what);
	exit(1);
}

#define NEED(condition) need(!!(condition), #condition)

/* ---- beside UCX ----------------------------------------------------------------------------- */

static void connect_sockets(int port, const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

	if (address) {
		inet_pton(AF_INET, address, &to.sin_addr);
		NEED(connect(listener, (struct sockaddr *)&to, sizeof(to)) == 0);
		sock = listener;
		return;
	}
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	NEED(bind(listener, (struct sockaddr *)&to, sizeof(to)) == 0 && listen(listener, 1) == 0);
	sock = accept(listener, NULL, NULL);
	NEED(sock >= 0);
}

static void put(const void *bytes, size_t len)
{
	NEED(send(sock, bytes, len, 0) == (ssize_t)len);
}

static void take(void *bytes, size_t len)
{
	NEED(recv(sock, bytes, len, MSG_WAITALL) == (ssize_t)len);
}

/* Both are here; whoever waits makes progress meanwhile, as what the peer does may need it. */
static void meet(void)
{
	char byte = 'x';

	put(&byte, 1);
	while (recv(sock, &byte, 1, MSG_DONTWAIT) != 1)
		ucp_worker_progress(worker);
}

/* ---- UCX ------------------------------------------------------------------------------------ */

static void finish(ucs_status_ptr_t request)
{
	ucs_status_t status;

	NEED(!UCS_PTR_IS_ERR(request));
	if (!request)
		return;
	while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
		ucp_worker_progress(worker);
	NEED(status == UCS_OK);
	ucp_request_free(request);
}

static void open_ucx(void)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
			       .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
					   UCP_FEATURE_AMO64};
	ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
					     .thread_mode = UCS_THREAD_MODE_SINGLE};

	NEED(ucp_init(&params, NULL, &context) == UCS_OK);
	NEED(ucp_worker_create(context, &worker_params, &worker) == UCS_OK);
}

static void connect_workers(void)
{
	ucp_address_t *mine, *theirs;
	uint64_t my_len, their_len;
	size_t len;
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};

	NEED(ucp_worker_get_address(worker, &mine, &len) == UCS_OK);
	my_len = len;
	put(&my_len, sizeof(my_len));
	put(mine, len);
	take(&their_len, sizeof(their_len));
	theirs = malloc(their_len);
	take(theirs, their_len);
	params.address = theirs;
	NEED(ucp_ep_create(worker, &params, &peer) == UCS_OK);
	ucp_worker_release_address(worker, mine);
	free(theirs);
}

/* ---- what is checked ------------------------------------------------------------------------ */

static void fill(uint8_t *bytes, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static void check(const uint8_t *bytes, size_t len, uint32_t seed)
{
	uint8_t *good = malloc(len + 1);

	fill(good, len, seed);
	NEED(memcmp(good, bytes, len) == 0);
	free(good);
}

/* Both ways at once, through every protocol that the size chooses. */
static void messages(uint32_t me)
{
	static const size_t sizes[] = {0,    1,    7,     8,     64,     200,     1000,
				       4096, 8193, 20000, 65536, 200001, 1 << 20, 5 << 20};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ucp_request_param_t param = {.op_attr_mask = 0};
		uint8_t *out = malloc(sizes[i] + 1), *in = calloc(1, sizes[i] + 1);
		ucs_status_ptr_t receive, sent;

		fill(out, sizes[i], 2 * i + me);
		receive = ucp_tag_recv_nbx(worker, in, sizes[i], i, UINT64_MAX, &param);
		sent = ucp_tag_send_nbx(peer, out, sizes[i], i, &param);
		finish(sent);
		finish(receive);
		check(in, sizes[i], 2 * i + !me);
		NEED(in[sizes[i]] == 0);
		free(out);
		free(in);
	}
}

static void remote_memory(ucp_rkey_h rkey, uint64_t base)
{
	ucp_request_param_t param = {.op_attr_mask = 0};
	uint8_t *bytes = malloc(MEMORY_BYTES), *back = malloc(MEMORY_BYTES);
	static const size_t sizes[] = {1, 8, 100, 5000, 70000, 900000};

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(bytes, sizes[i], 100 + i);
		finish(ucp_put_nbx(peer, bytes, sizes[i], base + 3 * i, rkey, &param));
		finish(ucp_ep_flush_nbx(peer, &param));
		memset(back, 0, sizes[i]);
		finish(ucp_get_nbx(peer, back, sizes[i], base + 3 * i, rkey, &param));
		check(back, sizes[i], 100 + i);
	}
	free(bytes);
	free(back);
}

/* Adds and swaps of 4 and 8 bytes: what came back, one after the other. */
static void atomics(ucp_rkey_h rkey, uint64_t word)
{
	for (uint64_t size = 4; size <= 8; size += 4, word += 8) {
		for (uint64_t i = 0; i < ATOMICS; i++) {
			uint64_t one = 3, old = 0;
			ucp_request_param_t param = {
			    .op_attr_mask =
				UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
			    .datatype = ucp_dt_make_contig(size),
			    .reply_buffer = &old,
			};

			finish(ucp_atomic_op_nbx(peer, UCP_ATOMIC_OP_ADD, &one, 1, word, rkey,
						 &param));
			NEED(old == 3 * i);
		}
		for (uint64_t i = 0; i < 2; i++) {
			/* The first compare fits, the second does not. */
			uint64_t compare = 3 * ATOMICS, swap = 0x01020304;
			ucp_request_param_t param = {
			    .op_attr_mask =
				UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER,
			    .datatype = ucp_dt_make_contig(size),
			    .reply_buffer = &swap,
			};

			finish(ucp_atomic_op_nbx(peer, UCP_ATOMIC_OP_CSWAP, &compare, 1, word, rkey,
						 &param));
			NEED(swap == (i == 0 ? 3 * ATOMICS : 0x01020304));
		}
	}
}

static void memory(int serves)
{
	uint8_t *bytes = aligned_alloc(4096, MEMORY_BYTES);
	ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						     UCP_MEM_MAP_PARAM_FIELD_LENGTH,
				       .address = bytes,
				       .length = MEMORY_BYTES};
	ucp_mem_h mem;
	void *packed;
	uint64_t len, base;
	size_t packed_len;
	ucp_rkey_h rkey;

	memset(bytes, 0, MEMORY_BYTES);
	NEED(ucp_mem_map(context, &params, &mem) == UCS_OK);
	if (serves) {
		NEED(ucp_rkey_pack(context, mem, &packed, &packed_len) == UCS_OK);
		len = packed_len;
		base = (uintptr_t)bytes;
		put(&len, sizeof(len));
		put(packed, len);
		put(&base, sizeof(base));
		ucp_rkey_buffer_release(packed);
		meet();
		check(bytes + 15, 900000, 105);
		NEED(memcmp(bytes + WORD_AT, "\4\3\2\1\0\0\0\0\4\3\2\1\0\0\0\0", 16) == 0);
	} else {
		take(&len, sizeof(len));
		packed = malloc(len);
		take(packed, len);
		take(&base, sizeof(base));
		NEED(ucp_ep_rkey_unpack(peer, packed, &rkey) == UCS_OK);
		remote_memory(rkey, base);
		atomics(rkey, base + WORD_AT);
		ucp_rkey_destroy(rkey);
		free(packed);
		meet();
	}
	ucp_mem_unmap(context, mem);
	free(bytes);
}

int main(int argc, char **argv)
{
	ucp_request_param_t param = {.op_attr_mask = 0};
	int serves = argc < 3;

	if (argc < 2)
		return 2;
	connect_sockets(atoi(argv[1]), argv[2]);
	open_ucx();
	connect_workers();
	messages((uint32_t)serves);
	meet();
	memory(serves);
	meet();
	finish(ucp_ep_close_nbx(peer, &param));
	meet();
	ucp_worker_destroy(worker);
	ucp_cleanup(context);
	puts("good");
	return 0;
}
