/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap.c - the capture file writer. */
#include "host/pcap.h"

#include "abi/roce_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* All in host order: the magic number tells a reader which that is [pcap]. */
struct pcap_header {
	uint32_t magic;
	uint16_t major, minor;
	int32_t zone;
	uint32_t accuracy;
	uint32_t snap_bytes;
	uint32_t link_type;
};

struct pcap_record {
	uint32_t seconds, nanoseconds;
	uint32_t captured_bytes, wire_bytes;
};

static const struct pcap_header header = {
    .magic = 0xa1b23c4d, /* nanoseconds */
    .major = 2,
    .minor = 4,
    .snap_bytes = HOST_PCAP_FRAME_MAX,
    .link_type = 1, /* Ethernet */
};

static void pcap_name(char *name, size_t size, const char *path)
{
	size_t at = 0;

	while (*path && at + 1 < size) {
		if (path[0] == '%' && path[1] == 'p') {
			at += (size_t)snprintf(name + at, size - at, "%d", (int)getpid());
			at = at < size ? at : size - 1;
			path += 2;
		} else {
			name[at++] = *path++;
		}
	}
	name[at] = 0;
}

/* Under the file's lock, so that of two processes one writes the header. */
static int pcap_begin(int fd)
{
	struct pcap_header there;
	struct stat stat;

	if (fstat(fd, &stat) != 0)
		return -errno;
	if (stat.st_size == 0 || !S_ISREG(stat.st_mode))
		return write(fd, &header, sizeof(header)) == sizeof(header) ? 0 : -EIO;
	if (pread(fd, &there, sizeof(there), 0) != sizeof(there) ||
	    memcmp(&there, &header, sizeof(there)) != 0)
		return -EEXIST;
	return 0;
}

int host_pcap_open(struct host_pcap *pcap, const char *path)
{
	char name[4096];
	int result;

	pcap_name(name, sizeof(name), path);
	pcap->failed = 0;
	pcap->fd = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (pcap->fd < 0)
		return -errno;
	flock(pcap->fd, LOCK_EX);
	result = pcap_begin(pcap->fd);
	flock(pcap->fd, LOCK_UN);
	if (result < 0)
		host_pcap_close(pcap);
	return result;
}

void host_pcap_close(struct host_pcap *pcap)
{
	if (pcap->fd >= 0)
		close(pcap->fd);
	pcap->fd = -1;
}

/* A locally administered address that says which GID it stands for. */
static void pcap_mac(uint8_t mac[static 6], const uint8_t gid[static 16])
{
	mac[0] = 0x02;
	mac[1] = 0x05;
	memcpy(mac + 2, gid + 12, 4);
}

static bool gid_is_v4(const uint8_t gid[static 16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

void host_pcap_packet(struct host_pcap *pcap, uint64_t real_ns, bool outgoing,
		      const struct nic_path *path, const struct host_pcap_around *around,
		      const uint8_t *bth, size_t len)
{
	const uint8_t *src = outgoing ? path->sgid : path->dgid;
	const uint8_t *dst = outgoing ? path->dgid : path->sgid;
	struct roce_frame frame = {
		.has_eth = true,
		.ip_version = gid_is_v4(src) && gid_is_v4(dst) ? 4 : 6,
		.traffic_class = around->traffic_class,
		.hop_limit = around->hop_limit ? around->hop_limit : 64,
		.ip_id = around->ip_id,
		.dont_fragment = around->dont_fragment,
		.flow_label = path->flow_label,
		.udp_sport = around->udp_sport ? around->udp_sport : 0xc000,
		.bth = bth,
		.bth_bytes = len,
	};
	struct pcap_record record = {.seconds = (uint32_t)(real_ns / 1000000000u),
				     .nanoseconds = (uint32_t)(real_ns % 1000000000u)};
	size_t bytes;

	memcpy(frame.src, src, 16);
	memcpy(frame.dst, dst, 16);
	pcap_mac(frame.eth_src, src);
	pcap_mac(frame.eth_dst, dst);
	bytes = roce_frame_encode(pcap->record + sizeof(record), HOST_PCAP_FRAME_MAX, &frame);
	record.captured_bytes = (uint32_t)bytes;
	record.wire_bytes = (uint32_t)bytes;
	memcpy(pcap->record, &record, sizeof(record));
	bytes += sizeof(record);
	if (record.wire_bytes == 0 || write(pcap->fd, pcap->record, bytes) != (ssize_t)bytes)
		pcap->failed++;
}
