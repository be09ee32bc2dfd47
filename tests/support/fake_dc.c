/* SPDX-License-Identifier: BSD-2-Clause */
/* fake_dc.c - see fake_dc.h. */
#include "tests/support/fake_dc.h"

static void ready(struct fake_qp *qp, const struct fake_opts *opts, uint32_t init, uint32_t rtr)
{
	struct nic_qp_params p = fake_qp_params(qp, 0, qp->type == NIC_QP_DCT, opts);

	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_PKEY_INDEX_F | NIC_QP_SET_PORT_F | init;
	fake_qp_modify(qp, &p);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_MTU_F | rtr;
	p.state = NIC_QP_RTR;
	fake_qp_modify(qp, &p);
}

void fake_dct_make(struct fake_world *w, const struct fake_opts *opts, struct fake_dct *dct)
{
	struct fake_opts o = opts ? *opts : (struct fake_opts){0};

	fake_srq_make(w, 1, FAKE_DC_SRQ_COUNT, 0, NULL, &dct->srq);
	o.type = NIC_QP_DCT;
	o.srqn = dct->srq.srqn;
	o.stream_failed_max = 0;
	if (o.dc_key == 0)
		o.dc_key = FAKE_DC_KEY;
	fake_qp_make(w, 1, &o, &dct->qp);
	ready(&dct->qp, &o, NIC_QP_SET_ACCESS_F, NIC_QP_SET_PATH_F | NIC_QP_SET_MIN_RNR_TIMER_F);
	dct->to = fake_to(&dct->qp);
	dct->to.dc_key = o.dc_key;
}

void fake_dci_ready(struct fake_qp *dci, const struct fake_opts *opts)
{
	struct nic_qp_params p = fake_qp_params(dci, 0, false, opts);

	ready(dci, opts, 0, 0);
	p.set = NIC_QP_SET_STATE_F | NIC_QP_SET_TIMEOUT_F | NIC_QP_SET_SQ_PSN_F |
		NIC_QP_SET_RETRY_F | NIC_QP_SET_RNR_RETRY_F | NIC_QP_SET_RD_ATOMIC_F;
	p.state = NIC_QP_RTS;
	fake_qp_modify(dci, &p);
}

void fake_dci_make(struct fake_world *w, const struct fake_opts *opts, struct fake_qp *dci)
{
	struct fake_opts o = opts ? *opts : (struct fake_opts){0};

	o.type = NIC_QP_DCI;
	o.rq_count = UINT32_MAX;
	fake_qp_make(w, 0, &o, dci);
	fake_dci_ready(dci, &o);
}
