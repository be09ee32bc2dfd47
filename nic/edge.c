/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edge.c - the edges of a queue pair's state machine, and the attributes that each takes.
 *
 * They are those that Linux allows [linux ib_modify_qp_is_ok], for DC [linux mlx5
 * modify_dci_qp_is_ok, mlx5_ib_modify_dct]: one row for the types that share it.
 * Any state goes to reset or to error, and takes no attribute on the way [IBTA1 10.3.1].
 */
#include "nic/nic_priv.h"

#define SET(name)  NIC_QP_SET_##name##_F
#define TYPE(name) (1u << NIC_QP_##name)

enum {
	RC = TYPE(RC),
	UC = TYPE(UC),
	UD = TYPE(UD),
	INI = TYPE(XRC_INI),
	TGT = TYPE(XRC_TGT),
	DCI = TYPE(DCI),
	DCT = TYPE(DCT),
	RAW = TYPE(RAW),
	CONNECTED = RC | UC | INI | TGT,
};

struct edge {
	uint8_t from, to;
	uint8_t types; /* TYPE() */
	uint32_t required;
	uint32_t optional;
};

/* clang-format off */
static const struct edge edges[] = {
	{NIC_QP_RESET, NIC_QP_INIT, CONNECTED, SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS), 0},

	{NIC_QP_RESET, NIC_QP_INIT, DCI, SET(PKEY_INDEX) | SET(PORT), 0},
	{NIC_QP_RESET, NIC_QP_INIT, DCT, SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS), 0},
	{NIC_QP_RESET, NIC_QP_INIT, UD, SET(PKEY_INDEX) | SET(PORT) | SET(QKEY), 0},

	{NIC_QP_RESET, NIC_QP_INIT, RAW, SET(PORT), 0},

	{NIC_QP_INIT, NIC_QP_INIT, RAW, 0, SET(PORT)},
	{NIC_QP_INIT, NIC_QP_INIT, CONNECTED, 0, SET(PKEY_INDEX) | SET(PORT) | SET(ACCESS)},
	{NIC_QP_INIT, NIC_QP_INIT, DCI, 0, SET(PKEY_INDEX) | SET(PORT)},
	{NIC_QP_INIT, NIC_QP_INIT, UD, 0, SET(PKEY_INDEX) | SET(PORT) | SET(QKEY)},

	{NIC_QP_INIT, NIC_QP_RTR, RC | TGT,
	 SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN) | SET(DEST_RD_ATOMIC) |
		SET(MIN_RNR_TIMER),
	 SET(ACCESS) | SET(PKEY_INDEX)},
	{NIC_QP_INIT, NIC_QP_RTR, UC | INI,
	 SET(PATH) | SET(MTU) | SET(DEST_QPN) | SET(RQ_PSN),
	 SET(ACCESS) | SET(PKEY_INDEX)},

	{NIC_QP_INIT, NIC_QP_RTR, DCI, SET(MTU), SET(PATH) | SET(PKEY_INDEX)},
	{NIC_QP_INIT, NIC_QP_RTR, DCT, SET(PATH) | SET(MTU) | SET(MIN_RNR_TIMER), 0},
	{NIC_QP_INIT, NIC_QP_RTR, RAW, 0, 0},
	{NIC_QP_INIT, NIC_QP_RTR, UD, 0, SET(PKEY_INDEX) | SET(QKEY)},

	{NIC_QP_RTR, NIC_QP_RTS, RC,
	 SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) | SET(RD_ATOMIC),
	 SET(CUR_STATE) | SET(ACCESS) | SET(MIN_RNR_TIMER)},
	{NIC_QP_RTR, NIC_QP_RTS, INI,
	 SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) | SET(RD_ATOMIC),
	 SET(CUR_STATE) | SET(ACCESS)},
	{NIC_QP_RTR, NIC_QP_RTS, DCI,
	 SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(SQ_PSN) | SET(RD_ATOMIC),
	 SET(MIN_RNR_TIMER)},
	{NIC_QP_RTR, NIC_QP_RTS, TGT,
	 SET(TIMEOUT) | SET(SQ_PSN),
	 SET(CUR_STATE) | SET(ACCESS) | SET(MIN_RNR_TIMER)},

	{NIC_QP_RTR, NIC_QP_RTS, RAW, 0, 0},
	{NIC_QP_RTR, NIC_QP_RTS, UC, SET(SQ_PSN), SET(CUR_STATE) | SET(ACCESS)},
	{NIC_QP_RTR, NIC_QP_RTS, UD, SET(SQ_PSN), SET(CUR_STATE) | SET(QKEY)},

	{NIC_QP_RTS, NIC_QP_RTS, RC | TGT, 0,
	 SET(CUR_STATE) | SET(ACCESS) | SET(MIN_RNR_TIMER) | SET(UDP_SPORT)},
	{NIC_QP_RTS, NIC_QP_RTS, UC | INI, 0, SET(CUR_STATE) | SET(ACCESS) | SET(UDP_SPORT)},
	{NIC_QP_RTS, NIC_QP_RTS, DCI, 0, SET(MIN_RNR_TIMER)},
	{NIC_QP_RTS, NIC_QP_RTS, UD, 0, SET(CUR_STATE) | SET(QKEY)},

	{NIC_QP_RTS, NIC_QP_RTS, RAW, 0, 0},
	{NIC_QP_RTS, NIC_QP_SQD, CONNECTED | UD | RAW, 0, 0},

	{NIC_QP_SQD, NIC_QP_RTS, RAW, 0, 0},
	{NIC_QP_SQD, NIC_QP_RTS, RC | TGT, 0, SET(CUR_STATE) | SET(ACCESS) | SET(MIN_RNR_TIMER)},
	{NIC_QP_SQD, NIC_QP_RTS, UC | INI, 0, SET(CUR_STATE) | SET(ACCESS)},
	{NIC_QP_SQD, NIC_QP_RTS, UD, 0, SET(CUR_STATE) | SET(QKEY)},

	{NIC_QP_SQD, NIC_QP_SQD, RC, 0,
	 SET(PORT) | SET(PATH) | SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(RD_ATOMIC) |
		SET(DEST_RD_ATOMIC) | SET(ACCESS) | SET(PKEY_INDEX) | SET(MIN_RNR_TIMER)},
	{NIC_QP_SQD, NIC_QP_SQD, UC, 0, SET(PATH) | SET(ACCESS) | SET(PKEY_INDEX)},
	{NIC_QP_SQD, NIC_QP_SQD, UD, 0, SET(PKEY_INDEX) | SET(QKEY)},
	{NIC_QP_SQD, NIC_QP_SQD, INI, 0,
	 SET(PORT) | SET(PATH) | SET(TIMEOUT) | SET(RETRY) | SET(RNR_RETRY) | SET(RD_ATOMIC) |
		SET(ACCESS) | SET(PKEY_INDEX)},
	{NIC_QP_SQD, NIC_QP_SQD, TGT, 0,
	 SET(PORT) | SET(PATH) | SET(TIMEOUT) | SET(DEST_RD_ATOMIC) | SET(ACCESS) |
		SET(PKEY_INDEX) | SET(MIN_RNR_TIMER)},

	/* Only UC, UD and raw packets get to SQE; the other types' row is Linux's. */
	{NIC_QP_SQE, NIC_QP_RTS, RC | INI | TGT, 0, 0},
	{NIC_QP_SQE, NIC_QP_RTS, RAW, 0, 0},
	{NIC_QP_SQE, NIC_QP_RTS, UC, 0, SET(CUR_STATE) | SET(ACCESS)},
	{NIC_QP_SQE, NIC_QP_RTS, UD, 0, SET(CUR_STATE) | SET(QKEY)},
};
/* clang-format on */

bool nic_qp_edge_ok(enum nic_qp_type type, enum nic_qp_state from, enum nic_qp_state to,
		    uint32_t set)
{
	uint32_t given = set & ~(uint32_t)(SET(STATE) | SET(ECE));

	if (to == NIC_QP_RESET || to == NIC_QP_ERR)
		return given == 0;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		const struct edge *edge = &edges[i];

		if (edge->from == from && edge->to == to && edge->types >> type & 1)
			return (given & edge->required) == edge->required &&
			       !(given & ~(edge->required | edge->optional));
	}
	return false;
}
