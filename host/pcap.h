/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pcap.h - a capture of every packet that the NIC sends and gets, as Wireshark and `rig5 decode`
 * read it: nanosecond pcap [pcap], Ethernet frames with IP, UDP and a right ICRC around
 * the packet, whatever wire it took. Of a packet that went or came over UDP, they are what
 * was around it.
 *
 * One record is one write to a file opened for appending, so several processes may share a file;
 * each packet between them is then in it twice. One owner at a time per struct host_pcap.
 */
#ifndef HOST_PCAP_H
#define HOST_PCAP_H

#include "nic/nic.h"

#include <stddef.h>
#include <stdint.h>

enum { HOST_PCAP_FRAME_MAX = 9216 };

struct host_pcap {
	int fd;          /* -1: off */
	uint64_t failed; /* records that could not be written, or made no frame */
	uint8_t record[16 + HOST_PCAP_FRAME_MAX];
};

/*
 * host_pcap_open - appends to the file at path, in which every "%p" stands for the process's
 * number; a new or empty file gets the header. 0; or -errno: as open(2) said, or -EEXIST if the
 * file holds something that is no such capture.
 */
int host_pcap_open(struct host_pcap *pcap, const char *path);
void host_pcap_close(struct host_pcap *pcap);

struct host_pcap_around {
	uint8_t traffic_class;
	uint8_t hop_limit;  /* 0: not known */
	uint16_t udp_sport; /* 0: not known */
	uint16_t ip_id;
	bool dont_fragment;
};

/* host_pcap_packet - one packet, as nic_env.packet; real_ns is CLOCK_REALTIME. */
void host_pcap_packet(struct host_pcap *pcap, uint64_t real_ns, bool outgoing,
		      const struct nic_path *path, const struct host_pcap_around *around,
		      const uint8_t *bth, size_t len);

#endif
