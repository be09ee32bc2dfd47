/* SPDX-License-Identifier: BSD-2-Clause */
/* abi_dump_test.c - one-line text of WQEs, CQEs and packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/dump.h"
#include "base/prng.h"

static struct wqe_ctrl_seg ctrl(uint8_t opmod, enum wqe_opcode opcode, unsigned int units)
{
	return (struct wqe_ctrl_seg){.opmod_idx_opcode = wqe_ctrl_op(opmod, 7, opcode),
				     .qpn_ds = wqe_ctrl_qpn_ds(0x12, units),
				     .fm_ce_se = WQE_CE_ALWAYS};
}

/* Shows the text of each kind of send entry.
 * By building entries and comparing whole lines. */
static void send_entries(void **state)
{
	struct wqe_raddr_seg raddr = {.va = be64_from(0x10), .rkey = be32_from(0x20)};
	struct wqe_data_seg data = {be32_from(64), be32_from(0x30), be64_from(0x40)};
	struct wqe_atomic_seg atomic = {be64_from(1), be64_from(2)};
	struct wqe_inline_seg in = {be32_from(WQE_INLINE_F | 8)};
	struct wqe_av av = {.dqp_dct = be32_from(WQE_AV_EXTENDED_F | 0x15), .rgid = {[15] = 1}};
	uint8_t wqe[128] = {0};
	struct wqe_ctrl_seg c = ctrl(0, WQE_OP_WRITE, 3);
	char buf[DUMP_BYTES];
	size_t len;

	(void)state;
	memcpy(wqe, &c, 16);
	memcpy(wqe + 16, &raddr, 16);
	memcpy(wqe + 32, &data, 16);
	len = wqe_dump(buf, sizeof(buf), wqe, sizeof(wqe), WQE_ADDRESS_NONE);
	assert_string_equal(buf, "WRITE index 7 qpn 0x12 ds 3 signal | va 0x10 rkey 0x20 | "
				 "64 bytes lkey 0x30 va 0x40");
	assert_int_equal(len, strlen(buf));

	memcpy(wqe + 32, &in, 4);
	wqe_dump(buf, sizeof(buf), wqe, sizeof(wqe), WQE_ADDRESS_NONE);
	assert_non_null(strstr(buf, "| va 0x10 rkey 0x20 | inline 8 bytes"));

	c = ctrl(WQE_OPMOD_ATOMIC_64, WQE_OP_ATOMIC_MASKED_CS, 5);
	memcpy(wqe, &c, 16);
	memcpy(wqe + 32, &atomic, 16);
	memcpy(wqe + 48, &atomic, 16);
	memcpy(wqe + 64, &data, 16);
	wqe_dump(buf, sizeof(buf), wqe, sizeof(wqe), WQE_ADDRESS_NONE);
	assert_string_equal(buf,
			    "ATOMIC_MASKED_CS opmod 0x9 index 7 qpn 0x12 ds 5 signal | va 0x10 "
			    "rkey 0x20 | swap_add 0x1 compare 0x2 masks 0x1 0x2 | 64 bytes lkey "
			    "0x30 va 0x40");

	c = ctrl(0, WQE_OP_SEND, 4);
	c.fm_ce_se = WQE_FM_FENCE | WQE_SOLICITED_F;
	c.imm = be32_from(9);
	memcpy(wqe, &c, 16);
	memcpy(wqe + 16, &av, 48);
	wqe_dump(buf, sizeof(buf), wqe, sizeof(wqe), WQE_ADDRESS_UD);
	assert_string_equal(buf, "SEND index 7 qpn 0x12 ds 4 solicited fence imm 0x9 | to qpn 0x15 "
				 "qkey 0x0 gid 00000000000000000000000000000001");

	av.dc_key = be64_from(0x1122334455667788);
	memcpy(wqe + 16, &av, 48);
	wqe_dump(buf, sizeof(buf), wqe, sizeof(wqe), WQE_ADDRESS_DC);
	assert_string_equal(buf, "SEND index 7 qpn 0x12 ds 4 solicited fence imm 0x9 | to dct 0x15 "
				 "key 0x1122334455667788 gid 00000000000000000000000000000001");
}

/* Shows that any bytes of any length print, inside their buffer and the text's.
 * By random entries in exact heap blocks, into buffers of random size (fixed seed; ASan in ci). */
static void random_entries(void **state)
{
	struct base_prng prng;

	(void)state;
	print_message("seed 1\n");
	base_prng_seed(&prng, 1);
	for (int i = 0; i < 5000; i++) {
		size_t len_bytes = base_prng_below(&prng, 130), cap = base_prng_below(&prng, 200);
		uint8_t *wqe = malloc(len_bytes ? len_bytes : 1);
		char *buf = malloc(cap ? cap : 1);
		struct cqe64 cqe;
		struct roce_pkt pkt = {0};

		assert_non_null(wqe);
		assert_non_null(buf);
		base_prng_fill(&prng, wqe, len_bytes);
		base_prng_fill(&prng, &cqe, sizeof(cqe));
		pkt.opcode = (uint8_t)base_prng_u64(&prng);
		pkt.aeth.syndrome = (uint8_t)base_prng_u64(&prng);
		assert_true(wqe_dump(buf, cap, wqe, len_bytes, (enum wqe_address)(i % 3)) <= cap);
		assert_true(wqe_recv_dump(buf, cap, wqe, len_bytes) <= cap);
		assert_true(cqe_dump(buf, cap, &cqe) <= cap);
		assert_true(roce_pkt_dump(buf, cap, &pkt) <= cap);
		if (cap != 0)
			assert_true(memchr(buf, '\0', cap) != NULL);
		free(buf);
		free(wqe);
	}
	assert_int_equal(wqe_dump((char[20]){0}, 20, "", 0, WQE_ADDRESS_NONE), strlen("cut short"));
}

/* Shows the text of receive entries: up to the end mark, or the entry's end.
 * By two pieces and a mark. */
static void receive_entries(void **state)
{
	struct wqe_data_seg list[3] = {{be32_from(64), be32_from(1), be64_from(2)},
				       {be32_from(8), be32_from(3), be64_from(4)},
				       {be32_from(0), be32_from(WQE_LKEY_INVALID), be64_from(0)}};
	char buf[DUMP_BYTES];

	(void)state;
	wqe_recv_dump(buf, sizeof(buf), list, sizeof(list));
	assert_string_equal(buf, "RECV | 64 bytes lkey 0x1 va 0x2 | 8 bytes lkey 0x3 va 0x4");
	wqe_recv_dump(buf, sizeof(buf), list, 16);
	assert_string_equal(buf, "RECV | 64 bytes lkey 0x1 va 0x2");
}

/* Shows the text of a good and of a failed completion.
 * By comparing whole lines. */
static void completions(void **state)
{
	struct cqe64 cqe = {.sop_drop_qpn = be32_from(0x34),
			    .wqe_counter = be16_from(3),
			    .byte_cnt = be32_from(100),
			    .imm_inval_pkey = be32_from(0xab),
			    .op_own = cqe_op_own(CQE_RESP_SEND_IMM, true, true)};
	struct cqe_err64 err = {.sop_drop_qpn = be32_from(0x08000034),
				.wqe_counter = be16_from(3),
				.vendor_syndrome = CQE_VENDOR_RETRY_EXC,
				.syndrome = CQE_SYND_RETRY_EXC,
				.op_own = cqe_op_own(CQE_REQ_ERR, false, false)};
	char buf[DUMP_BYTES];

	(void)state;
	cqe_dump(buf, sizeof(buf), &cqe);
	assert_string_equal(buf, "RESP_SEND_IMM owner 1 qpn 0x34 counter 3 bytes 100 imm 0xab "
				 "solicited");
	memcpy(&cqe, &err, sizeof(cqe));
	cqe_dump(buf, sizeof(buf), &cqe);
	assert_string_equal(buf, "REQ_ERR owner 0 qpn 0x34 counter 3 of WRITE: retry exceeded, "
				 "vendor 0x81");
	assert_null(cqe_syndrome_words(0x99));
	assert_null(cqe_opcode_name(9));
	assert_null(cqe_opcode_name(200));
	assert_null(wqe_opcode_name(0xff));
}

/* Shows the text of packets of each header kind and each kind of syndrome.
 * By a table of packets and lines. */
static void packet_lines(void **state)
{
	static const struct {
		struct roce_pkt pkt;
		const char *line;
	} rows[] = {
	    {{.opcode = ROCE_OP_RC_WRITE_ONLY_IMM,
	      .dqpn = 0x11,
	      .psn = 0x100,
	      .ack_req = true,
	      .se = true,
	      .reth = {0x20, 0x30, 5},
	      .imm = 7,
	      .payload_bytes = 5,
	      .pad_bytes = 3},
	     "RC_WRITE_ONLY_IMM qpn 0x11 psn 0x100 ack_req se va 0x20 rkey 0x30 dma 5 imm 0x7 "
	     "len 5 pad 3"},
	    {{.opcode = ROCE_OP_RC_ACK, .aeth = {.syndrome = 0x1f, .msn = 2}, .becn = true},
	     "RC_ACK qpn 0x0 psn 0x0 becn ack credits 31 msn 2 len 0"},
	    {{.opcode = ROCE_OP_RC_ACK, .aeth = {.syndrome = 0x2c, .msn = 2}, .fecn = true},
	     "RC_ACK qpn 0x0 psn 0x0 fecn RNR timer 12 msn 2 len 0"},
	    {{.opcode = ROCE_OP_RC_ACK, .aeth = {.syndrome = 0x62}},
	     "RC_ACK qpn 0x0 psn 0x0 NAK remote access msn 0 len 0"},
	    {{.opcode = ROCE_OP_RC_ACK, .aeth = {.syndrome = 0x7f}},
	     "RC_ACK qpn 0x0 psn 0x0 NAK 0x7f msn 0 len 0"},
	    {{.opcode = ROCE_OP_RC_ACK, .aeth = {.syndrome = 0x41}},
	     "RC_ACK qpn 0x0 psn 0x0 syndrome 0x41 msn 0 len 0"},
	    {{.opcode = ROCE_OP_RC_CMP_SWAP,
	      .atomic = {.va = 1, .rkey = 2, .swap_add = 3, .compare = 4}},
	     "RC_CMP_SWAP qpn 0x0 psn 0x0 va 0x1 rkey 0x2 swap_add 0x3 compare 0x4 len 0"},
	    {{.opcode = ROCE_OP_RC_ATOMIC_ACK, .atomic_ack = {9}},
	     "RC_ATOMIC_ACK qpn 0x0 psn 0x0 ack credits 0 msn 0 orig 0x9 len 0"},
	    {{.opcode = ROCE_OP_UD_SEND_ONLY, .deth = {5, 6}},
	     "UD_SEND_ONLY qpn 0x0 psn 0x0 qkey 0x5 from 0x6 len 0"},
	    {{.opcode = ROCE_OP_RC_SEND_ONLY_INV, .inv_rkey = 8},
	     "RC_SEND_ONLY_INV qpn 0x0 psn 0x0 inval 0x8 len 0"},
	    {{.opcode = ROCE_OP_DC_SEND_ONLY, .dceth = {7, 8, 9, 10}},
	     "DC_SEND_ONLY qpn 0x0 psn 0x0 dckey 0x7 from 0x9 session 8 first 0xa len 0"},
	    {{.opcode = 0xff}, "0xff qpn 0x0 psn 0x0 len 0"},
	};
	char buf[DUMP_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roce_pkt_dump(buf, sizeof(buf), &rows[i].pkt);
		assert_string_equal(buf, rows[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(send_entries),    cmocka_unit_test(random_entries),
	    cmocka_unit_test(receive_entries), cmocka_unit_test(completions),
	    cmocka_unit_test(packet_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
