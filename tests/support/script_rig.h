/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script_rig.h - a NIC on script_os.h, with a completion queue and a queue pair connected to
 * itself, and the checks that the tests of lib share. Source: include after <cmocka.h>.
 */
#ifndef TESTS_SUPPORT_SCRIPT_RIG_H
#define TESTS_SUPPORT_SCRIPT_RIG_H

#include "include/rig5.h"
#include "tests/support/script_os.h"

struct script_rig {
	struct rig_nic *nic;
	struct rig_cq *cq;
	struct rig_qp *qp;
};

/* assert_message - rig_error() holds the text. */
#define assert_message(text)                                                                       \
	do {                                                                                       \
		if (!strstr(rig_error(), text))                                                    \
			fail_msg("rig_error() is \"%s\", without \"%s\"", rig_error(), text);      \
	} while (0)

static inline struct rig_nic *script_nic(void)
{
	struct rig_nic *nic = NULL;

	assert_int_equal(rig_open(NULL, &nic), 0);
	return nic;
}

static inline struct rig_cq *script_cq_create(struct rig_nic *nic, int cqe_count)
{
	struct rig_cq *cq = NULL;

	assert_int_equal(rig_cq_create(nic, cqe_count, &cq), 0);
	return cq;
}

static inline struct rig_qp *script_qp_create(struct rig_cq *cq, int entries, int receives)
{
	struct rig_qp *qp = NULL;

	assert_int_equal(rig_qp_create(cq, entries, receives, &qp), 0);
	return qp;
}

static inline void script_connect_self(struct rig_qp *qp)
{
	struct rig_endpoint self;

	assert_int_equal(rig_qp_endpoint(qp, &self), 0);
	assert_int_equal(rig_qp_connect(qp, RIG_REMOTE_ALL, &self, NULL), 0);
}

/* script_rig_open - a fresh script, and a connected queue pair of these sizes on it. */
static inline struct script_rig script_rig_open(int entries, int receives)
{
	struct script_rig rig;

	script_reset();
	rig.nic = script_nic();
	rig.cq = script_cq_create(rig.nic, 1024);
	rig.qp = script_qp_create(rig.cq, entries, receives);
	script_connect_self(rig.qp);
	return rig;
}

/* script_rig_close - closes the NIC: nothing is left open or alive in the kernel. */
static inline void script_rig_close(struct script_rig *rig)
{
	assert_int_equal(rig_close(rig->nic), 0);
	assert_int_equal(script.live, 0);
}

#endif
