/* SPDX-License-Identifier: BSD-2-Clause */
/* drivers_compare.h - what may differ between the two drivers' calls, and the comparison. */
#ifndef TESTS_RUN_DRIVERS_COMPARE_H
#define TESTS_RUN_DRIVERS_COMPARE_H

#include "drivers.h"

/* ---- fields of what is sent
 * ---------------------------------------------------------------------- */

enum meaning {
	VALUE,
	OWN, /* an address or a handle: each driver has its own */
};

struct field {
	uint32_t key;
	uint16_t id;
	const char *name;
	size_t offset, size;
	enum meaning meaning;
};

#define FIELD(key_, id_, type, member, meaning_)                             \
	{                                                                    \
		key_, id_, #type "." #member, offsetof(struct type, member), \
		    sizeof(((struct type *)0)->member), meaning_             \
	}
#define WHOLE(key_, id_, name_, size_, meaning_)     \
	{                                            \
		key_, id_, name_, 0, size_, meaning_ \
	}

#define GET_CONTEXT CALL(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT)
#define CQ_CREATE   CALL(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE)
#define CQ_DESTROY  CALL(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY)
#define QP_CREATE   CALL(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE)
#define QP_DESTROY  CALL(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY)
#define MR_DESTROY  CALL(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY)
#define PD_DESTROY  CALL(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY)
#define UAR_ALLOC   CALL(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC)
#define ASYNC_ALLOC CALL(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC)
#define ALLOC_PD    WRITE(IB_USER_VERBS_CMD_ALLOC_PD)
#define REG_MR      WRITE(IB_USER_VERBS_CMD_REG_MR)
#define CHANNEL     WRITE(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
#define MODIFY_QP   WRITE(IB_USER_VERBS_CMD_MODIFY_QP)
#define MODIFY_EX   WRITE(UV_WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP))
#define CREATE_AH   WRITE(IB_USER_VERBS_CMD_CREATE_AH)
#define ATTACH      WRITE(IB_USER_VERBS_CMD_ATTACH_MCAST)
#define DETACH      WRITE(IB_USER_VERBS_CMD_DETACH_MCAST)
#define MODIFY_SRQ  WRITE(IB_USER_VERBS_CMD_MODIFY_SRQ)
#define AH_DESTROY  CALL(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY)
#define SRQ_CREATE  CALL(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE)
#define SRQ_DESTROY CALL(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY)

#define CORE                UVERBS_ATTR_CORE_IN
#define UHW                 UVERBS_ATTR_UHW_IN
#define QP(member, meaning) FIELD(QP_CREATE, UHW, mlx5_ib_create_qp, member, meaning)
#define CQ(member, meaning) FIELD(CQ_CREATE, UHW, mlx5_ib_create_cq, member, meaning)
#define CONTEXT(member, meaning) \
	FIELD(GET_CONTEXT, UHW, mlx5_ib_alloc_ucontext_req_v2, member, meaning)
#define MR(member, meaning)     FIELD(REG_MR, CORE, ib_uverbs_reg_mr, member, meaning)
#define MODIFY(member, meaning) FIELD(MODIFY_QP, CORE, ib_uverbs_modify_qp, member, meaning)
#define EX(member, meaning)     FIELD(MODIFY_EX, CORE, ib_uverbs_ex_modify_qp, base.member, meaning)
#define AH(member, meaning)     FIELD(CREATE_AH, CORE, ib_uverbs_create_ah, member, meaning)
#define SRQ(member, meaning)    FIELD(SRQ_CREATE, UHW, mlx5_ib_create_srq, member, meaning)

static const struct field fields[] = {
    CONTEXT(total_num_bfregs, VALUE),
    CONTEXT(num_low_latency_bfregs, VALUE),
    CONTEXT(flags, VALUE),
    CONTEXT(comp_mask, VALUE),
    CONTEXT(max_cqe_version, VALUE),
    CONTEXT(lib_caps, VALUE),
    WHOLE(UAR_ALLOC, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, "uar.type", 8, VALUE),
    FIELD(ALLOC_PD, CORE, ib_uverbs_alloc_pd, response, OWN),
    MR(response, OWN),
    MR(start, VALUE),
    MR(length, VALUE),
    MR(hca_va, VALUE),
    MR(pd_handle, OWN),
    MR(access_flags, VALUE),
    FIELD(CHANNEL, CORE, ib_uverbs_create_comp_channel, response, OWN),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_CQE, "cq.cqe", 4, VALUE),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, "cq.user_handle", 8, OWN),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, "cq.channel", 8, OWN),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, "cq.vector", 4, VALUE),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_FLAGS, "cq.flags", 4, VALUE),
    WHOLE(CQ_CREATE, UVERBS_ATTR_CREATE_CQ_EVENT_FD, "cq.event_fd", 8, OWN),
    CQ(buf_addr, OWN),
    CQ(db_addr, OWN),
    CQ(cqe_size, VALUE),
    CQ(cqe_comp_en, VALUE),
    CQ(cqe_comp_res_format, VALUE),
    CQ(flags, VALUE),
    CQ(uar_page_index, OWN),
    WHOLE(CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_HANDLE, "cq.handle", 8, OWN),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_PD_HANDLE, "qp.pd", 8, OWN),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, "qp.send_cq", 8, OWN),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, "qp.recv_cq", 8, OWN),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_USER_HANDLE, "qp.user_handle", 8, OWN),
    FIELD(QP_CREATE, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, max_send_wr, VALUE),
    FIELD(QP_CREATE, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, max_recv_wr, VALUE),
    FIELD(QP_CREATE, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, max_send_sge, VALUE),
    FIELD(QP_CREATE, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, max_recv_sge, VALUE),
    FIELD(QP_CREATE, UVERBS_ATTR_CREATE_QP_CAP, ib_uverbs_qp_cap, max_inline_data, VALUE),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_TYPE, "qp.type", 8, VALUE),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_FLAGS, "qp.flags", 4, VALUE),
    WHOLE(QP_CREATE, UVERBS_ATTR_CREATE_QP_EVENT_FD, "qp.event_fd", 8, OWN),
    QP(buf_addr, OWN),
    QP(db_addr, OWN),
    QP(sq_wqe_count, VALUE),
    QP(rq_wqe_count, VALUE),
    QP(rq_wqe_shift, VALUE),
    QP(flags, VALUE),
    QP(uidx, VALUE),
    QP(bfreg_index, OWN),
    QP(sq_buf_addr, VALUE),
    QP(ece_options, VALUE),
    QP(dci_streams, VALUE),
    WHOLE(QP_DESTROY, UVERBS_ATTR_DESTROY_QP_HANDLE, "qp.handle", 8, OWN),
    WHOLE(MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE, "mr.handle", 8, OWN),
    WHOLE(PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE, "pd.handle", 8, OWN),
    MODIFY(dest.dgid, VALUE),
    MODIFY(dest.flow_label, VALUE),
    MODIFY(dest.dlid, VALUE),
    MODIFY(dest.sgid_index, VALUE),
    MODIFY(dest.hop_limit, VALUE),
    MODIFY(dest.traffic_class, VALUE),
    MODIFY(dest.sl, VALUE),
    MODIFY(dest.src_path_bits, VALUE),
    MODIFY(dest.static_rate, VALUE),
    MODIFY(dest.is_global, VALUE),
    MODIFY(dest.port_num, VALUE),
    MODIFY(alt_dest, VALUE),
    MODIFY(qp_handle, OWN),
    MODIFY(attr_mask, VALUE),
    MODIFY(qkey, VALUE),
    MODIFY(rq_psn, VALUE),
    MODIFY(sq_psn, VALUE),
    MODIFY(dest_qp_num, OWN),
    MODIFY(qp_access_flags, VALUE),
    MODIFY(pkey_index, VALUE),
    MODIFY(alt_pkey_index, VALUE),
    MODIFY(qp_state, VALUE),
    MODIFY(cur_qp_state, VALUE),
    MODIFY(path_mtu, VALUE),
    MODIFY(path_mig_state, VALUE),
    MODIFY(en_sqd_async_notify, VALUE),
    MODIFY(max_rd_atomic, VALUE),
    MODIFY(max_dest_rd_atomic, VALUE),
    MODIFY(min_rnr_timer, VALUE),
    MODIFY(port_num, VALUE),
    MODIFY(timeout, VALUE),
    MODIFY(retry_cnt, VALUE),
    MODIFY(rnr_retry, VALUE),
    MODIFY(alt_port_num, VALUE),
    MODIFY(alt_timeout, VALUE),
    EX(dest, VALUE),
    EX(alt_dest, VALUE),
    EX(qp_handle, OWN),
    EX(attr_mask, VALUE),
    EX(rq_psn, VALUE),
    EX(dest_qp_num, OWN),
    EX(qp_state, VALUE),
    EX(qp_access_flags, VALUE),
    EX(pkey_index, VALUE),
    EX(port_num, VALUE),
    EX(path_mtu, VALUE),
    EX(max_dest_rd_atomic, VALUE),
    EX(min_rnr_timer, VALUE),
    FIELD(MODIFY_EX, CORE, ib_uverbs_ex_modify_qp, rate_limit, VALUE),
    FIELD(MODIFY_EX, UHW, mlx5_ib_modify_qp, comp_mask, VALUE),
    FIELD(MODIFY_EX, UHW, mlx5_ib_modify_qp, burst_info, VALUE),
    FIELD(MODIFY_EX, UHW, mlx5_ib_modify_qp, ece_options, VALUE),
    AH(response, OWN),
    AH(user_handle, OWN),
    AH(pd_handle, OWN),
    AH(attr.grh.dgid, VALUE),
    AH(attr.grh.flow_label, VALUE),
    AH(attr.grh.sgid_index, VALUE),
    AH(attr.grh.hop_limit, VALUE),
    AH(attr.grh.traffic_class, VALUE),
    AH(attr.dlid, VALUE),
    AH(attr.sl, VALUE),
    AH(attr.src_path_bits, VALUE),
    AH(attr.static_rate, VALUE),
    AH(attr.is_global, VALUE),
    AH(attr.port_num, VALUE),
    WHOLE(AH_DESTROY, UVERBS_ATTR_DESTROY_AH_HANDLE, "ah.handle", 8, OWN),
    FIELD(ATTACH, CORE, ib_uverbs_attach_mcast, gid, VALUE),
    FIELD(ATTACH, CORE, ib_uverbs_attach_mcast, qp_handle, OWN),
    FIELD(ATTACH, CORE, ib_uverbs_attach_mcast, mlid, VALUE),
    FIELD(DETACH, CORE, ib_uverbs_detach_mcast, gid, VALUE),
    FIELD(DETACH, CORE, ib_uverbs_detach_mcast, qp_handle, OWN),
    FIELD(DETACH, CORE, ib_uverbs_detach_mcast, mlid, VALUE),
    FIELD(MODIFY_SRQ, CORE, ib_uverbs_modify_srq, srq_handle, OWN),
    FIELD(MODIFY_SRQ, CORE, ib_uverbs_modify_srq, attr_mask, VALUE),
    FIELD(MODIFY_SRQ, CORE, ib_uverbs_modify_srq, max_wr, VALUE),
    FIELD(MODIFY_SRQ, CORE, ib_uverbs_modify_srq, srq_limit, VALUE),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, "srq.pd", 8, OWN),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_TYPE, "srq.type", 8, VALUE),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, "srq.user_handle", 8, OWN),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_MAX_WR, "srq.max_wr", 4, VALUE),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, "srq.max_sge", 4, VALUE),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_LIMIT, "srq.limit", 4, VALUE),
    WHOLE(SRQ_CREATE, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, "srq.event_fd", 8, OWN),
    SRQ(buf_addr, OWN),
    SRQ(db_addr, OWN),
    SRQ(flags, VALUE),
    SRQ(uidx, VALUE),
    WHOLE(SRQ_DESTROY, UVERBS_ATTR_DESTROY_SRQ_HANDLE, "srq.handle", 8, OWN),
};

/* ---- why some differ
 * -------------------------------------------------------------------------------- */

static struct reason {
	const char *name;
	const char *why;
	bool needed;
} reasons[] = {
    {"CQ_CREATE attribute 0x7 flags",
     "the event channel: libmlx5 also drives kernels that do not know the attribute", false},
    {"MODIFY_QP 2 mlx5_ib_modify_qp.ece_options",
     "the program gives libmlx5 the peer's offer; rig5 works out what both ends answer",
     false},
    {"MODIFY_QP extended 2 mlx5_ib_modify_qp.ece_options", "likewise", false},
    {"CQ_CREATE attribute 0x5", "creation flags: rig5 sends 0, which is what none means", false},
    {"QP_CREATE ib_uverbs_qp_cap.max_send_wr",
     "libmlx5 counts entries of the largest size asked for, rig5 slots of 64 bytes", false},
    {"QP_CREATE ib_uverbs_qp_cap.max_send_sge",
     "rig5 gives every queue pair what the NIC can do; the kernel uses the ring's size", false},
    {"QP_CREATE ib_uverbs_qp_cap.max_inline_data", "likewise", false},
    {"QP_CREATE mlx5_ib_create_qp.flags",
     "libmlx5 allows data in completions (bit 1), which rig5 does not read there", false},
    {"SRQ_CREATE srq.max_wr",
     "libmlx5 keeps as many slots again, for receives whose pages are not there yet", false},
};

static const char *reason_of(const char *name)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strcmp(reasons[i].name, name) != 0)
			continue;
		reasons[i].needed = true;
		return reasons[i].why;
	}
	return NULL;
}

enum { NAME_BYTES = 256 };

/* ---- comparing ----------------------------------------------------------------------------------
 */

/* The calls that both make, in the order of their making; each as often as both do. */
static const struct {
	uint32_t key;
	const char *name;
} compared[] = {
    {GET_CONTEXT, "GET_CONTEXT"}, {ASYNC_ALLOC, "ASYNC_EVENT_ALLOC"},
    {UAR_ALLOC, "UAR_ALLOC"},     {ALLOC_PD, "ALLOC_PD"},
    {REG_MR, "REG_MR"},           {CHANNEL, "CREATE_COMP_CHANNEL"},
    {CQ_CREATE, "CQ_CREATE"},     {QP_CREATE, "QP_CREATE"},
    {MODIFY_QP, "MODIFY_QP"},     {QP_DESTROY, "QP_DESTROY"},
    {CQ_DESTROY, "CQ_DESTROY"},   {MR_DESTROY, "MR_DESTROY"},
    {PD_DESTROY, "PD_DESTROY"},   {MODIFY_EX, "MODIFY_QP extended"},
    {CREATE_AH, "CREATE_AH"},     {AH_DESTROY, "AH_DESTROY"},
    {ATTACH, "ATTACH_MCAST"},     {DETACH, "DETACH_MCAST"},
    {SRQ_CREATE, "SRQ_CREATE"},   {MODIFY_SRQ, "MODIFY_SRQ"},
    {SRQ_DESTROY, "SRQ_DESTROY"},
};

static int differ(const char *name, const char *libmlx5, const char *rig5)
{
	const char *why = reason_of(name);

	printf("%s %s: libmlx5 %s, rig5 %s\n", why ? "differs:" : "FAILED:", name, libmlx5, rig5);
	if (why)
		printf("         %s\n", why);
	return why ? 0 : 1;
}

static const struct attr *attr_of(const struct call *call, uint16_t id)
{
	for (uint32_t i = 0; i < call->attr_count; i++)
		if (call->attrs[i].id == id)
			return &call->attrs[i];
	return NULL;
}

static void hex(char text[static 64], const struct field *field, const struct attr *attr)
{
	text[0] = 0;
	for (size_t i = 0; i < field->size && i < 31; i++)
		snprintf(text + 2 * i, 3, "%02x", attr->bytes[field->offset + i]);
}

static int compare_bytes(const char *name, const struct field *field, const struct attr *a,
			 const struct attr *b)
{
	char at[NAME_BYTES], left[64], right[64];
	size_t end = field->offset + field->size;

	if (field->meaning == OWN || end > a->len || end > b->len ||
	    memcmp(a->bytes + field->offset, b->bytes + field->offset, field->size) == 0)
		return 0;
	hex(left, field, a);
	hex(right, field, b);
	snprintf(at, sizeof(at), "%.60s %s", name, field->name);
	return differ(at, left, right);
}

static int compare_attr(uint32_t key, const char *name, const struct attr *a, const struct attr *b)
{
	char at[NAME_BYTES], left[64], right[64];
	int failures = 0;

	snprintf(at, sizeof(at), "%.60s attribute %#x length", name, a->id);
	snprintf(left, sizeof(left), "%u", a->len);
	snprintf(right, sizeof(right), "%u", b->len);
	if (a->len != b->len)
		failures += differ(at, left, right);
	snprintf(at, sizeof(at), "%.60s attribute %#x flags", name, a->id);
	snprintf(left, sizeof(left), "%u", a->flags);
	snprintf(right, sizeof(right), "%u", b->flags);
	if (a->flags != b->flags)
		failures += differ(at, left, right);
	if (is_output(key, a->id))
		return failures;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].key == key && fields[i].id == a->id)
			failures += compare_bytes(name, &fields[i], a, b);
	return failures;
}

static int compare_calls(const char *name, const struct call *a, const struct call *b)
{
	char at[NAME_BYTES];
	int failures = 0;

	for (uint32_t i = 0; i < a->attr_count; i++) {
		const struct attr *other = attr_of(b, a->attrs[i].id);

		snprintf(at, sizeof(at), "%.60s attribute %#x", name, a->attrs[i].id);
		failures += other ? compare_attr(a->key, name, &a->attrs[i], other)
				  : differ(at, "sends it", "does not");
	}
	for (uint32_t i = 0; i < b->attr_count; i++) {
		snprintf(at, sizeof(at), "%.60s attribute %#x", name, b->attrs[i].id);
		if (!attr_of(a, b->attrs[i].id))
			failures += differ(at, "does not send it", "does");
	}
	return failures;
}

/* The n-th call of a kind, or NULL. */
static const struct call *call_of(const struct recording *from, uint32_t key, uint32_t n)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (from->calls[i].key == key && n-- == 0)
			return &from->calls[i];
	return NULL;
}

static int compare_kind(const struct recording recordings[2], uint32_t key, const char *name)
{
	const struct call *a, *b;
	uint32_t n = 0;
	char at[64];
	int failures = 0;

	while ((a = call_of(&recordings[LIBMLX5], key, n)) &&
	       (b = call_of(&recordings[RIG5], key, n))) {
		snprintf(at, sizeof(at), key == MODIFY_QP ? "%.40s %u" : "%.40s", name, n + 1);
		failures += compare_calls(at, a, b);
		n++;
	}
	printf("compared: %s, %u calls\n", name, n);
	if (n == 0)
		printf("FAILED: %s is not called by both\n", name);
	return failures + (n == 0);
}

static bool is_compared(uint32_t key)
{
	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		if (compared[i].key == key)
			return true;
	return false;
}

/* What one driver asks and the other does not need to. */
static void print_others(const char *driver, const struct recording *recording)
{
	printf("%s also calls:", driver);
	for (uint32_t i = 0; i < recording->count; i++)
		if (!is_compared(recording->calls[i].key))
			printf(" %#x", recording->calls[i].key);
	printf("\n");
}

int compare(const struct recording recordings[2])
{
	int failures = 0;

	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		failures += compare_kind(recordings, compared[i].key, compared[i].name);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].needed)
			continue;
		printf("FAILED: nothing differs any more: %s\n", reasons[i].name);
		failures++;
	}
	print_others("libmlx5", &recordings[LIBMLX5]);
	print_others("rig5", &recordings[RIG5]);
	printf("%d unexplained\n", failures);
	return failures;
}

#endif
