/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap_fuzz.c - the reader of `rig5 decode`: any file is read to its end or refused in words.
 *
 * Beyond no crash: a packet lies in readable memory, is no longer than a record or the file, and
 * not shorter on the wire; the file yields no more packets than it has bytes for; the packets are
 * decoded as the command would.
 */
#include "abi/roce_frame.h"
#include "abi/roce_pkt.h"
#include "tests/fuzz/fuzz.h"

/* The file under test, instead of one with a name. */
static FILE *fuzz_file;
#define fopen(path, mode) fuzz_file
#include "tools/pcap_read.c"
#undef fopen

static uint32_t sum;

static void check_packet(const struct pcap_packet *packet, size_t size)
{
	struct roce_frame frame;
	struct roce_pkt pkt;

	FUZZ_CHECK(packet->captured_bytes <= PCAP_RECORD_MAX_BYTES);
	FUZZ_CHECK(packet->captured_bytes <= size);
	FUZZ_CHECK(packet->wire_bytes >= packet->captured_bytes);
	for (uint32_t i = 0; i < packet->captured_bytes; i++)
		sum += packet->bytes[i];
	if (packet->link == PCAP_LINK_ETHERNET &&
	    roce_frame_decode(&frame, packet->bytes, packet->captured_bytes) == ROCE_FRAME_OK)
		(void)roce_pkt_decode(&pkt, frame.bth, frame.bth_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcap_packet packet;
	struct pcap_read reader;
	void *copy;
	int result;

	if (size == 0 || size > 1 << 15)
		return 0;
	copy = malloc(size);
	FUZZ_CHECK(copy);
	memcpy(copy, data, size);
	fuzz_file = fmemopen(copy, size, "rb");
	FUZZ_CHECK(fuzz_file);
	result = pcap_read_open(&reader, "fuzz");
	FUZZ_CHECK(result == 0 || (result < 0 && reader.error[0]));
	if (result == 0) {
		while ((result = pcap_read_next(&reader, &packet)) == 1)
			check_packet(&packet, size);
		FUZZ_CHECK(result == 0 || (result < 0 && reader.error[0]));
		FUZZ_CHECK(reader.packet_count <= size);
		FUZZ_CHECK(reader.interface_count <= PCAP_INTERFACES_MAX);
		pcap_read_close(&reader);
	}
	free(copy);
	return 0;
}
