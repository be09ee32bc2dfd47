/* SPDX-License-Identifier: BSD-2-Clause */
/* decode.c - `rig5 decode`: the RoCE v2 packets of a capture file, one line each. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/dump.h"
#include "abi/icrc.h"
#include "abi/roce_frame.h"
#include "tools/pcap_read.h"
#include "tools/tools.h"

static const char help[] =
	"Usage: rig5 decode [OPTION]... FILE\n"
	"\n"
	"Prints the RoCE v2 packets of a capture, one line each, and a summary. FILE is\n"
	"pcap or pcapng, of Ethernet or raw IP; - is standard input.\n"
	"\n"
	"  #NUMBER SECONDS SOURCE > DESTINATION OPCODE qpn psn [flags] [headers] len\n"
	"  [pad] [ce] icrc\n"
	"\n"
	"SECONDS count from the first packet of the file; ? where the file has no time.\n"
	"`icrc ok` or `icrc BAD` compares the packet's invariant CRC with its bytes.\n"
	"Packets of other protocols are counted, not printed.\n"
	"\n"
	"  -q, --quiet  the summary only\n"
	"  -h, --help   this text\n"
	"\n"
	"Exit status: 0; 1 if an ICRC was bad; 2 if the file cannot be read to its end.\n";

enum {
	DECODE_UNUSABLE = 2, /* exit status */
};

struct tally {
	uint64_t packets;
	bool has_first;
	int64_t first_ns; /* of the first packet with a time */
	uint64_t roce;
	uint64_t icrc_bad;
	uint64_t malformed; /* RoCE v2 packets among `roce` whose headers make no sense */
	uint64_t cut; /* by the capture's length limit */
	uint64_t broken; /* IP or UDP headers that make no sense */
	uint64_t fragments;
	uint64_t links; /* of a link type we do not read */
	uint64_t other;
};

static enum roce_frame_verdict decode_frame(struct roce_frame *frame,
					    const struct pcap_packet *packet, bool *known_link)
{
	*known_link = true;
	switch (packet->link) {
	case PCAP_LINK_ETHERNET:
		return roce_frame_decode(frame, packet->bytes, packet->captured_bytes);
	case PCAP_LINK_RAW_IP:
	case PCAP_LINK_IPV4:
	case PCAP_LINK_IPV6:
		return roce_frame_decode_ip(frame, packet->bytes, packet->captured_bytes);
	default:
		*known_link = false;
		return ROCE_FRAME_OTHER;
	}
}

static void print_address(const uint8_t *gid, uint8_t ip_version)
{
	char text[INET6_ADDRSTRLEN];

	if (ip_version == 4)
		inet_ntop(AF_INET, gid + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, gid, text, sizeof(text));
	fputs(text, stdout);
}

/* Seconds since the first packet with a time; a capture may hold earlier ones behind it. */
static void print_time(const struct tally *tally, const struct pcap_packet *packet)
{
	int64_t since_ns = (int64_t)((uint64_t)packet->time_ns - (uint64_t)tally->first_ns);
	uint64_t magnitude = since_ns < 0 ? -(uint64_t)since_ns : (uint64_t)since_ns;

	if (packet->has_time)
		printf("%s%" PRIu64 ".%09" PRIu64, since_ns < 0 ? "-" : "",
		       magnitude / 1000000000, magnitude % 1000000000);
	else
		putchar('?');
}

static void print_packet(const struct tally *tally, const struct pcap_packet *packet,
			 const struct roce_frame *frame, const char *words, bool icrc_ok)
{
	printf("#%" PRIu64 " ", tally->packets);
	print_time(tally, packet);
	putchar(' ');
	print_address(frame->src, frame->ip_version);
	fputs(" > ", stdout);
	print_address(frame->dst, frame->ip_version);
	printf(" %s%s icrc %s\n", words,
	       (frame->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE ? " ce" : "",
	       icrc_ok ? "ok" : "BAD");
}

/* The packet in words; false if its BTH or what follows makes no sense. */
static bool describe(char *words, size_t cap_bytes, const struct roce_frame *frame)
{
	struct roce_pkt pkt;
	enum roce_verdict verdict = roce_pkt_decode(&pkt, frame->bth, frame->bth_bytes);

	if (verdict == ROCE_OK)
		roce_pkt_dump(words, cap_bytes, &pkt);
	else
		snprintf(words, cap_bytes, "opcode 0x%02x, %zu bytes: %s", frame->bth[0],
			 frame->bth_bytes, roce_verdict_words(verdict));
	return verdict == ROCE_OK;
}

static void take_roce(struct tally *tally, const struct pcap_packet *packet,
		      const struct roce_frame *frame, bool quiet)
{
	size_t sealed_bytes = (size_t)(frame->bth - frame->ip) + frame->bth_bytes;
	bool icrc_ok = icrc_packet(frame->ip, frame->ip_bytes, sealed_bytes) == frame->icrc;
	char words[DUMP_BYTES];

	tally->roce++;
	tally->icrc_bad += !icrc_ok;
	tally->malformed += !describe(words, sizeof(words), frame);
	if (!quiet)
		print_packet(tally, packet, frame, words, icrc_ok);
}

static void take_packet(struct tally *tally, const struct pcap_packet *packet, bool quiet)
{
	struct roce_frame frame;
	bool known_link;
	enum roce_frame_verdict verdict = decode_frame(&frame, packet, &known_link);

	tally->packets++;
	if (packet->has_time && !tally->has_first) {
		tally->has_first = true;
		tally->first_ns = packet->time_ns;
	}
	switch (verdict) {
	case ROCE_FRAME_OK:
		take_roce(tally, packet, &frame, quiet);
		return;
	case ROCE_FRAME_OTHER:
		if (known_link)
			tally->other++;
		else
			tally->links++;
		return;
	case ROCE_FRAME_TOO_SHORT:
		if (packet->captured_bytes < packet->wire_bytes)
			tally->cut++;
		else
			tally->broken++;
		return;
	case ROCE_FRAME_FRAGMENT:
		tally->fragments++;
		return;
	case ROCE_FRAME_BAD_IP:
	case ROCE_FRAME_BAD_IP_CHECKSUM:
	case ROCE_FRAME_BAD_UDP:
		tally->broken++;
		return;
	}
}

static void print_part(uint64_t count, const char *words)
{
	if (count != 0)
		printf(", %" PRIu64 " %s", count, words);
}

static void print_summary(const struct tally *tally)
{
	printf("%" PRIu64 " packets: %" PRIu64 " RoCE v2, %" PRIu64 " with a bad ICRC",
	       tally->packets, tally->roce, tally->icrc_bad);
	print_part(tally->malformed, "malformed");
	print_part(tally->cut, "cut short by the capture");
	print_part(tally->broken, "too short or with broken headers");
	print_part(tally->fragments, "IP fragments");
	print_part(tally->links, "of an unknown link type");
	print_part(tally->other, "of other protocols");
	putchar('\n');
}

/* A pcap file of a link type we cannot read holds nothing for us; pcapng may mix them. */
static int check_link(struct pcap_read *r, const char *path)
{
	struct pcap_packet packet = {0};
	struct roce_frame frame;
	bool known_link;

	if (r->ng)
		return 0;
	packet.link = r->interfaces[0].link;
	packet.bytes = r->record;
	decode_frame(&frame, &packet, &known_link);
	if (known_link)
		return 0;
	tool_error("%s: link type %u is neither Ethernet (1) nor raw IP (101)", path, packet.link);
	return -EBADMSG;
}

static int decode_file(struct pcap_read *r, const char *path, bool quiet)
{
	struct pcap_packet packet;
	struct tally tally = {0};
	int result;

	if (check_link(r, path) < 0)
		return DECODE_UNUSABLE;
	while ((result = pcap_read_next(r, &packet)) > 0)
		take_packet(&tally, &packet, quiet);
	print_summary(&tally);
	if (result < 0) {
		tool_error("%s: %s", path, r->error);
		return DECODE_UNUSABLE;
	}
	return tally.icrc_bad ? TOOL_FAILED : TOOL_OK;
}

int tool_decode(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"quiet", no_argument, NULL, 'q'},
		{NULL, 0, NULL, 0},
	};
	struct pcap_read r;
	bool quiet = false;
	int option, result;

	while ((option = getopt_long(argc, argv, "hq", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return TOOL_OK;
		}
		if (option != 'q')
			return tool_usage_error(NULL);
		quiet = true;
	}
	if (optind + 1 != argc)
		return tool_usage_error(optind == argc ? "which file?" : "one file at a time");
	if (pcap_read_open(&r, argv[optind]) < 0) {
		tool_error("%s: %s", argv[optind], r.error);
		return DECODE_UNUSABLE;
	}
	result = decode_file(&r, argv[optind], quiet);
	pcap_read_close(&r);
	return result;
}
