/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/pcap_read.h - the packets of a capture file, one after the other: pcap in either byte order
 * with micro- or nanoseconds, and pcapng in either byte order with any time resolution.
 *
 * The file may be anything, a pipe included: it is read once from front to back, no length in it
 * is believed before it was bounded, and no more than PCAP_RECORD_MAX_BYTES of it is in memory.
 * One caller at a time. Source: [pcap], [pcapng], [linktypes].
 */
#ifndef TOOLS_PCAP_READ_H
#define TOOLS_PCAP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PCAP_RECORD_MAX_BYTES = 1 << 20, /* a packet or a pcapng block: jumbo frames are 9 KiB */
	PCAP_INTERFACES_MAX = 1024,
};

/* Link types we can name; a file may hold any other number [linktypes]. */
enum {
	PCAP_LINK_ETHERNET = 1,
	PCAP_LINK_RAW_IP = 101,
	PCAP_LINK_IPV4 = 228,
	PCAP_LINK_IPV6 = 229,
};

struct pcap_interface {
	uint16_t link;
	uint8_t resolution; /* if_tsresol: 10^-n seconds, or 2^-(n & 127) with bit 7 set */
	int64_t offset_s; /* if_tsoffset */
	uint32_t snap_bytes; /* 0: no limit */
};

struct pcap_read {
	FILE *file;
	bool ng; /* pcapng */
	bool swap; /* the file's byte order is not this machine's */
	bool nanoseconds; /* pcap */
	struct pcap_interface *interfaces; /* of the current section; pcap has one */
	uint32_t interface_count;
	uint8_t *record; /* room for PCAP_RECORD_MAX_BYTES */
	uint64_t packet_count;
	char error[160]; /* why the last call failed, for people */
};

struct pcap_packet {
	const uint8_t *bytes; /* until the next call */
	uint32_t captured_bytes;
	uint32_t wire_bytes; /* before the capture cut it; never less than captured_bytes */
	bool has_time; /* simple packet blocks of pcapng have none */
	int64_t time_ns; /* since 1970 */
	uint16_t link; /* PCAP_LINK_*, or any other */
};

/*
 * pcap_read_open - a reader of the file at path; "-" is standard input.
 * Returns 0, or -errno with r->error set and nothing to close: -EBADMSG if it is no capture.
 */
int pcap_read_open(struct pcap_read *r, const char *path);

/*
 * pcap_read_next - the next packet.
 * Returns 1 with *packet written; 0 at the end of the file; or, with r->error set, -EBADMSG where
 * the file makes no sense or is cut short, -EIO or another -errno. Do not go on after that.
 */
int pcap_read_next(struct pcap_read *r, struct pcap_packet *packet);

/* pcap_read_close - frees what open made. */
void pcap_read_close(struct pcap_read *r);

#endif
