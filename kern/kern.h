/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern/kern.h - the model of Linux's ib_uverbs and mlx5_ib: bytes in, bytes out.
 *
 * A struct kern is one mlx5 device as the kernel shows it: a uverbs character device and its sysfs
 * files. It answers ioctl, mmap and close as Linux does, on top of one struct nic. It opens no file
 * and owns no descriptor: its caller does that through struct kern_env. Everything that comes in is
 * hostile: it is read once through user_read, checked, and then used.
 *
 * Threads: none; the caller holds the same lock as for the nic. Errors: 0 or -errno, as Linux.
 */
#ifndef KERN_KERN_H
#define KERN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/nic.h"

struct kern;
struct trace_verb; /* [abi/trace.h] */
struct kern_file;    /* one open of the device: a context and all its objects */
struct kern_channel; /* a completion channel or an async event file */

struct kern_env {
	void *ctx;
	/* Application memory, guarded: false if the access faulted. */
	bool (*user_read)(void *ctx, void *dst, uint64_t va, size_t len);
	bool (*user_write)(void *ctx, uint64_t va, const void *src, size_t len);
	/* true if [va, va + len) may be read (and written, if writable) by this process. */
	bool (*user_probe)(void *ctx, uint64_t va, uint64_t len, bool writable);
	uint64_t (*random)(void *ctx);
	/*
	 * A new descriptor for the application, whose read gives the records that are sent to
	 * channel; returned >= 0 or -errno. channel_of is the channel behind a descriptor of the
	 * application, NULL if it is none of ours.
	 */
	int (*channel_open)(void *ctx, struct kern_channel *channel);
	struct kern_channel *(*channel_of)(void *ctx, int fd);
	/* One record (8 bytes: completion; 16 bytes: async event; on a DevX channel up to
	 * KERN_RECORD_BYTES_MAX) to the application. Never blocks. */
	void (*channel_send)(void *ctx, struct kern_channel *channel, const void *record,
			     size_t len);
	/* Takes back the unread records whose first 8 bytes are handle; returns how many there
	 * were. */
	uint32_t (*channel_withdraw)(void *ctx, struct kern_channel *channel, uint64_t handle);
	/* The device is done with channel (its context closed, or its creation failed); a read then
	 * finds the end. The pointer means nothing from here on. */
	void (*channel_close)(void *ctx, struct kern_channel *channel);
	/*
	 * Maps [offset, offset + len) of the dma-buf behind a descriptor of the application, which
	 * may close it at once; *va is where its first byte is, with the same offset in the page.
	 * -EBADF: no descriptor; -EINVAL: no dma-buf, or a shorter one; -EOPNOTSUPP: it cannot be
	 * mapped; -ENOMEM, -EMFILE. What is mapped is touched between nic_env's sync_begin and
	 * sync_end only. dmabuf_unmap ends it. NULL, both: there are no dma-bufs.
	 */
	int (*dmabuf_map)(void *ctx, int fd, uint64_t offset, uint64_t len, bool writable,
			  uint64_t *va);
	void (*dmabuf_unmap)(void *ctx, uint64_t va);
	/*
	 * The file behind a descriptor of the application, by device and inode number; -EBADF.
	 * Contexts that open an XRC domain with the same file get the same one.
	 */
	int (*file_id)(void *ctx, int fd, uint64_t *device, uint64_t *inode);
	/* Optional: told of each ioctl when it has ended. */
	void (*trace)(void *ctx, const struct trace_verb *verb);
};

enum {
	KERN_UVERBS_MAJOR = 231, /* [linux infiniband core/uverbs_main.c IB_UVERBS_MAJOR] */
	KERN_UVERBS_MINOR = 192, /* of uverbs0 */
	KERN_FILE_MAX = 256,     /* open contexts of one device */
	KERN_CHANNEL_MAX = 4096, /* event channels of one device */
	KERN_RECORD_BYTES_MAX = 8 + 65535,
	KERN_CLOCK_PAGES = 2,
};

/* What sysfs says of the PCI device that a NIC is; the strings as their files have them. */
struct kern_pci {
	const char *slot;          /* "7269:00:01.0" */
	int32_t numa_node;         /* -1: none */
	const char *local_cpus;    /* "3" */
	const char *local_cpulist; /* "0-1" */
};

struct kern_config {
	const char *ibdev_name;  /* "soft0", or "mlx5_0" under the shim */
	const char *uverbs_name; /* "uverbs0" */
	uint32_t uverbs_minor;   /* of the device file; its major is 231 */
	const char *fw_version;  /* "rig5 0.1" is not a version: numbers, "16.35.2000" style */
	bool link_infiniband;    /* false: Ethernet */
	uint8_t gids[2][16];     /* GID table; unused entries zero */
	uint32_t gid_count;
	uint16_t lid;       /* the port's, on InfiniBand; 1 to 0xbfff */
	uint32_t mtu_bytes; /* active MTU */
	uint64_t node_guid;
	const struct kern_pci *pci;      /* NULL: it has no place on a bus; copied */
	const char *netdev;              /* name for gid_attrs/ndevs, or NULL */
	uint32_t message_max_bytes_log2; /* 30 */
	/* Pages of 4096 bytes, as mapped into this process: registers, and the last
	 * KERN_CLOCK_PAGES the clock's. */
	void *device_pages;
	uint32_t device_page_count; /* at most 65536 */
	/* The time of day, in nanoseconds since 1970, when the calls' now_ns is 0. */
	uint64_t wall_clock_ns;
	bool ah_map_off; /* no AV_QP_MAPPING objects, as cards with an older firmware */
	struct nic_config limits; /* as the nic was made with: what QUERY_DEVICE reports */
};

size_t kern_arena_bytes(const struct kern_config *config);
/* A device in the zeroed arena, over nic. *config is copied (strings are not); all else must
 * outlive it. */
struct kern *kern_init(void *arena, const struct kern_config *config, const struct kern_env *env,
		       struct nic *nic);

/* -EMFILE: KERN_FILE_MAX are open. */
int kern_open(struct kern *kern, struct kern_file **file);
/* A context for a file that was inherited with one from another process: without its objects. As
 * GET_CONTEXT of libmlx5 makes it. */
void kern_inherit(struct kern_file *file);
/* Destroys whatever the context still has; its channels are closed. */
void kern_close(struct kern_file *file, uint64_t now_ns);
/* The whole uverbs ABI: request is RDMA_VERBS_IOCTL, arg the address of the application's
 * header. */
int kern_ioctl(struct kern_file *file, unsigned long request, uint64_t arg, uint64_t now_ns);

/* What an mmap of the descriptor maps: page_count device pages from page on. -EINVAL: no such
 * offset. */
int kern_mmap(struct kern_file *file, uint64_t offset_bytes, uint64_t len_bytes, bool writable,
	      uint32_t *page, uint32_t *page_count);

/*
 * The device's clock is now_ns. Applications read it from a page that kern_notice sets, so it shows
 * the time of the last pass: who lets an application read it runs one first. Completions carry the
 * time of the pass that wrote them.
 *
 * kern_notice - reads and clears the register pages and hands what they name to the nic
 * (nic_doorbell, nic_cq_arm). A register can be overwritten before it is read: a caller also runs
 * nic_scan now and then, and always before it sleeps. Cost: one load per register page in use when
 * nothing was written.
 */
void kern_notice(struct kern *kern, uint64_t now_ns);

/* channel's slot, below KERN_CHANNEL_MAX: where the caller keeps what belongs to it. */
uint32_t kern_channel_slot(const struct kern_channel *channel);
/* The application closed its last descriptor of channel. Called before that descriptor is gone:
 * what it has not read is withdrawn. Nothing more is sent to it, and the pointer means nothing any
 * more. */
void kern_channel_release(struct kern_channel *channel);

/* nic_env.event of the nic under this device: turns it into a record on the right channel. */
void kern_nic_event(struct kern *kern, const struct nic_event *event);
/* A port event (up, down, GID change) to every context: IB_EVENT_* number [ib_user_verbs.h]. */
void kern_port_event(struct kern *kern, uint32_t ib_event);

/* What QUERY_DEVICE reports as device_cap_flags. */
uint32_t kern_device_cap_flags(void);

/*
 * sysfs, by path below /sys ("class/infiniband/soft0/node_guid"). kern_sysfs_read returns the bytes
 * of the file's text written to buf, or -ENOENT / -EISDIR. kern_sysfs_list writes the name of entry
 * index of a directory to name and returns 0, or -ENOENT past the last.
 */
int kern_sysfs_read(const struct kern *kern, const char *path, char *buf, size_t size);
int kern_sysfs_list(const struct kern *kern, const char *path, uint32_t index, char *name,
		    size_t size);

#endif
