/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern_rig.h - a software NIC and its kernel's view with everything around them made up:
 * application memory is one block (whatever lies outside of it faults), channels are lists, and
 * packets go straight back into the same nic. ioctls are built byte for byte, as a library would.
 */
#ifndef TESTS_SUPPORT_KERN_RIG_H
#define TESTS_SUPPORT_KERN_RIG_H

#include "abi/mlx5_uapi.h"
#include "abi/uverbs.h"
#include "kern/kern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RIG_MEMORY_BYTES = 1 << 20,
	RIG_PAGES = 8,                 /* of registers that there are to be given */
	RIG_PAGES_ALL = 1 + RIG_PAGES, /* page 0 is given to nobody */
	RIG_CHANNELS = 16,
	RIG_RECORDS = 64,
	RIG_RECORD_BYTES = 320,
	RIG_FD_FIRST = 1000,
	RIG_ATTRS = 64,
	RIG_LID = 7,
};

#define RIG_WALL_CLOCK_NS UINT64_C(1700000000123456789)

struct rig_channel {
	struct kern_channel *kern; /* NULL: closed or never opened */
	bool open;
	unsigned int count; /* unread records */
	uint8_t records[RIG_RECORDS][RIG_RECORD_BYTES];
	uint16_t lens[RIG_RECORDS];
};

/* A dma-buf behind descriptor `fd` that tells how it was used. It may lie in the rig's memory, and
 * so be registered as such, too; or elsewhere. */
struct rig_dmabuf {
	int fd; /* 0: there is none */
	uint8_t *bytes;
	uint64_t len_bytes;
	int map_error;       /* what mapping it returns, if not 0 */
	bool unreachable;    /* sync_begin fails */
	bool map_writable;   /* as it was last asked for */
	unsigned int maps;   /* that are mapped now */
	unsigned int begins; /* for reading */
	unsigned int begins_writable;
	unsigned int ends;
	bool open, open_writable; /* between begin and end */
	unsigned int stray; /* accesses that were not, or wrote where only reading was asked */
};

struct kern_rig {
	struct rig_dmabuf dmabuf;
	struct kern *kern;
	struct nic *nic;
	struct kern_file *file; /* where calls go, unless ioctl is set */
	int (*ioctl)(void *ctx, unsigned long request, void *arg);
	void *ioctl_ctx;
	void (*before_run)(struct kern_rig *rig); /* sees each call when it is built; may be NULL */
	struct nic_env nic_env;
	struct kern_env kern_env;
	struct kern_config config;
	void *nic_arena;
	void *kern_arena;
	uint8_t *pages;
	uint8_t *memory;
	size_t memory_used;
	struct rig_channel channels[RIG_CHANNELS];
	bool loses_records;  /* those that a channel has no room for */
	int channel_error;   /* what channel_open returns, if not 0 */
	uint64_t unwritable; /* writes to this address and the next 63 fault; 0: none do */
	uint64_t now_ns;
	uint32_t blocks;
	uint8_t packet[8192];
	size_t packet_len;
	/* the call being built */
	struct ib_uverbs_ioctl_hdr *hdr;
	struct ib_uverbs_attr *attrs;
};

void kern_rig_open(struct kern_rig *rig);
/* The same with an InfiniBand port, of RIG_LID. */
void kern_rig_open_infiniband(struct kern_rig *rig);
void kern_rig_close(struct kern_rig *rig);
/* A rig that only builds calls and gives them to ioctl, and application memory for them. */
void kern_rig_over(struct kern_rig *rig, int (*ioctl)(void *ctx, unsigned long request, void *arg),
		   void *ctx);
void kern_rig_over_close(struct kern_rig *rig);

/* size bytes of zeroed application memory, 64-byte aligned; its address is what the NIC sees. */
void *rig_alloc(struct kern_rig *rig, size_t size);
uint64_t rig_va(const void *memory);

/* A call: begin, any number of attributes, run. in: inline up to 8 bytes. out: returns the buffer.
 */
void rig_call(struct kern_rig *rig, uint16_t object, uint16_t method);
void rig_in(struct kern_rig *rig, uint16_t id, const void *src, uint16_t len);
void rig_in64(struct kern_rig *rig, uint16_t id, uint64_t value);
void rig_in32(struct kern_rig *rig, uint16_t id, uint32_t value);
void *rig_out(struct kern_rig *rig, uint16_t id, uint16_t len);
struct ib_uverbs_attr *rig_attr(struct kern_rig *rig, uint16_t id, uint64_t data, uint16_t len);
int rig_run(struct kern_rig *rig);
/* The value of the first attribute called id, as it is in application memory now; 0: none. */
uint64_t rig_data(const struct kern_rig *rig, uint16_t id);
bool rig_is_valid(const struct kern_rig *rig, uint16_t id);

/* The write commands: what INVOKE_WRITE carries. */
int rig_write(struct kern_rig *rig, uint32_t cmd, const void *req, uint16_t req_len, void *resp,
	      uint16_t resp_len, void *uhw_out, uint16_t uhw_len);

/* Whole steps as libmlx5 does them. They return 0 or the call's error. */
int rig_context(struct kern_rig *rig);
int rig_pd(struct kern_rig *rig, uint32_t *handle);
int rig_mr(struct kern_rig *rig, uint32_t pd, void *memory, uint64_t len, uint32_t access,
	   struct ib_uverbs_reg_mr_resp *resp);
int rig_uar(struct kern_rig *rig, uint32_t *handle, uint32_t *page);
int rig_comp_channel(struct kern_rig *rig, int *fd);
int rig_async(struct kern_rig *rig, int *fd);

struct rig_cq {
	uint32_t handle;
	uint32_t number;
	uint32_t cqe; /* asked for on the way in, got on the way out */
	uint64_t user_handle;
	int comp_fd; /* -1: none */
	uint32_t uar_page;
	uint8_t *ring;
	uint32_t *record;
};
int rig_cq(struct kern_rig *rig, struct rig_cq *cq);
/* rig_begin - opens *rig, with a context, an asynchronous file, a protection domain, a page of
 * registers and a completion queue of 16 on it. */
int rig_begin(struct kern_rig *rig, bool infiniband, uint32_t *pd, uint32_t *page,
	      struct rig_cq *cq);
int rig_destroy_cq(struct kern_rig *rig, uint32_t handle, struct ib_uverbs_destroy_cq_resp *resp);

struct rig_qp {
	uint32_t handle;
	uint32_t number;
	uint32_t pd;
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t uar_page;
	uint32_t type;        /* 0: RC */
	uint32_t ece_options; /* asked for on the way in, got on the way out */
	uint64_t user_handle;
	uint32_t sq_count;
	uint32_t rq_count;
	uint8_t *ring;
	uint32_t *record;
};
int rig_qp(struct kern_rig *rig, struct rig_qp *qp);
/* rig_qp_of - a reliable one, of 8 entries and 16 receives, which complete to cq. */
int rig_qp_of(struct kern_rig *rig, uint32_t pd, const struct rig_cq *cq, struct rig_qp *qp);
int rig_destroy_qp(struct kern_rig *rig, uint32_t handle, uint32_t *events);
int rig_modify(struct kern_rig *rig, struct ib_uverbs_modify_qp *req);
/* RESET to RTS with the masks of ibv_rc_pingpong, connected to dest_qpn on the same port. */
int rig_connect(struct kern_rig *rig, const struct rig_qp *qp, uint32_t dest_qpn);
int rig_query(struct kern_rig *rig, uint32_t handle, struct ib_uverbs_query_qp_resp *resp);
/* A method with one handle and nothing else: PD, MR, AH, UAR destroy. */
int rig_destroy(struct kern_rig *rig, uint16_t object, uint16_t method, uint16_t id,
		uint32_t handle);

/* Notices registers and runs the nic until it is idle. */
void rig_pump(struct kern_rig *rig);

#endif
