/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern/state.h - what the files of kern/ share: the device, its contexts, their objects and
 * channels, and one ioctl in progress. Not for anybody else.
 *
 * Everything lies in fixed tables in the arena. A handle is an object's slot in the table; it is
 * good only in the context that owns the object. Objects of a context hang on a list, newest first:
 * an object only ever uses older ones, so that destroying in that order never meets a busy one.
 */
#ifndef KERN_STATE_H
#define KERN_STATE_H

#include "abi/mlx5_db.h"
#include "abi/mlx5_uapi.h"
#include "abi/uverbs.h"
#include "kern/kern.h"

#include <linux/errno.h>
#include <linux/types.h>

enum {
	KERN_GID_TABLE_COUNT = 16,
	KERN_PKEY_TABLE_COUNT = 1,
	KERN_PORT = 1, /* the only port's number */
	KERN_COMP_VECTOR_COUNT = 1,
	KERN_AH_COUNT_MAX = 65536,
	KERN_CQE_COUNT_LOG2_MAX = 22,
	KERN_WQEBB_COUNT_MAX = 32768,
	KERN_SRQ_WQE_COUNT_MAX = 32768, /* entries of a ring; one less can be posted */
	KERN_WQE_SEND_BYTES_MAX = 1024,
	KERN_WQE_RECV_BYTES_MAX = 512,
	KERN_BLUEFLAME_BYTES = 512,
	KERN_DYNAMIC_BFREGS = 512,
	KERN_BFREGS_MAX = 512,
	KERN_BFREGS_PER_PAGE = 2,
	KERN_VENDOR_ID = 0x02c9,
	KERN_PART_ID = 0x101b,
	/* Streams of DC initiators: they take turns, however many there are. */
	KERN_DCI_STREAMS_LOG2_MAX = 6,
	KERN_DCI_STREAMS_FAILED_LOG2_MAX = 4,
	KERN_CLOCK_KHZ = 1000000,      /* the device's clock counts nanoseconds */
	KERN_USES_MAX = 8,             /* objects that one object names */
	KERN_DEVX_COUNT_MAX = 65536,   /* objects that only DevX has, and umems */
	KERN_UDP_SPORT_FIRST = 0xc000, /* RoCE v2 source ports start here [RoCEv2 A17] */
	KERN_EQN = 1,                  /* the event queue of completion vector 0 */
	KERN_PP_COUNT = 128,
	KERN_PP_CONTEXT_BYTES = 48,
	KERN_MAILBOX_BYTES = 65536 + 64,
};

enum kern_object_type {
	KERN_FREE,
	KERN_PD,
	KERN_CQ,
	KERN_QP,
	KERN_MR,
	KERN_AH,
	KERN_UAR,
	KERN_UMEM,     /* application memory that DevX commands name [devx_umem.c] */
	KERN_DEVX_OBJ, /* made by a firmware command, of whatever kind [devx.c] */
	KERN_VAR,
	KERN_PP,
	KERN_MW,
	KERN_DM,
	KERN_SRQ,
	KERN_XRCD,
	KERN_FLOW,
	KERN_WQ,
	KERN_RWQ_TABLE, /* holds the WQs that it names [rss.c] */
};

#define KERN_ANY 0xff /* in a method's spec: an object of any type */

#define KERN_NONE UINT32_MAX /* no slot */

/* Places in kern_object.uses. */
enum {
	KERN_USE_PD,
	KERN_USE_SEND_CQ, /* of an XRC SRQ: its completion queue */
	KERN_USE_RECV_CQ,
	KERN_USE_SRQ,
	KERN_USE_XRCD,
	KERN_USE_RING, /* of what DevX made: the umem of its ring; of a memory key, of its bytes */
	KERN_USE_RECORD, /* likewise, of its doorbell record */
	KERN_USE_TABLE,  /* of a queue pair with a hash */
};

struct kern_object {
	enum kern_object_type type;
	uint32_t users; /* objects that name this one: not 0 means busy */
	uint32_t
	    number; /* PDN, CQN, QPN, key or register page, as the nic or the page table has it */
	uint32_t newer; /* in the context's list, or KERN_NONE */
	uint32_t older; /* likewise; of a free slot: the next free one */
	struct kern_file *file;
	uint64_t user_handle;       /* what events carry */
	struct kern_channel *comp;  /* of a completion queue, or NULL */
	struct kern_channel *async; /* of a queue pair or completion queue, or NULL */
	uint32_t comp_events;       /* sent and not withdrawn */
	uint32_t async_events;
	struct kern_object *uses[KERN_USES_MAX]; /* see KERN_USE_*; NULL: none */
	enum nic_qp_type qp_type;                /* of a queue pair */
	struct ib_uverbs_qp_cap cap;             /* of a queue pair, as asked for */
	uint32_t rq_wqe_count;
	uint32_t own_rqtn;       /* of a TIR of one queue: the table that it was given; else 0 */
	uint32_t tirn;           /* of a queue pair with a hash, whose number is 0; else 0 */
	uint32_t max_wr;         /* of an SRQ or WQ; of a DevX table of WQs: its longest */
	uint32_t max_sge;        /* likewise */
	uint32_t next_open;      /* of an XRC target: the next handle of the same, in a ring */
	uint32_t cqe_count;      /* of a completion queue: what its ring has */
	uint32_t cqe_size_bytes; /* likewise */
	uint32_t access;         /* of a region of host memory: as asked for */
	uint32_t bfreg;          /* of a queue pair: the context's register that it has, or
				    KERN_NONE: its driver chose a page */
	uint64_t len_bytes;      /* of a region or umem */
	uint64_t iova;           /* likewise: its first address, as applications name it */
	bool sq_signal_all;
	bool is_dmabuf;   /* of a region */
	bool is_dm;       /* of a region of device memory */
	uint64_t host_va; /* of a region of a dma-buf: where it is mapped; of a umem: its start */
	bool is_writable; /* of a umem */
	uint32_t key;     /* of a DevX memory key: as it was made */
	uint16_t devx_opcode;   /* of a DevX object: the command that made it */
	uint16_t devx_type;     /* and of a general object, its type */
	uint32_t subscriptions; /* the first of its events' subscribers, or KERN_NONE */
};

/* Which records a channel carries. */
enum kern_channel_kind {
	KERN_CHANNEL_COMP,
	KERN_CHANNEL_ASYNC,
	KERN_CHANNEL_DEVX_CMD,   /* answers of asynchronous queries */
	KERN_CHANNEL_DEVX_EVENT, /* events that were subscribed to */
};

/* An XRC domain, at its number: one for all contexts that opened it with the same file. */
struct kern_xrcd {
	uint32_t users; /* objects; 0: there is no such domain */
	bool named;     /* by a file */
	uint64_t device;
	uint64_t inode;
};

struct kern_channel {
	struct kern_file *file; /* NULL: free slot */
	struct kern *kern;
	uint8_t kind;   /* enum kern_channel_kind */
	bool omit_data; /* DEVX_EVENT: the cookie only */
	bool released;  /* the application closed it; objects still name it */
	uint32_t users;
};

struct kern_file {
	struct kern *kern;
	bool open;
	bool context; /* GET_CONTEXT succeeded */
	bool devx;
	uint8_t cqe_version;
	/* Registers of a context whose driver does not know register pages as objects [bfreg.c]. */
	uint16_t bfreg_count;           /* 0: pages are objects */
	uint16_t bfreg_dedicated_count; /* the last of them: for one queue pair each */
	uint16_t bfreg_users[KERN_BFREGS_MAX];
	uint16_t bfreg_pages[KERN_BFREGS_MAX / KERN_BFREGS_PER_PAGE];
	uint16_t dynamic_pages[KERN_DYNAMIC_BFREGS / KERN_BFREGS_PER_PAGE]; /* 0: none, or page + 1
									     */
	uint32_t newest;        /* object, or KERN_NONE */
	uint32_t subscriptions; /* to events of no object: the first, or KERN_NONE */
	struct kern_channel *async_default;
};

struct kern_page {
	struct kern_file *file; /* NULL: not in use */
	uint32_t live_at;       /* its place in page_live */
};

struct kern_subscription; /* [devx_event.c] */

/* A rate that queue pairs could be paced at; users 0: a free entry [pp.c]. */
struct kern_pp {
	uint32_t users;
	bool dedicated; /* to one object */
	uint8_t context[KERN_PP_CONTEXT_BYTES];
};

struct kern {
	uint64_t now_ns; /* of the call that is running */
	struct kern_config config;
	struct kern_pci pci;
	struct kern_env env;
	struct nic *nic;
	struct kern_object *objects;
	uint32_t object_count; /* slots */
	uint32_t object_fresh; /* slots below this one were used before */
	uint32_t object_free;  /* first free one of those, or KERN_NONE */
	uint32_t ah_count;
	struct kern_xrcd *xrcds;
	struct kern_channel *channels;
	uint32_t channel_fresh;
	struct kern_page *pages;
	uint16_t *page_live; /* pages in use, page_live_count of them, in no order */
	uint32_t page_live_count;
	uint32_t register_page_count;
	uint64_t *clock_word; /* what applications read as the time: big endian */
	uint32_t page_next;   /* where the search for a free page starts */
	struct kern_subscription *subscriptions;
	uint32_t subscription_fresh;
	uint32_t subscription_free; /* first free one below, or KERN_NONE */
	uint8_t *mailbox_in;        /* a command; KERN_MAILBOX_BYTES each */
	uint8_t *mailbox_out;       /* room for a header, and its answer */
	struct kern_pp pps[KERN_PP_COUNT];
	struct kern_file files[KERN_FILE_MAX];
};

/* ---- one ioctl --------------------------------------------------------------------------------
 */

enum kern_attr_type {
	KERN_ATTR_IN, /* bytes: in data up to 8, behind it else */
	KERN_ATTR_OUT,
	KERN_ATTR_OBJECT,  /* handle of an object of spec.object, in data */
	KERN_ATTR_NEW,     /* handle written back to data */
	KERN_ATTR_CHANNEL, /* descriptor in data; spec.object: enum kern_channel_kind */
	KERN_ATTR_FD,      /* descriptor of anything in data */
	KERN_ATTR_NEW_CHANNEL,
};

#define KERN_MANDATORY_F 1u
#define KERN_ZERO_TRAILING_F                                                 \
	2u /* longer is good if the rest is zero; output: the rest is zeroed \
	    */

struct kern_attr_spec {
	uint16_t id;
	uint8_t type; /* enum kern_attr_type */
	uint8_t flags;
	uint16_t len_min;
	uint16_t len_max;
	uint8_t object; /* enum kern_object_type, or see KERN_ATTR_CHANNEL */
};

struct kern_call;

struct kern_method {
	uint16_t object;
	uint16_t method;
	bool udata; /* takes UVERBS_ATTR_UHW_IN and _OUT */
	uint8_t attr_count;
	const struct kern_attr_spec *attrs;
	int (*handler)(struct kern_call *call);
};

/* Specs, in the kernel's own words [linux uverbs_ioctl.h]. */
#define KERN_IN(id_, type_)                                                   \
	{                                                                     \
		.id = (id_), .type = KERN_ATTR_IN, .flags = KERN_MANDATORY_F, \
		.len_min = sizeof(type_), .len_max = sizeof(type_)            \
	}
#define KERN_IN_OPTIONAL(id_, type_)                                         \
	{                                                                    \
		.id = (id_), .type = KERN_ATTR_IN, .len_min = sizeof(type_), \
		.len_max = sizeof(type_)                                     \
	}
#define KERN_CONST_IN(id_) KERN_IN(id_, uint64_t)
#define KERN_FLAGS_IN(id_)                                                    \
	{                                                                     \
		.id = (id_), .type = KERN_ATTR_IN, .len_min = 4, .len_max = 8 \
	}
#define KERN_OUT(id_, type_)                                                   \
	{                                                                      \
		.id = (id_), .type = KERN_ATTR_OUT, .flags = KERN_MANDATORY_F, \
		.len_min = sizeof(type_), .len_max = sizeof(type_)             \
	}
#define KERN_OUT_OPTIONAL(id_, type_)                                         \
	{                                                                     \
		.id = (id_), .type = KERN_ATTR_OUT, .len_min = sizeof(type_), \
		.len_max = sizeof(type_)                                      \
	}
#define KERN_OUT_STRUCT(id_, type_)                                                         \
	{                                                                                   \
		.id = (id_), .type = KERN_ATTR_OUT,                                         \
		.flags = KERN_MANDATORY_F | KERN_ZERO_TRAILING_F, .len_min = sizeof(type_), \
		.len_max = sizeof(type_)                                                    \
	}
#define KERN_IN_BYTES(id_, min_, flags_)                                                 \
	{                                                                                \
		.id = (id_), .type = KERN_ATTR_IN, .flags = (flags_), .len_min = (min_), \
		.len_max = UINT16_MAX                                                    \
	}
#define KERN_OUT_BYTES(id_, min_, flags_)                                                 \
	{                                                                                 \
		.id = (id_), .type = KERN_ATTR_OUT, .flags = (flags_), .len_min = (min_), \
		.len_max = UINT16_MAX                                                     \
	}
#define KERN_OBJECT(id_, object_, flags_)                                                     \
	{                                                                                     \
		.id = (id_), .type = KERN_ATTR_OBJECT, .flags = (flags_), .object = (object_) \
	}
#define KERN_NEW(id_)                                                         \
	{                                                                     \
		.id = (id_), .type = KERN_ATTR_NEW, .flags = KERN_MANDATORY_F \
	}
#define KERN_CHANNEL(id_, kind_)                                          \
	{                                                                 \
		.id = (id_), .type = KERN_ATTR_CHANNEL, .object = (kind_) \
	}

#define KERN_FD(id_)                                                         \
	{                                                                    \
		.id = (id_), .type = KERN_ATTR_FD, .flags = KERN_MANDATORY_F \
	}

enum { KERN_ATTR_MAX = 20 };

struct kern_attr {
	bool present;
	uint16_t len;
	uint16_t flags;
	uint16_t position; /* in the application's array */
	uint64_t data;
	struct kern_object *object;
	struct kern_channel *channel;
};

struct kern_call {
	struct kern *kern;
	struct kern_file *file;
	uint64_t now_ns;
	uint64_t attrs_va;
	const struct kern_method *method;
	struct kern_attr attrs[KERN_ATTR_MAX]; /* by place in method->attrs, then UHW_IN, UHW_OUT */
	struct kern_object *new_object; /* made by this call: destroyed if it fails in the end */
	struct kern_channel *new_channel;
	int new_fd;
};

/* A response whose object is a method of the write() interface. */
struct kern_write_cmd {
	uint32_t cmd;
	uint16_t req_bytes;
	uint16_t resp_bytes;
	int (*handler)(struct kern_call *call);
};

/* kern_call_attr - the attribute that the method calls id, or NULL if it is not there. */
struct kern_attr *kern_call_attr(struct kern_call *call, uint16_t id);
struct kern_object *kern_call_object(struct kern_call *call, uint16_t id);
struct kern_channel *kern_call_channel(struct kern_call *call, uint16_t id);
/* kern_call_read - the first size bytes of an input attribute, zeroes after its end. -ENOENT,
 * -EFAULT. */
int kern_call_read(struct kern_call *call, uint16_t id, void *dst, size_t size);
/* kern_call_read_exact - likewise, and -EOPNOTSUPP if what is beyond size is not zero. */
int kern_call_read_exact(struct kern_call *call, uint16_t id, void *dst, size_t size);
/* kern_call_const, kern_call_flags - -EINVAL: over max, or a bit outside allowed. */
int kern_call_const(struct kern_call *call, uint16_t id, uint64_t max, uint64_t *value);
int kern_call_flags(struct kern_call *call, uint16_t id, uint32_t allowed, uint32_t *value);
/* kern_call_write - at most size bytes into an output attribute, marked as valid; the rest of it is
 * zeroed where its spec says so, or whole is set. An absent optional attribute: 0. */
int kern_call_write(struct kern_call *call, uint16_t id, const void *src, size_t size);
int kern_call_write_whole(struct kern_call *call, uint16_t id, const void *src, size_t size);
/* Length of an attribute, 0 if absent. */
size_t kern_call_len(struct kern_call *call, uint16_t id);
/* 0 or -EFAULT. */
int kern_user_zero(struct kern *kern, uint64_t va, size_t len);
bool kern_user_is_zero(struct kern *kern, uint64_t va, size_t len, int *error);

/* ---- objects [object.c] -----------------------------------------------------------------------
 */

/* kern_object_create - a new object of the context, or NULL if the table is full. */
struct kern_object *kern_object_create(struct kern_file *file, enum kern_object_type type);
/* kern_object_drop - gives back a slot whose object the nic does not have (any more). */
void kern_object_drop(struct kern_object *object);
uint32_t kern_object_handle(const struct kern_object *object);
/* kern_object_find - 0 and *object, -ENOENT (no such handle here) or -EINVAL (another type). type
 * is an enum kern_object_type or KERN_ANY. */
int kern_object_find(struct kern_file *file, uint64_t handle, unsigned int type,
		     struct kern_object **object);
void kern_object_use(struct kern_object *object, unsigned int place, struct kern_object *used);
/* kern_object_use_newer - the same instead of what it used there, which may be older than `used`:
 * object, which nobody uses, becomes the newest. */
void kern_object_use_newer(struct kern_object *object, unsigned int place,
			   struct kern_object *used);

struct kern_destroyed {
	uint32_t comp_events; /* that the application has read */
	uint32_t async_events;
};
/* kern_object_destroy - 0, or -EBUSY. destroyed may be NULL. */
int kern_object_destroy(struct kern_object *object, struct kern_destroyed *destroyed);

/* ---- channels [channel.c] ---------------------------------------------------------------------
 */

int kern_channel_create(struct kern_call *call, enum kern_channel_kind kind);
void kern_channel_get(struct kern_channel *channel);
/* kern_call_async - where the new object's events go: to the channel that the call names, or the
 * context's first. */
void kern_call_async(struct kern_call *call, uint16_t attr, struct kern_object *object);
void kern_channel_put(struct kern_channel *channel);
void kern_channel_destroy(struct kern_channel *channel);
int kern_channel_find(struct kern_file *file, int64_t fd, enum kern_channel_kind kind,
		      struct kern_channel **channel);
void kern_event_async(struct kern_object *object, uint32_t event);
int kern_async_event_alloc(struct kern_call *call);
int kern_write_create_comp_channel(struct kern_call *call);

/* ---- handlers ---------------------------------------------------------------------------------
 */

int kern_invoke_write(struct kern_call *call);
int kern_get_context(struct kern_call *call);
int kern_query_port(struct kern_call *call);
int kern_query_gid_table(struct kern_call *call);
int kern_query_gid_entry(struct kern_call *call);
int kern_write_query_device(struct kern_call *call);
int kern_write_query_device_ex(struct kern_call *call);
int kern_write_query_port(struct kern_call *call);
int kern_write_alloc_pd(struct kern_call *call);
int kern_write_reg_mr(struct kern_call *call);
int kern_write_rereg_mr(struct kern_call *call);
int kern_write_alloc_mw(struct kern_call *call);
int kern_dm_alloc(struct kern_call *call);
int kern_dm_query(struct kern_call *call);
int kern_dm_reg_mr(struct kern_call *call);
void kern_dm_free(struct kern *kern, const struct kern_object *dm);
/* kern_dm_bytes_max - the largest piece of device memory that is given. */
uint64_t kern_dm_bytes_max(const struct kern *kern);
int kern_dm_mmap(struct kern_file *file, uint64_t offset_bytes, uint64_t len_bytes, uint32_t *page,
		 uint32_t *page_count);
/* kern_check_access - 0 or -EINVAL: rights that do not go together, or unknown ones. */
int kern_check_access(uint32_t access);
uint32_t kern_nic_access(uint32_t access);
/* kern_create_region - the call's new object is a region with this key. */
int kern_create_region(struct kern_call *call, struct nic_mkey_attr *attr, struct kern_object *pd);
int kern_reg_dmabuf_mr(struct kern_call *call);
int kern_reg_mr(struct kern_call *call);
int kern_write_create_ah(struct kern_call *call);
int kern_write_attach_mcast(struct kern_call *call);
int kern_write_detach_mcast(struct kern_call *call);
int kern_cq_create(struct kern_call *call);
int kern_cq_destroy(struct kern_call *call);
int kern_write_resize_cq(struct kern_call *call);
int kern_qp_create(struct kern_call *call);
int kern_qp_destroy(struct kern_call *call);
int kern_write_open_qp(struct kern_call *call);
int kern_srq_create(struct kern_call *call);
int kern_srq_destroy(struct kern_call *call);
int kern_write_modify_srq(struct kern_call *call);
int kern_write_query_srq(struct kern_call *call);
int kern_write_open_xrcd(struct kern_call *call);
/* kern_xrcd_close - one object less that stands for the domain; the last one ends it. */
int kern_xrcd_close(struct kern *kern, uint32_t xrcdn);
/* kern_target_close - one handle less of an XRC target; the last one ends it. */
int kern_target_close(struct kern *kern, const struct kern_object *target);
int kern_write_query_qp(struct kern_call *call);
int kern_write_modify_qp(struct kern_call *call);
int kern_write_modify_qp_ex(struct kern_call *call);
int kern_write_create_flow(struct kern_call *call);
int kern_wq_create(struct kern_call *call);
int kern_wq_destroy(struct kern_call *call);
int kern_write_modify_wq(struct kern_call *call);
int kern_write_create_rwq_table(struct kern_call *call);
int kern_rwq_table_destroy(struct kern *kern, const struct kern_object *table);
/* kern_wq_state, kern_wq_move - enum of UV_WQS_*, of what either the verbs or a command made. */
uint32_t kern_wq_state(const struct kern_object *wq);
int kern_wq_move(const struct kern_object *wq, uint32_t to);
/* kern_rqt_hold, kern_rqt_release - the table's queues are busy, or no more. */
void kern_rqt_hold(const struct kern *kern, uint32_t rqtn);
void kern_rqt_release(const struct kern *kern, uint32_t rqtn);
/* kern_rss_qp_create - CREATE_QP that names a table. */
int kern_rss_qp_create(struct kern_call *call);
void kern_rss_caps(const struct kern *kern, struct ib_uverbs_ex_query_device_resp *resp);
void kern_rss_mlx5_caps(const struct kern *kern, struct mlx5_ib_rss_caps *caps);
/* kern_udp_sport - the RoCE v2 source port of a connection whose caller chose none. */
uint16_t kern_udp_sport(uint32_t flow_label, uint32_t qpn, uint32_t dest_qpn);
/* kern_mr_destroy - takes a region away from the nic, and its dma-buf out of this process. */
int kern_mr_destroy(struct kern *kern, const struct kern_object *mr);
int kern_advise_mr(struct kern_call *call);
int kern_query_context(struct kern_call *call);
int kern_query_pd(struct kern_call *call);
int kern_query_mr(struct kern_call *call);
int kern_mlx5_query_port(struct kern_call *call);
int kern_query_port_speed(struct kern_call *call);
int kern_mlx5_data_direct_path(struct kern_call *call);
int kern_uar_alloc(struct kern_call *call);
/* kern_page_take - a register page for the context, or KERN_NONE. kern_uar_free gives it back. */
uint32_t kern_page_take(struct kern_file *file);
void kern_uar_free(struct kern *kern, uint32_t page);
uint32_t kern_pages_take(struct kern_file *file, uint32_t count);
void kern_pages_free(struct kern *kern, uint32_t first, uint32_t count);
/* kern_page_is_of - whether the register page is one that the context has. */
bool kern_page_is_of(const struct kern_file *file, uint64_t page);
int kern_var_alloc(struct kern_call *call);
int kern_pp_alloc(struct kern_call *call);
void kern_pp_free(struct kern *kern, uint32_t index);
int kern_simple_destroy(struct kern_call *call);

/* ---- registers of contexts without objects for them [bfreg.c] -----------------------------------
 */

/* 0, -EINVAL or -ENOMEM; undone by kern_bfregs_destroy. */
int kern_bfregs_create(struct kern_file *file, uint32_t count, uint32_t dedicated_count);
void kern_bfregs_destroy(struct kern_file *file);
/* The page behind an mmap offset of the older commands. 0, -EINVAL or -ENOMEM. */
int kern_bfreg_mmap(struct kern_file *file, unsigned int cmd, uint64_t index, uint32_t *page);
/* The page of a dynamic register, by the driver's number. 0 or -EINVAL. */
int kern_bfreg_dynamic(const struct kern_file *file, uint32_t index, uint32_t *page);
/* Whether the request names registers that its context has. */
int kern_bfreg_check(const struct kern_file *file, const struct mlx5_ib_create_qp *driver);
/* A register for a queue pair that does not name one; and what the driver calls it. */
void kern_bfreg_take(struct kern_object *qp, const struct mlx5_ib_create_qp *driver);
void kern_bfreg_give(const struct kern_object *qp);
uint32_t kern_bfreg_answer(const struct kern_object *qp);

/* ---- the clock [clock.c] -----------------------------------------------------------------------
 */

void kern_clock_init(struct kern *kern);
/* The page behind MLX5_IB_MMAP_CORE_CLOCK or _CLOCK_INFO. 0, -EINVAL, -EPERM or -EOPNOTSUPP. */
int kern_clock_mmap(const struct kern *kern, uint64_t offset_bytes, bool writable, uint32_t *page);

/* ---- facts about the port [query.c] ------------------------------------------------------------
 */

/* 0, -EINVAL (beyond the table) or -ENODATA (empty). */
int kern_gid(const struct kern *kern, uint64_t index, const uint8_t **gid);
unsigned int kern_mtu_code(uint32_t mtu_bytes);

#endif
