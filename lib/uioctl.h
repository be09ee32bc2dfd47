/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uioctl.h - one uverbs command: a builder for its attributes, and the call.
 *
 * The builder keeps pointers to what it is given: inputs longer than 8 bytes and all outputs must
 * stay where they are until lib_cmd_run returned. One owner. Too many attributes is our own bug.
 * Source: framing [abi/uverbs.h], attribute lists [uapi ib_user_ioctl_cmds.h].
 */
#ifndef LIB_UIOCTL_H
#define LIB_UIOCTL_H

#include "abi/uverbs.h"
#include "lib/os.h"

enum { LIB_CMD_ATTRS_MAX = 16 };

struct lib_cmd {
	unsigned int count;
	/* The header and its attributes, as the kernel reads them. */
	_Alignas(8) char bytes[sizeof(struct ib_uverbs_ioctl_hdr) +
			       LIB_CMD_ATTRS_MAX * sizeof(struct ib_uverbs_attr)];
};

/* lib_cmd_init - an empty command. object and method are of the core or, from 0x1000, of mlx5. */
void lib_cmd_init(struct lib_cmd *cmd, uint16_t object, uint16_t method);
/*
 * lib_cmd_init_write - a command of the write() interface, with the struct that it reads and
 * answers.
 */
void lib_cmd_init_write(struct lib_cmd *cmd, uint32_t write_cmd, const void *in, size_t in_bytes,
			void *out, size_t out_bytes);

/*
 * Inputs: bytes; a constant (8 bytes whatever its type); an object; a descriptor, left out if -1.
 */
void lib_cmd_in(struct lib_cmd *cmd, uint16_t id, const void *in, size_t len_bytes);
void lib_cmd_in_u32(struct lib_cmd *cmd, uint16_t id, uint32_t value);
void lib_cmd_in_const(struct lib_cmd *cmd, uint16_t id, uint64_t value);
void lib_cmd_in_handle(struct lib_cmd *cmd, uint16_t id, uint32_t handle);
void lib_cmd_in_fd(struct lib_cmd *cmd, uint16_t id, int fd);
/*
 * Outputs: bytes; the handle of a new object; a new descriptor. lib_cmd_handle and _fd read those
 * back.
 */
void lib_cmd_out(struct lib_cmd *cmd, uint16_t id, void *out, size_t len_bytes);
void lib_cmd_out_handle(struct lib_cmd *cmd, uint16_t id);
void lib_cmd_out_fd(struct lib_cmd *cmd, uint16_t id);
uint32_t lib_cmd_handle(const struct lib_cmd *cmd, uint16_t id);
int lib_cmd_fd(const struct lib_cmd *cmd, uint16_t id);

/* lib_cmd_run - makes the call on verbs file fd: 0 or -errno, as the kernel answers. */
int lib_cmd_run(struct lib_cmd *cmd, const struct lib_os *os, int fd);

/*
 * lib_destroy - destroys one object of a type whose method 0 or 1 takes its handle as attribute id.
 */
int lib_destroy(const struct lib_os *os, int fd, uint16_t object, uint16_t method, uint16_t id,
		uint32_t handle);

#endif
