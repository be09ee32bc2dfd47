/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port.c - puts a NIC together: host's port and callbacks, an arena, the nic, the kernel's view.
 *
 * The arena is one mapping without reserve: room for every object that the NIC could ever have, of
 * which only the touched pages cost memory.
 */
#include "soft/port.h"

#include "abi/trace.h"
#include "base/assert.h"
#include "base/be.h"
#include "host/guard.h"
#include "host/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

static const struct nic_config nic_limits = {
    .qp_count_max = 65536,
    .cq_count_max = 65536,
    .mkey_count_max = 262144,
    .pd_count_max = 16384,
    .srq_count_max = 65536,
    .xrcd_count_max = 4096,
    .dc_responder_count_max = 8192,
    .mtu_max_bytes = 4096,
    .rd_atomic_max = 16,
    .message_max_bytes_log2 = 31,
};

enum { SCAN_RECORDS = 64 };

/* ---- callbacks --------------------------------------------------------------------------------
 */

/*
 * A register holds one word: if two threads ring it, the first one's is lost. Each of them runs a
 * pass afterwards (or has one run for it, with a scan), so the two passes are by different threads,
 * and the later of them, or one in between, sees that the thread changed: then every record is
 * looked at.
 */
static void on_notice(void *ctx, uint64_t now_ns)
{
	struct soft_port *port = ctx;
	pthread_t self = pthread_self();

	soft_channels_tend(&port->channels);
	kern_notice(port->kern, now_ns);
	if (!pthread_equal(self, port->last_thread)) {
		port->last_thread = self;
		nic_scan(port->nic, now_ns);
	}
}

/* Of thousands of queue pairs, most idle, a busy one shall not pay for all at once. */
static void on_scan(void *ctx, bool all, uint64_t now_ns)
{
	struct soft_port *port = ctx;

	if (all)
		nic_scan(port->nic, now_ns);
	else
		nic_scan_some(port->nic, SCAN_RECORDS, now_ns);
}

static void on_event(void *ctx, const struct nic_event *event)
{
	struct soft_port *port = ctx;

	kern_nic_event(port->kern, event);
}

static void on_trace(void *ctx, const struct trace_event *event)
{
	const struct soft_port *port = ctx;
	char text[TRACE_TEXT_BYTES];

	trace_text(text, sizeof(text), event);
	port->tracer->tell(port->config.name, text);
}

static void on_verb(void *ctx, const struct trace_verb *verb)
{
	const struct soft_port *port = ctx;
	char text[TRACE_TEXT_BYTES];

	trace_verb_text(text, sizeof(text), verb);
	port->tracer->tell(port->config.name, text);
}

static bool user_probe(void *ctx, uint64_t va, uint64_t len, bool writable)
{
	(void)ctx;
	return host_guard_probe(va, len, writable);
}

static uint64_t random64(void *ctx)
{
	uint64_t value;

	(void)ctx;
	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		value = host_now_ns();
	return value;
}

static int channel_open(void *ctx, struct kern_channel *channel)
{
	struct soft_port *port = ctx;

	return soft_channel_open(&port->channels, channel);
}

static struct kern_channel *channel_of(void *ctx, int fd)
{
	struct soft_port *port = ctx;

	return soft_channel_of(&port->channels, fd);
}

static void channel_send(void *ctx, struct kern_channel *channel, const void *record, size_t len)
{
	struct soft_port *port = ctx;

	soft_channel_send(&port->channels, channel, record, len);
}

static uint32_t channel_withdraw(void *ctx, struct kern_channel *channel, uint64_t handle)
{
	struct soft_port *port = ctx;

	return soft_channel_withdraw(&port->channels, channel, handle);
}

static void channel_close(void *ctx, struct kern_channel *channel)
{
	struct soft_port *port = ctx;

	soft_channel_close(&port->channels, channel);
}

static int file_id(void *ctx, int fd, uint64_t *device, uint64_t *inode)
{
	struct stat st;

	(void)ctx;
	if (fstat(fd, &st) < 0)
		return -errno;
	*device = st.st_dev;
	*inode = st.st_ino;
	return 0;
}

static int dmabuf_map(void *ctx, int fd, uint64_t offset, uint64_t len, bool writable, uint64_t *va)
{
	struct soft_port *port = ctx;

	return soft_dmabuf_map(&port->dmabufs, fd, offset, len, writable, va);
}

static void dmabuf_unmap(void *ctx, uint64_t va)
{
	struct soft_port *port = ctx;

	soft_dmabuf_unmap(&port->dmabufs, va);
}

static bool on_sync_begin(void *ctx, uint64_t va, bool writable)
{
	struct soft_port *port = ctx;

	return soft_dmabuf_begin(&port->dmabufs, va, writable);
}

static void on_sync_end(void *ctx, uint64_t va, bool writable)
{
	struct soft_port *port = ctx;

	soft_dmabuf_end(&port->dmabufs, va, writable);
}

/* The time of day when host_now_ns is 0. */
static uint64_t wall_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - host_now_ns();
}

/* ---- bringing it up ----------------------------------------------------------------------------
 */

static struct kern_config kern_config_of(const struct soft_port *port,
					 const struct soft_port_names *names)
{
	const char *interface = host_port_interface(port->host);
	struct kern_config config = {
	    .ibdev_name = names->ibdev ? names->ibdev : port->config.name,
	    .uverbs_name = port->uverbs,
	    .uverbs_minor = KERN_UVERBS_MINOR + names->uverbs,
	    .pci = names->pci,
	    .fw_version = "0.1.0",
	    .gid_count = 1,
	    .mtu_bytes = host_port_mtu(port->host),
	    .netdev = interface[0] ? interface : NULL,
	    /* As cards report it; the transport carries twice as much [cases 2]. */
	    .message_max_bytes_log2 = 30,
	    .device_pages = port->pages,
	    .device_page_count = SOFT_PAGE_COUNT,
	    .wall_clock_ns = wall_clock_ns(),
	    .ah_map_off = port->config.ah_map_off,
	    .limits = port->limits,
	};
	uint32_t address;

	/* A locally administered number that names the port by its address. */
	host_port_gid(port->host, config.gids[0]);
	if (port->config.infiniband) {
		config.link_infiniband = true;
		config.lid = host_port_lid(port->host);
		config.node_guid = be64_load(config.gids[0] + 8);
		config.netdev = NULL;
		return config;
	}
	memcpy(&address, config.gids[0] + 12, sizeof(address));
	config.node_guid = UINT64_C(0x020000fffe) << 24 | (ntohl(address) & 0xffffff);
	return config;
}

static void *map_memory(size_t bytes, int sharing)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int refuse_memory(size_t bytes, char *why, size_t why_size)
{
	if (why_size != 0)
		snprintf(why, why_size,
			 "no room for a software NIC: %zu MiB of address space (not of memory) are "
			 "needed; look at `ulimit -v` and vm.overcommit_memory",
			 bytes >> 20);
	return -ENOMEM;
}

static size_t round_to_page(size_t bytes)
{
	return (bytes + SOFT_PAGE_BYTES - 1) & ~(size_t)(SOFT_PAGE_BYTES - 1);
}

/* The nic and the kernel's view, in one arena. */
static int build(struct soft_port *port, const struct soft_port_names *names, char *why,
		 size_t why_size)
{
	const struct kern_env kern_env = {
	    .ctx = port,
	    .user_read = host_guard_read,
	    .user_write = host_guard_write,
	    .user_probe = user_probe,
	    .random = random64,
	    .channel_open = channel_open,
	    .channel_of = channel_of,
	    .channel_send = channel_send,
	    .channel_withdraw = channel_withdraw,
	    .channel_close = channel_close,
	    .file_id = file_id,
	    .dmabuf_map = dmabuf_map,
	    .dmabuf_unmap = dmabuf_unmap,
	    .trace = port->tracer ? on_verb : NULL,
	};
	struct kern_config config;
	size_t nic_bytes;

	port->limits = nic_limits;
	port->limits.mtu_max_bytes = host_port_mtu(port->host);
	port->limits.lid = host_port_lid(port->host);
	port->limits.ece_plain = port->config.ece_plain;
	port->limits.cc_params = &nic_cc_host;
	port->limits.cc_algorithm = port->config.cc_algorithm;
	config = kern_config_of(port, names);
	nic_bytes = round_to_page(nic_arena_bytes(&port->limits));
	port->arena_bytes = nic_bytes + round_to_page(kern_arena_bytes(&config));
	port->arena = map_memory(port->arena_bytes, MAP_PRIVATE);
	if (!port->arena)
		return refuse_memory(port->arena_bytes, why, why_size);
	/* A child of fork has no use for it: do not copy its page tables. */
	madvise(port->arena, port->arena_bytes, MADV_DONTFORK);
	host_port_env(port->host, &port->env);
	port->nic = nic_init(port->arena, &port->limits, &port->env, random64(port));
	port->kern = kern_init((char *)port->arena + nic_bytes, &config, &kern_env, port->nic);
	return 0;
}

static void free_all(struct soft_port *port)
{
	soft_dmabufs_free(&port->dmabufs);
	soft_channels_free(&port->channels);
	if (port->arena)
		munmap(port->arena, port->arena_bytes);
	munmap(port->pages, (size_t)SOFT_PAGE_COUNT * SOFT_PAGE_BYTES);
	free(port);
}

static int bring_up(struct soft_port *port, const struct soft_port_names *names, char *why,
		    size_t why_size)
{
	const struct host_port_config config = {
	    .name = port->config.name,
	    .address = port->config.address[0] ? port->config.address : NULL,
	    .infiniband = port->config.infiniband,
	    .lid = port->config.lid,
	    .mtu_bytes = nic_limits.mtu_max_bytes,
	    .notice = on_notice,
	    .scan = on_scan,
	    .event = on_event,
	    .sync_begin = on_sync_begin,
	    .sync_end = on_sync_end,
	    .ctx = port,
	    .trace = port->tracer ? on_trace : NULL,
	    .keep_fds = {port->channels.take_over, port->tracer ? port->tracer->fd : 0},
	    .stores = names->stores,
	};
	int error = host_port_join(&config, &port->host, why, why_size);

	if (error)
		return error;
	soft_channels_hand_over(&port->channels, host_port_has_own_table(port->host));
	error = build(port, names, why, why_size);
	if (error)
		goto err_leave;
	error = host_port_start(port->host, port->nic);
	if (error) {
		if (why_size != 0)
			snprintf(why, why_size, "cannot start the engine thread of %s: %s",
				 port->config.name, strerror(-error));
		goto err_leave;
	}
	return 0;
err_leave:
	host_port_leave(port->host);
	return error;
}

int soft_port_open(const struct soft_nic *nic, const struct soft_port_names *names,
		   struct soft_port **port, char *why, size_t why_size)
{
	struct soft_port *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return refuse_memory(sizeof(*made), why, why_size);
	made->config = *nic;
	made->tracer = names->tracer;
	snprintf(made->uverbs, sizeof(made->uverbs), "uverbs%u", names->uverbs);
	/* Shared: an application maps single pages of it as its own (soft_port_map). */
	made->pages = map_memory((size_t)SOFT_PAGE_COUNT * SOFT_PAGE_BYTES, MAP_SHARED);
	if (!made->pages) {
		free(made);
		return refuse_memory((size_t)SOFT_PAGE_COUNT * SOFT_PAGE_BYTES, why, why_size);
	}
	error = soft_channels_init(&made->channels);
	if (error) {
		munmap(made->pages, (size_t)SOFT_PAGE_COUNT * SOFT_PAGE_BYTES);
		free(made);
		return error;
	}
	soft_dmabufs_init(&made->dmabufs, &made->channels);
	error = bring_up(made, names, why, why_size);
	if (error) {
		free_all(made);
		return error;
	}
	*port = made;
	return 0;
}

void soft_port_close(struct soft_port *port)
{
	ASSERT(!soft_port_forked(port));
	host_port_leave(port->host);
	free_all(port);
}

bool soft_port_forked(const struct soft_port *port)
{
	return host_port_forked(port->host);
}

void soft_port_lock(struct soft_port *port)
{
	/* Control calls read what the application points at; it may have taken our handler away. */
	host_guard_recheck();
	host_port_lock(port->host);
}

void soft_port_unlock(struct soft_port *port)
{
	host_port_unlock(port->host);
}

void *soft_port_page(const struct soft_port *port, uint32_t page)
{
	ASSERT(page < SOFT_PAGE_COUNT);
	return (char *)port->pages + (size_t)page * SOFT_PAGE_BYTES;
}

/* An old size of 0 makes mremap map the pages of a shared mapping a second time [mremap(2)]. */
void *soft_port_map(struct soft_port *port, uint32_t page, uint32_t count, int prot, void *fixed)
{
	size_t bytes = (size_t)count * SOFT_PAGE_BYTES;
	int flags = fixed ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE;
	void *mapped;

	ASSERT(page < SOFT_PAGE_COUNT && count <= SOFT_PAGE_COUNT - page);
	mapped = mremap(soft_port_page(port, page), 0, bytes, flags, fixed);
	if (mapped == MAP_FAILED)
		return NULL;
	if (mprotect(mapped, bytes, prot) != 0) {
		munmap(mapped, bytes);
		return NULL;
	}
	if (prot & PROT_WRITE)
		host_port_registers(port->host, mapped, bytes);
	return mapped;
}

/*
 * A program may make channel after channel on which nothing ever happens: the port's threads then
 * have no other reason to take them over. Not for ever: they may be stopped, or short of room.
 */
void soft_port_await_takers(struct soft_port *port)
{
	const struct timespec nap = {.tv_nsec = 100000};

	for (int i = 0; i < 2000 && soft_channels_crowded(&port->channels); i++) {
		host_port_wake(port->host);
		nanosleep(&nap, NULL);
	}
}
