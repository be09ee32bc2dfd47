/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * devx_mkey.c - memory keys by command: CREATE_MKEY over a umem, or made of pieces of other keys.
 *
 * A key over a umem starts in the page where the umem (and offset) does, at the place in that page
 * which its own first address has: that is how a table of pages translates.
 */
#include "kern/devx.h"

#include "base/assert.h"

enum {
	MKC = CMD_MKEY_MKC,
	PAGE_MASK = 0xfff,
	QPN_ANY = 0xffffff,
	KLM_BYTES = 16,
	/* In mailbox_out, behind this command's answer. */
	KLM_ROOM_AT = 64,
	KLM_COUNT_MAX = (KERN_MAILBOX_BYTES - KLM_ROOM_AT) / (int)sizeof(struct nic_klm),
};

static enum cmd_status refuse_at(struct kern_cmd *cmd, enum cmd_status status,
				 struct cmd_field field)
{
	return kern_cmd_refuse(cmd, status, (uint32_t)MKC + field.word);
}

static uint32_t access_from(const uint8_t *mkc)
{
	return (cmd_get(mkc, CMD_MKC_LW) ? NIC_ACCESS_LOCAL_WRITE_F : 0) |
	       (cmd_get(mkc, CMD_MKC_RW) ? NIC_ACCESS_REMOTE_WRITE_F : 0) |
	       (cmd_get(mkc, CMD_MKC_RR) ? NIC_ACCESS_REMOTE_READ_F : 0) |
	       (cmd_get(mkc, CMD_MKC_ATOMIC) ? NIC_ACCESS_REMOTE_ATOMIC_F : 0);
}

static enum cmd_status read_common(struct kern_cmd *cmd, const uint8_t *mkc,
				   struct nic_mkey_attr *attr, struct kern_object **pd)
{
	uint32_t qpn = cmd_get(mkc, CMD_MKC_QPN);

	*pd = kern_devx_named(cmd->call->file, KERN_PD, CMD_ALLOC_PD, cmd_get(mkc, CMD_MKC_PD));
	if (!*pd)
		return refuse_at(cmd, CMD_BAD_RES, CMD_MKC_PD);
	if (cmd_get(mkc, CMD_MKC_CRYPTO))
		return refuse_at(cmd, CMD_BAD_PARAM, CMD_MKC_CRYPTO);
	*attr = (struct nic_mkey_attr){
	    .pdn = (*pd)->number,
	    .access = access_from(mkc),
	    .va = be64_load(mkc + CMD_MKC_START),
	    .len_bytes = be64_load(mkc + CMD_MKC_LEN),
	    .free = cmd_get(mkc, CMD_MKC_FREE),
	    .umr = cmd_get(mkc, CMD_MKC_UMR),
	    .remote_invalidate = cmd_get(mkc, CMD_MKC_REMOTE_INVALIDATE),
	    .tag_given = true,
	    .tag = (uint8_t)cmd_get(mkc, CMD_MKC_TAG),
	    .qpn = qpn == QPN_ANY ? 0 : qpn,
	    .signature = cmd_get(mkc, CMD_MKC_BSF),
	};
	/* The whole of the address space, less the byte that cannot be counted. */
	if (cmd_get(mkc, CMD_MKC_LENGTH64))
		attr->len_bytes = UINT64_MAX - attr->va;
	return CMD_OK;
}

static enum cmd_status over_umem(struct kern_cmd *cmd, struct nic_mkey_attr *attr,
				 struct kern_object **umem)
{
	struct kern_file *file = cmd->call->file;
	uint32_t id = cmd_get(cmd->in, CMD_MKEY_UMEM_ID);
	uint64_t offset = be64_load(cmd->in + CMD_MKEY_UMEM_OFFSET);
	bool writable = attr->access & ~(uint32_t)NIC_ACCESS_REMOTE_READ_F;
	uint64_t start;

	attr->kind = NIC_MKEY_REGION;
	if (!kern_devx_umem_at(file, id, offset, 0, false, &start))
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_MKEY_UMEM_ID.word);
	offset += (attr->va - start) & PAGE_MASK;
	*umem = kern_devx_umem_at(file, id, offset, attr->len_bytes, writable, &attr->host_va);
	if (!*umem)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, MKC + CMD_MKC_LEN);
	return !writable || (*umem)->is_writable ? CMD_OK
						 : refuse_at(cmd, CMD_BAD_PARAM, CMD_MKC_LW);
}

/* The list of pieces, turned into the nic's form behind the answer. */
static enum cmd_status of_pieces(struct kern_cmd *cmd, const uint8_t *mkc,
				 struct nic_mkey_attr *attr, enum nic_mkey_kind kind)
{
	struct nic_klm *klms = (struct nic_klm *)(void *)(cmd->out + KLM_ROOM_AT);
	uint32_t count = cmd_get(cmd->in, CMD_MKEY_ACTUAL_COUNT);
	const uint8_t *klm = cmd->in + CMD_MKEY_KLMS;

	attr->kind = kind;
	attr->klm_count_max = cmd_get(mkc, CMD_MKC_COUNT);
	attr->entity_log2 = (uint8_t)cmd_get(mkc, CMD_MKC_LOG_ENTITY);
	if (count > KLM_COUNT_MAX ||
	    (count != 0 && cmd->in_len < CMD_MKEY_KLMS + (size_t)count * KLM_BYTES))
		return kern_cmd_refuse(cmd, CMD_BAD_INP_LEN, CMD_MKEY_ACTUAL_COUNT.word);
	for (uint32_t i = 0; i < count; i++, klm += KLM_BYTES)
		klms[i] = (struct nic_klm){.len_bytes = be32_load(klm),
					   .key = be32_load(klm + 4),
					   .va = be64_load(klm + 8)};
	attr->klms = klms;
	attr->klm_count = count;
	return CMD_OK;
}

enum cmd_status kern_cmd_create_mkey(struct kern_cmd *cmd)
{
	const uint8_t *mkc = cmd->in + MKC;
	struct nic_mkey_attr attr;
	struct kern_object *pd, *umem = NULL;
	enum cmd_status status = read_common(cmd, mkc, &attr, &pd);

	if (status != CMD_OK)
		return status;
	switch (cmd_get(mkc, CMD_MKC_MODE_HIGH) << 2 | cmd_get(mkc, CMD_MKC_MODE)) {
	case CMD_MKC_MODE_MTT:
		status = over_umem(cmd, &attr, &umem);
		break;
	case CMD_MKC_MODE_KLM:
		status = of_pieces(cmd, mkc, &attr, NIC_MKEY_KLM);
		break;
	case CMD_MKC_MODE_KSM:
		status = of_pieces(cmd, mkc, &attr, NIC_MKEY_KSM);
		break;
	default:
		status = refuse_at(cmd, CMD_BAD_PARAM, CMD_MKC_MODE);
	}
	if (status == CMD_OK)
		status = kern_cmd_result(
		    cmd, nic_mkey_create(cmd->call->kern->nic, &attr, &cmd->object->key), MKC);
	if (status != CMD_OK)
		return status;
	kern_object_use(cmd->object, KERN_USE_PD, pd);
	if (umem)
		kern_object_use(cmd->object, KERN_USE_RING, umem);
	return kern_cmd_made(cmd, cmd->object->key >> 8);
}

/* Where a signature's seed is; one a command. */
enum cmd_status kern_cmd_create_psv(struct kern_cmd *cmd)
{
	struct kern_object *pd = kern_devx_named(cmd->call->file, KERN_PD, CMD_ALLOC_PD,
						 cmd_get(cmd->in, CMD_PSV_PD));
	enum cmd_status status;
	uint32_t psv;

	if (!pd)
		return kern_cmd_refuse(cmd, CMD_BAD_RES, CMD_PSV_PD.word);
	if (cmd_get(cmd->in, CMD_PSV_COUNT) != 1)
		return kern_cmd_refuse(cmd, CMD_BAD_PARAM, CMD_PSV_COUNT.word);
	status = kern_cmd_result(cmd, nic_psv_create(cmd->call->kern->nic, pd->number, &psv), 0);
	if (status != CMD_OK)
		return status;
	kern_object_use(cmd->object, 0, pd);
	cmd->object->number = psv;
	cmd_set(cmd->out, CMD_PSV_FIRST, psv);
	return CMD_OK;
}
