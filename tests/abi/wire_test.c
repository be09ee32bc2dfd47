/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire_test.c - our RoCE v2 codecs against packets captured from Linux 6.1 rdma_rxe, and against
 * what a separate decoder said of them (tests/golden/wire/README.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/icrc.h"
#include "abi/roce_frame.h"
#include "abi/roce_pkt.h"
#include "base/be.h"

enum {
	PACKETS = 79,
	PACKETS_IPV4 = 75,
	PACKETS_IPV6 = 4,
	FRAME_MAX = 2048,
	COLUMNS_MAX = 64,
	LINE_MAX_BYTES = 8192,
};

struct packet {
	uint8_t bytes[FRAME_MAX];
	size_t len_bytes;
	char line[LINE_MAX_BYTES]; /* of rxe.tsv */
};

static struct packet packets[PACKETS];
static char header_line[LINE_MAX_BYTES];

static FILE *open_golden(const char *name)
{
	const char *root = getenv("RIG5_SOURCE_DIR");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/golden/wire/%s", root ? root : ".", name);
	file = fopen(path, "rb");
	if (!file)
		print_error("cannot open %s\n", path);
	return file;
}

/* The capture is little-endian, in microseconds, of Ethernet: a header of 24 bytes, 16 a record. */
static int load_pcap(void)
{
	FILE *file = open_golden("rxe.pcap");
	uint8_t header[24], record[16];
	int count = 0;

	if (!file)
		return -1;
	if (fread(header, 1, sizeof(header), file) != sizeof(header))
		return -1;
	while (count < PACKETS && fread(record, 1, sizeof(record), file) == sizeof(record)) {
		struct packet *p = &packets[count++];

		p->len_bytes = le32_load(record + 8);
		if (p->len_bytes > FRAME_MAX)
			return -1;
		if (fread(p->bytes, 1, p->len_bytes, file) != p->len_bytes)
			return -1;
	}
	if (fgetc(file) != EOF)
		return -1;
	fclose(file);
	return count == PACKETS ? 0 : -1;
}

static int load_tsv(void)
{
	FILE *file = open_golden("rxe.tsv");

	if (!file || !fgets(header_line, sizeof(header_line), file))
		return -1;
	for (int i = 0; i < PACKETS; i++)
		if (!fgets(packets[i].line, sizeof(packets[i].line), file))
			return -1;
	fclose(file);
	return 0;
}

static int load(void **state)
{
	(void)state;
	return load_pcap() || load_tsv() ? -1 : 0;
}

/* A decoded packet: what the codecs made of it. */
struct decoded {
	struct roce_frame frame;
	struct roce_pkt pkt;
	size_t captured_udp_bytes;
	uint32_t icrc; /* as computed */
};

static void decode(struct decoded *d, const struct packet *p)
{
	assert_int_equal(roce_frame_decode(&d->frame, p->bytes, p->len_bytes), ROCE_FRAME_OK);
	assert_int_equal(roce_pkt_decode(&d->pkt, d->frame.bth, d->frame.bth_bytes), ROCE_OK);
	d->captured_udp_bytes = be16_load(d->frame.bth - 4);
	d->icrc = icrc_packet(d->frame.ip, d->frame.ip_bytes,
			      (size_t)(d->frame.bth - d->frame.ip) + d->frame.bth_bytes);
}

static void hex(char *dst, const uint8_t *src, size_t len_bytes)
{
	if (len_bytes == 0)
		strcpy(dst, "-");
	for (size_t i = 0; i < len_bytes; i++)
		sprintf(dst + 2 * i, "%02x", src[i]);
}

/* How a column of rxe.tsv comes out of our structures; `when`: the header it belongs to, or 0. */
struct column {
	const char *name;
	unsigned int when;
	unsigned long long (*get)(const struct decoded *d);
};

#define GET(name, expr)                                                                            \
	static unsigned long long get_##name(const struct decoded *d)                              \
	{                                                                                          \
		return (unsigned long long)(expr);                                                 \
	}

GET(v, d->frame.ip_version)
GET(tos, d->frame.traffic_class)
GET(ttl, d->frame.hop_limit)
GET(sport, d->frame.udp_sport)
GET(udp_len, d->frame.bth_bytes + ROCE_UDP_BYTES + ROCE_ICRC_BYTES)
GET(udp_csum, d->frame.udp_checksum)
GET(op, d->pkt.opcode)
GET(se, d->pkt.se)
GET(mig, d->pkt.mig_req)
GET(pad, d->pkt.pad_bytes)
GET(zero, 0 * d->pkt.psn)
GET(pkey, d->pkt.pkey)
GET(resv8a, d->pkt.fecn << 7 | d->pkt.becn << 6)
GET(dqpn, d->pkt.dqpn)
GET(ackreq, d->pkt.ack_req)
GET(psn, d->pkt.psn)
GET(syndrome, d->pkt.aeth.syndrome)
GET(msn, d->pkt.aeth.msn)
GET(imm, d->pkt.imm)
GET(va, d->pkt.reth.va | d->pkt.atomic.va)
GET(rkey, d->pkt.reth.rkey | d->pkt.atomic.rkey)
GET(dmalen, d->pkt.reth.len_bytes)
GET(swap_add, d->pkt.atomic.swap_add)
GET(cmp, d->pkt.atomic.compare)
GET(orig, d->pkt.atomic_ack.orig)
GET(qkey, d->pkt.deth.qkey)
GET(srcqp, d->pkt.deth.src_qpn)
GET(plen, d->pkt.payload_bytes)
GET(ip_id, d->frame.ip_id)
GET(ip_ff, d->frame.dont_fragment << 14)
GET(flow, d->frame.flow_label)

enum {
	WHEN_IPV4 = 1 << 8,
	WHEN_IPV6 = 1 << 9,
};

static const struct column columns[] = {
	{"v", 0, get_v},
	{"tos", 0, get_tos},
	{"ttl", 0, get_ttl},
	{"ip_id", WHEN_IPV4, get_ip_id},
	{"ip_ff", WHEN_IPV4, get_ip_ff},
	{"flow", WHEN_IPV6, get_flow},
	{"sport", 0, get_sport},
	{"udp_len", 0, get_udp_len},
	{"udp_csum", 0, get_udp_csum},
	{"op", 0, get_op},
	{"se", 0, get_se},
	{"mig", 0, get_mig},
	{"pad", 0, get_pad},
	{"tver", 0, get_zero},
	{"pkey", 0, get_pkey},
	{"resv8a", 0, get_resv8a},
	{"dqpn", 0, get_dqpn},
	{"ackreq", 0, get_ackreq},
	{"resv7", 0, get_zero},
	{"psn", 0, get_psn},
	{"syndrome", ROCE_H_AETH, get_syndrome},
	{"msn", ROCE_H_AETH, get_msn},
	{"imm", ROCE_H_IMM, get_imm},
	{"va", ROCE_H_RETH | ROCE_H_ATOMIC, get_va},
	{"rkey", ROCE_H_RETH | ROCE_H_ATOMIC, get_rkey},
	{"dmalen", ROCE_H_RETH, get_dmalen},
	{"swap_add", ROCE_H_ATOMIC, get_swap_add},
	{"cmp", ROCE_H_ATOMIC, get_cmp},
	{"orig", ROCE_H_ATOMIC_ACK, get_orig},
	{"qkey", ROCE_H_DETH, get_qkey},
	{"srcqp", ROCE_H_DETH, get_srcqp},
	{"plen", 0, get_plen},
};

static const struct column *find_column(const char *name)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcmp(columns[i].name, name) == 0)
			return &columns[i];
	return NULL;
}

/* The text that our decode gives for a column; columns that are no number come first. */
static void our_cell(char *dst, const char *name, const struct decoded *d, int n)
{
	unsigned int has = roce_opcodes[d->pkt.opcode].headers |
			   (d->frame.ip_version == 4 ? WHEN_IPV4 : WHEN_IPV6);
	const struct column *c = find_column(name);
	uint8_t icrc[4];

	if (strcmp(name, "n") == 0) {
		sprintf(dst, "%d", n);
	} else if (strcmp(name, "src") == 0) {
		hex(dst, d->frame.src, 16);
	} else if (strcmp(name, "dst") == 0) {
		hex(dst, d->frame.dst, 16);
	} else if (strcmp(name, "name") == 0) {
		strcpy(dst, roce_opcode_name(d->pkt.opcode));
	} else if (strcmp(name, "icrc") == 0) {
		le32_store(icrc, d->icrc);
		hex(dst, icrc, 4);
	} else if (strcmp(name, "payload") == 0) {
		hex(dst, d->pkt.payload, d->pkt.payload_bytes + d->pkt.pad_bytes);
	} else {
		assert_non_null(c);
		if (c->when != 0 && !(c->when & has))
			strcpy(dst, "-");
		else
			sprintf(dst, "%llu", c->get(d));
	}
}

static int split(char *line, char **cells)
{
	int count = 0;

	line[strcspn(line, "\n")] = '\0';
	while (line && count < COLUMNS_MAX)
		cells[count++] = strsep(&line, "\t");
	return count;
}

/* Shows that every captured packet decodes to the fields another decoder found.
 * By comparing each cell of rxe.tsv as text, ICRC and payload included. */
static void every_packet_decodes_to_its_fields(void **state)
{
	char *names[COLUMNS_MAX], *cells[COLUMNS_MAX], header[LINE_MAX_BYTES];
	static char line[LINE_MAX_BYTES], ours[LINE_MAX_BYTES];
	struct decoded d;
	int count;

	(void)state;
	strcpy(header, header_line);
	count = split(header, names);
	assert_true(count > 30);
	for (int i = 0; i < PACKETS; i++) {
		decode(&d, &packets[i]);
		strcpy(line, packets[i].line);
		assert_int_equal(split(line, cells), count);
		for (int c = 0; c < count; c++) {
			our_cell(ours, names[c], &d, i + 1);
			if (strcmp(ours, cells[c]) != 0)
				fail_msg("packet %d, %s: %s, not %s", i + 1, names[c], ours,
					 cells[c]);
		}
	}
}

/* Shows that encoding what was decoded gives the captured bytes again.
 * By encoding headers, payload and frame into fresh memory and comparing all of it. */
static void every_packet_encodes_to_its_bytes(void **state)
{
	uint8_t bth[FRAME_MAX], out[FRAME_MAX];
	struct decoded d;
	size_t at;

	(void)state;
	for (int i = 0; i < PACKETS; i++) {
		decode(&d, &packets[i]);
		memset(bth, 0xa5, sizeof(bth));
		memset(out, 0xa5, sizeof(out));
		at = roce_pkt_encode_headers(bth, sizeof(bth), &d.pkt);
		assert_int_equal(at, roce_pkt_header_bytes(d.pkt.opcode));
		memcpy(bth + at, d.pkt.payload, d.pkt.payload_bytes);
		memset(bth + at + d.pkt.payload_bytes, 0, d.pkt.pad_bytes);
		assert_int_equal(at + d.pkt.payload_bytes + d.pkt.pad_bytes, d.frame.bth_bytes);
		d.frame.bth = bth;
		assert_int_equal(roce_frame_encode(out, sizeof(out), &d.frame),
				 packets[i].len_bytes);
		assert_memory_equal(out, packets[i].bytes, packets[i].len_bytes);
		assert_int_equal(out[packets[i].len_bytes], 0xa5);
	}
}

/* How many packets match their ICRC when it is computed with these masks. */
static int matches(unsigned int mask)
{
	int count = 0;

	for (int i = 0; i < PACKETS; i++) {
		struct decoded d;
		size_t header_bytes;
		uint32_t crc;

		decode(&d, &packets[i]);
		header_bytes = d.frame.ip_bytes + ROCE_UDP_BYTES + ROCE_BTH_BYTES;
		crc = icrc_headers(d.frame.ip, header_bytes, mask);
		crc = icrc_update(crc, d.frame.ip + header_bytes,
				  d.frame.bth_bytes - ROCE_BTH_BYTES);
		count += icrc_final(crc) == d.frame.icrc;
	}
	return count;
}

/* Shows that every mask of the ICRC is needed.
 * By leaving one out at a time: not one packet that has the field may still match. */
static void one_mask_wrong_matches_no_packet(void **state)
{
	static const struct {
		const char *name;
		unsigned int mask;
		int others; /* packets that do not have the field, and so still match */
	} rows[] = {
		{"IPv4 TOS", ICRC_MASK_TOS, PACKETS_IPV6},
		{"IPv4 TTL", ICRC_MASK_TTL, PACKETS_IPV6},
		{"IPv4 checksum", ICRC_MASK_IP_CHECKSUM, PACKETS_IPV6},
		{"IPv6 traffic class and flow label", ICRC_MASK_TCLASS_FLOW, PACKETS_IPV4},
		{"IPv6 hop limit", ICRC_MASK_HOP_LIMIT, PACKETS_IPV4},
		{"UDP checksum", ICRC_MASK_UDP_CHECKSUM, 0},
		{"BTH byte 4", ICRC_MASK_BTH_ECN, 0},
	};
	unsigned int all = 0;

	(void)state;
	assert_int_equal(matches(ICRC_MASK_ALL), PACKETS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int count = matches(ICRC_MASK_ALL & ~rows[i].mask);

		if (count != rows[i].others)
			fail_msg("without %s: %d match, not %d", rows[i].name, count,
				 rows[i].others);
		all |= rows[i].mask;
	}
	assert_int_equal(all, ICRC_MASK_ALL);
}

/* Whether the ICRC leaves out bit `bit` of byte `at`, counted from the IP header. */
static bool is_masked(const struct decoded *d, size_t at, int bit)
{
	size_t udp = d->frame.ip_bytes, bth = udp + ROCE_UDP_BYTES;

	if (at == udp + 6 || at == udp + 7 || at == bth + ROCE_BTH_ECN_OFF)
		return true;
	if (d->frame.ip_version == 4)
		return at == 1 || at == 8 || at == 10 || at == 11;
	return (at == 0 && bit < 4) || (at >= 1 && at <= 3) || at == 7;
}

/* Shows which bits the ICRC covers: all but the masked ones.
 * By turning every bit of every packet and computing it anew: a masked one must leave it as it is,
 * any other must change it. */
static void each_bit_is_covered_or_masked(void **state)
{
	(void)state;
	for (int i = 0; i < PACKETS; i++) {
		struct packet p = packets[i];
		struct decoded d;
		size_t len_bytes;
		uint8_t *ip;

		decode(&d, &p);
		ip = p.bytes + ROCE_ETH_BYTES;
		len_bytes = (size_t)(d.frame.bth - d.frame.ip) + d.frame.bth_bytes;
		if (len_bytes > 200)
			continue; /* long payloads add time and no kind of byte */
		for (size_t bit = 0; bit < len_bytes * 8; bit++) {
			/* The version is what says which masks apply. */
			if (bit / 8 == 0 && bit % 8 >= 4)
				continue;
			ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if ((icrc_packet(ip, d.frame.ip_bytes, len_bytes) == d.icrc) !=
			    is_masked(&d, bit / 8, (int)(bit % 8)))
				fail_msg("packet %d, byte %zu, bit %zu", i + 1, bit / 8, bit % 8);
			ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_packet_decodes_to_its_fields),
		cmocka_unit_test(every_packet_encodes_to_its_bytes),
		cmocka_unit_test(one_mask_wrong_matches_no_packet),
		cmocka_unit_test(each_bit_is_covered_or_masked),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
