/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_dc.h - dynamically connected queue pairs for fake_nic.h: initiators on NIC 0, targets on
 * NIC 1, each target with a shared receive queue of its own.
 */
#ifndef TESTS_SUPPORT_FAKE_DC_H
#define TESTS_SUPPORT_FAKE_DC_H

#include "tests/support/fake_srq.h"

#define FAKE_DC_KEY 0x1122334455667788ull

enum { FAKE_DC_SRQ_COUNT = 64 };

struct fake_dct {
	struct fake_qp qp;
	struct fake_srq srq;
	struct fake_address to; /* what an initiator's entry names */
};

/* opts may be NULL; its type and SRQ are set here. */
void fake_dct_make(struct fake_world *w, const struct fake_opts *opts, struct fake_dct *dct);
/* fake_dci_ready - from reset to ready to send. */
void fake_dci_ready(struct fake_qp *dci, const struct fake_opts *opts);
void fake_dci_make(struct fake_world *w, const struct fake_opts *opts, struct fake_qp *dci);

#endif
