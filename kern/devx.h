/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kern/devx.h - firmware commands (DevX): what the files devx*.c share, and what the rest of kern/
 * asks of them.
 *
 * A command comes as a mailbox [abi/mlx5_cmd.h]. devx.c has one table of all commands; a handler
 * gets the mailbox, read once, and writes the answer. What Linux's driver refuses is -EINVAL or
 * the like; what the firmware refuses is -EREMOTEIO, and the answer has a status and a syndrome.
 * Ours says where in the command the trouble is: 0x700000 + byte offset of the field's word.
 *
 * What a command names by number (domain, queue, umem) has to be of the same context: hardware
 * tags objects with the context's uid, and lets nobody else name them.
 */
#ifndef KERN_DEVX_H
#define KERN_DEVX_H

#include "abi/mlx5_cmd.h"
#include "kern/state.h"

struct kern_cmd {
	struct kern_call *call;
	const uint8_t *in; /* at least KERN_CMD_PAD_BYTES, zeroes behind in_len */
	size_t in_len;
	uint8_t *out;               /* zeroed: as many bytes as the command's answer has */
	struct kern_object *object; /* that is made, modified or queried; else NULL */
};

enum {
	KERN_CMD_PAD_BYTES = 1024,
	KERN_CMD_SYNDROME = 0x700000,
};

/* kern_cmd_refuse - status, with a syndrome that names the word at byte `at` of the command. */
enum cmd_status kern_cmd_refuse(struct kern_cmd *cmd, enum cmd_status status, uint32_t at);
/* kern_cmd_result - the same for what the nic returned: 0 or -errno. */
enum cmd_status kern_cmd_result(struct kern_cmd *cmd, int error, uint32_t at);
/* kern_cmd_made - the object is there: its number goes into it and into the answer. */
enum cmd_status kern_cmd_made(struct kern_cmd *cmd, uint32_t number);

/*
 * kern_devx_named - the context's object with this number: made by the verbs (of type `type`) or by
 * the command `opcode`. NULL: there is none. Cost: linear in the context's objects.
 */
struct kern_object *kern_devx_named(const struct kern_file *file, enum kern_object_type type,
				    enum cmd_opcode opcode, uint32_t number);

/* ---- umems [devx_umem.c] --------------------------------------------------------------------- */

int kern_devx_umem_reg(struct kern_call *call);
/*
 * kern_devx_umem_at - *va is where byte `offset` of umem `id` is, if len_bytes from there lie in it
 * and are mapped (and writable). NULL, or the umem.
 */
struct kern_object *kern_devx_umem_at(struct kern_file *file, uint32_t id, uint64_t offset,
				      uint64_t len_bytes, bool writable, uint64_t *va);

/*
 * kern_devx_wq_memory - the ring and the doorbell record of a work queue, whose part of a context
 * is at byte `wq` of the command.
 */
enum cmd_status kern_devx_wq_memory(struct kern_cmd *cmd, uint32_t wq, uint32_t wqe_count,
				    uint32_t wqe_size_log2, struct kern_object **uses,
				    uint64_t *buf_va, uint64_t *db_va);

/* ---- commands by kind of object -------------------------------------------------------------- */

enum cmd_status kern_cmd_query_hca_cap(struct kern_cmd *cmd); /* caps.c */
enum cmd_status kern_cmd_query_lag(struct kern_cmd *cmd);     /* devx_general.c */
enum cmd_status kern_cmd_query_hca_vport_context(struct kern_cmd *cmd);
enum cmd_status kern_cmd_nop(struct kern_cmd *cmd);
enum cmd_status kern_cmd_alloc_pd(struct kern_cmd *cmd);
enum cmd_status kern_cmd_alloc_number(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_general(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_cq(struct kern_cmd *cmd); /* devx_cq.c */
enum cmd_status kern_cmd_query_cq(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_mkey(struct kern_cmd *cmd); /* devx_mkey.c */
enum cmd_status kern_cmd_create_psv(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_rmp(struct kern_cmd *cmd); /* devx_rmp.c */
enum cmd_status kern_cmd_create_rq(struct kern_cmd *cmd); /* devx_rss.c */
enum cmd_status kern_cmd_modify_rq(struct kern_cmd *cmd);
enum cmd_status kern_cmd_query_rq(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_rqt(struct kern_cmd *cmd);
enum cmd_status kern_cmd_modify_rqt(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_tir(struct kern_cmd *cmd);
int kern_devx_tir_destroy(struct kern *kern, const struct kern_object *tir);
enum cmd_status kern_cmd_create_dct(struct kern_cmd *cmd); /* devx_dct.c */
enum cmd_status kern_cmd_drain_dct(struct kern_cmd *cmd);
enum cmd_status kern_cmd_query_dct(struct kern_cmd *cmd);
enum cmd_status kern_cmd_create_qp(struct kern_cmd *cmd);  /* devx_qp.c */
enum cmd_status kern_cmd_modify_qp(struct kern_cmd *cmd);
enum cmd_status kern_cmd_query_qp(struct kern_cmd *cmd);

/* ---- methods [devx.c] ------------------------------------------------------------------------ */

int kern_devx_other(struct kern_call *call);
int kern_devx_query_uar(struct kern_call *call);
int kern_devx_query_eqn(struct kern_call *call);
int kern_devx_obj_create(struct kern_call *call);
int kern_devx_obj_modify(struct kern_call *call);
int kern_devx_obj_query(struct kern_call *call);
int kern_devx_obj_async_query(struct kern_call *call);
/* kern_devx_destroy - takes a DevX object away from the nic: 0 or -EBUSY. */
int kern_devx_destroy(struct kern *kern, const struct kern_object *object);

/* ---- events [devx_event.c] ------------------------------------------------------------------- */

size_t kern_devx_subscription_bytes(void);
int kern_devx_async_cmd_fd_alloc(struct kern_call *call);
int kern_devx_async_event_fd_alloc(struct kern_call *call);
int kern_devx_subscribe_event(struct kern_call *call);
void kern_devx_unsubscribe_channel(const struct kern_channel *channel);
void kern_devx_unsubscribe_object(struct kern_object *object);
/* kern_devx_event - what the nic reports of a DevX object, to its subscribers. */
void kern_devx_event(const struct kern_object *object, const struct nic_event *event);
/* kern_devx_port_event - the same for the port: up or down. */
void kern_devx_port_event(const struct kern_file *file, uint32_t ib_event);

#endif
