/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx.c - commands to the firmware, which the kernel passes on (DevX): what comes of one that
 * fails, and the one that resets a stream of a DC initiator.
 */
#include "lib/lib.h"
#include "lib/uioctl.h"

#include "abi/mlx5_cmd.h"

/* errno_of - what a status of the firmware means [rdma-core mlx5]; 0: it gave none. */
static int errno_of(uint32_t status)
{
	switch (status) {
	case CMD_OK:
		return 0;
	case CMD_BAD_OP:
	case CMD_BAD_PARAM:
	case CMD_BAD_RES:
	case CMD_BAD_RES_STATE:
	case CMD_BAD_QP_STATE:
		return EINVAL;
	case CMD_RES_BUSY:
		return EBUSY;
	case CMD_NO_RES:
		return EAGAIN;
	default:
		return EIO;
	}
}

int lib_devx_fail(const struct rig_nic *nic, int err, const uint8_t *out, const char *call,
		  uint32_t qp_num)
{
	int meant = errno_of(cmd_get(out, CMD_OUT_STATUS));

	if (!meant)
		return lib_fail_reason(err, "%s", call);
	return lib_fail(meant, "%s: queue pair 0x%x: %s refuses with status 0x%x, syndrome 0x%x",
			call, qp_num, nic->name, cmd_get(out, CMD_OUT_STATUS),
			cmd_get(out, CMD_OUT_SYNDROME));
}

/* A change of a queue pair that is ready to send, which stays so; what is changed is in the second
 * mask, and in what follows the context [rdma-core mlx5]. */
static int reset_stream(const struct rig_qp *qp, uint16_t stream)
{
	const struct rig_nic *nic = qp->shell.nic;
	uint8_t in[CMD_QP_EXTENDED_BYTES] = {0};
	uint8_t out[CMD_HEADER_BYTES] = {0};
	struct lib_cmd cmd;
	int err;

	cmd_set(in, CMD_OPCODE, CMD_RTS2RTS_QP);
	cmd_set(in, CMD_NUMBER, qp->number);
	cmd_set(in, CMD_QP_EXTENDED, 1);
	be64_store(in + CMD_QP_OPT_MASK_HIGH, CMD_QP_OPT_HIGH_DCI_STREAM);
	be16_store(in + CMD_QP_EXT_STREAM, stream);
	lib_cmd_init(&cmd, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
	lib_cmd_in_handle(&cmd, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, qp->handle);
	lib_cmd_in(&cmd, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, in, sizeof(in));
	lib_cmd_out(&cmd, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, out, sizeof(out));
	err = lib_cmd_run(&cmd, nic->os, nic->fd);
	return err ? lib_devx_fail(nic, err, out, "rig_qp_reset_stream", qp->number) : 0;
}

int rig_qp_reset_stream(struct rig_qp *qp, uint32_t stream)
{
	struct rig_nic *nic;
	int err;

	if (!qp || qp->shell.live != LIB_LIVE_QP)
		return lib_handle_error(qp, "rig_qp_reset_stream");
	nic = qp->shell.nic;
	err = lib_nic_lock(nic, "rig_qp_reset_stream");
	if (err)
		return err;
	if (!qp->streams)
		err = lib_fail(EINVAL, "rig_qp_reset_stream: queue pair 0x%x has no streams",
			       qp->number);
	else if (stream > UINT16_MAX)
		err = lib_fail(EINVAL, "rig_qp_reset_stream: stream %u: there are 2^16", stream);
	else if (!nic->devx)
		err = lib_fail(EOPNOTSUPP, "rig_qp_reset_stream: %s takes no commands", nic->name);
	else
		err = reset_stream(qp, (uint16_t)stream);
	lib_nic_unlock(nic);
	return err;
}
