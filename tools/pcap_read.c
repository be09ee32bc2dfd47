/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap_read.c - the capture file reader. Every read goes through get or skip, which bound it. */
#include "tools/pcap_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PCAP_MAGIC_US 0xa1b2c3d4u
#define PCAP_MAGIC_NS 0xa1b23c4du
#define NG_BYTE_ORDER_MAGIC 0x1a2b3c4du
#define NG_SECTION 0x0a0d0d0au /* reads the same in both byte orders */

enum {
	PCAP_HEADER_BYTES = 24,
	PCAP_RECORD_HEADER_BYTES = 16,
	NG_INTERFACE = 1,
	NG_PACKET_OBSOLETE = 2,
	NG_PACKET_SIMPLE = 3,
	NG_PACKET = 6,
	NG_BLOCK_MIN_BYTES = 12,
	NG_OPTION_END = 0,
	NG_OPTION_TSRESOL = 9,
	NG_OPTION_TSOFFSET = 14,
	NG_RESOLUTION_DEFAULT = 6, /* microseconds */
};

__attribute__((format(printf, 2, 3))) static int bad(struct pcap_read *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
	return -EBADMSG;
}

/* Four bytes in this machine's order. */
static uint32_t native32(const void *src)
{
	uint32_t value;

	memcpy(&value, src, sizeof(value));
	return value;
}

static uint32_t get32(const struct pcap_read *r, const void *src)
{
	uint32_t value = native32(src);

	return r->swap ? __builtin_bswap32(value) : value;
}

static uint16_t get16(const struct pcap_read *r, const void *src)
{
	uint16_t value;

	memcpy(&value, src, sizeof(value));
	return r->swap ? __builtin_bswap16(value) : value;
}

static int cut_short(struct pcap_read *r)
{
	return bad(r, "the file is cut short after packet %llu",
		   (unsigned long long)r->packet_count);
}

/* Fills dst. Returns 1; 0 if the file ends exactly here; -EBADMSG if it ends inside. */
static int get(struct pcap_read *r, void *dst, size_t len_bytes)
{
	size_t got = fread(dst, 1, len_bytes, r->file);

	if (got == len_bytes)
		return 1;
	if (ferror(r->file)) {
		snprintf(r->error, sizeof(r->error), "cannot read: %s", strerror(errno));
		return errno ? -errno : -EIO;
	}
	if (got == 0)
		return 0;
	return cut_short(r);
}

/* The same where the file may not end. */
static int get_rest(struct pcap_read *r, void *dst, size_t len_bytes)
{
	int result = len_bytes ? get(r, dst, len_bytes) : 1;

	if (result == 0)
		return cut_short(r);
	return result;
}

static int skip(struct pcap_read *r, uint32_t len_bytes)
{
	while (len_bytes != 0) {
		uint32_t part = PCAP_RECORD_MAX_BYTES;
		int result;

		if (part > len_bytes)
			part = len_bytes;
		result = get_rest(r, r->record, part);
		if (result < 0)
			return result;
		len_bytes -= part;
	}
	return 1;
}

static int add_interface(struct pcap_read *r, const struct pcap_interface *interface)
{
	if (r->interface_count == PCAP_INTERFACES_MAX)
		return bad(r, "more than %d interfaces in one section", PCAP_INTERFACES_MAX);
	r->interfaces[r->interface_count++] = *interface;
	return 1;
}

/* ---- pcap ------------------------------------------------------------------------------------ */

static int pcap_header(struct pcap_read *r, const uint8_t *magic)
{
	struct pcap_interface interface = {0};
	uint8_t header[PCAP_HEADER_BYTES];
	uint32_t value = native32(magic), swapped = __builtin_bswap32(value);
	int result;

	r->nanoseconds = value == PCAP_MAGIC_NS || swapped == PCAP_MAGIC_NS;
	r->swap = value != PCAP_MAGIC_US && value != PCAP_MAGIC_NS;
	result = get_rest(r, header + 4, sizeof(header) - 4);
	if (result < 0)
		return result;
	if (get16(r, header + 4) != 2)
		return bad(r, "pcap version %u is not known", get16(r, header + 4));
	/* The upper bits of the word say things about frame check sequences. */
	interface.link = (uint16_t)get32(r, header + 20);
	return add_interface(r, &interface);
}

static int pcap_next(struct pcap_read *r, struct pcap_packet *packet)
{
	uint8_t header[PCAP_RECORD_HEADER_BYTES];
	uint32_t captured_bytes, wire_bytes;
	int result = get(r, header, sizeof(header));

	if (result <= 0)
		return result;
	captured_bytes = get32(r, header + 8);
	wire_bytes = get32(r, header + 12);
	if (captured_bytes > PCAP_RECORD_MAX_BYTES)
		return bad(r, "packet %llu claims %u bytes",
			   (unsigned long long)r->packet_count + 1, captured_bytes);
	result = get_rest(r, r->record, captured_bytes);
	if (result < 0)
		return result;
	packet->bytes = r->record;
	packet->captured_bytes = captured_bytes;
	packet->wire_bytes = wire_bytes < captured_bytes ? captured_bytes : wire_bytes;
	packet->has_time = true;
	packet->time_ns = (int64_t)get32(r, header) * 1000000000 +
			  (int64_t)get32(r, header + 4) * (r->nanoseconds ? 1 : 1000);
	packet->link = r->interfaces[0].link;
	return 1;
}

/* ---- pcapng ---------------------------------------------------------------------------------- */

/* The section header's body, behind type and length: its first word says the byte order. */
static int ng_section(struct pcap_read *r, const uint8_t *raw_length)
{
	uint8_t head[4];
	uint32_t magic, length;
	int result = get_rest(r, head, sizeof(head));

	if (result < 0)
		return result;
	magic = native32(head);
	if (magic != NG_BYTE_ORDER_MAGIC && __builtin_bswap32(magic) != NG_BYTE_ORDER_MAGIC)
		return bad(r, "section without a byte order magic");
	r->swap = magic != NG_BYTE_ORDER_MAGIC;
	r->interface_count = 0;
	length = get32(r, raw_length);
	if (length < 28 || length % 4 != 0)
		return bad(r, "section header of %u bytes", length);
	return skip(r, length - NG_BLOCK_MIN_BYTES);
}

static void ng_interface_option(struct pcap_read *r, struct pcap_interface *interface,
				uint16_t code, const uint8_t *value, uint16_t len_bytes)
{
	uint64_t offset;

	if (code == NG_OPTION_TSRESOL && len_bytes >= 1)
		interface->resolution = value[0];
	if (code == NG_OPTION_TSOFFSET && len_bytes >= 8) {
		memcpy(&offset, value, sizeof(offset));
		interface->offset_s = (int64_t)(r->swap ? __builtin_bswap64(offset) : offset);
	}
}

static int ng_interface(struct pcap_read *r, uint32_t body_bytes)
{
	struct pcap_interface interface = {.resolution = NG_RESOLUTION_DEFAULT};
	uint32_t at = 8;

	if (body_bytes < 8)
		return bad(r, "interface block of %u bytes", body_bytes);
	interface.link = get16(r, r->record);
	interface.snap_bytes = get32(r, r->record + 4);
	while (body_bytes - at >= 4) {
		uint16_t code = get16(r, r->record + at);
		uint16_t len_bytes = get16(r, r->record + at + 2);

		at += 4;
		if (code == NG_OPTION_END)
			break;
		if (len_bytes > body_bytes - at)
			return bad(r, "interface option runs past its block");
		ng_interface_option(r, &interface, code, r->record + at, len_bytes);
		at += (len_bytes + 3u) & ~3u;
		if (at > body_bytes)
			break;
	}
	return add_interface(r, &interface);
}

/* A time stamp in units of the interface's resolution; what does not fit 64 bits is cut. */
static int64_t ng_time_ns(const struct pcap_interface *interface, uint64_t ticks)
{
	unsigned int n = interface->resolution & 127;
	__extension__ typedef unsigned __int128 wide;
	wide ns = (wide)ticks * 1000000000u;

	if (interface->resolution & 128)
		ns = n < 128 ? ns >> n : 0;
	else
		for (; n != 0 && ns != 0; n--)
			ns /= 10;
	return (int64_t)((uint64_t)ns + (uint64_t)interface->offset_s * 1000000000u);
}

/* A packet block's fields; the head is what stands before the packet's bytes. */
struct ng_packet_head {
	uint32_t interface;
	uint32_t captured_bytes;
	uint32_t wire_bytes;
	uint32_t head_bytes;
	uint64_t ticks;
};

static int ng_packet_head(const struct pcap_read *r, uint32_t type, uint32_t body_bytes,
			  struct ng_packet_head *head)
{
	const uint8_t *body = r->record;

	*head = (struct ng_packet_head){.head_bytes = type == NG_PACKET_SIMPLE ? 4 : 20};
	if (body_bytes < head->head_bytes)
		return -1;
	if (type == NG_PACKET_SIMPLE) {
		head->wire_bytes = get32(r, body);
		head->captured_bytes = head->wire_bytes;
		if (r->interface_count && r->interfaces[0].snap_bytes &&
		    head->captured_bytes > r->interfaces[0].snap_bytes)
			head->captured_bytes = r->interfaces[0].snap_bytes;
		return 0;
	}
	head->interface = type == NG_PACKET ? get32(r, body) : get16(r, body);
	head->ticks = (uint64_t)get32(r, body + 4) << 32 | get32(r, body + 8);
	head->captured_bytes = get32(r, body + 12);
	head->wire_bytes = get32(r, body + 16);
	return 0;
}

static int ng_packet(struct pcap_read *r, uint32_t type, uint32_t body_bytes,
		     struct pcap_packet *packet)
{
	unsigned long long number = r->packet_count + 1;
	struct ng_packet_head head;
	const struct pcap_interface *interface;

	if (ng_packet_head(r, type, body_bytes, &head) < 0)
		return bad(r, "packet %llu: block of %u bytes", number, body_bytes);
	if (head.captured_bytes > body_bytes - head.head_bytes)
		return bad(r, "packet %llu claims %u bytes, its block has %u", number,
			   head.captured_bytes, body_bytes - head.head_bytes);
	if (head.interface >= r->interface_count)
		return bad(r, "packet %llu is of interface %u, of %u", number, head.interface,
			   r->interface_count);
	interface = &r->interfaces[head.interface];
	packet->bytes = r->record + head.head_bytes;
	packet->captured_bytes = head.captured_bytes;
	packet->wire_bytes =
		head.wire_bytes < head.captured_bytes ? head.captured_bytes : head.wire_bytes;
	packet->has_time = type != NG_PACKET_SIMPLE;
	packet->time_ns = ng_time_ns(interface, head.ticks);
	packet->link = interface->link;
	return 1;
}

/* One block behind its type and length. Returns 1 with a packet, 2 without, or -errno. */
static int ng_block(struct pcap_read *r, uint32_t type, uint32_t length, struct pcap_packet *packet)
{
	uint32_t body_bytes = length - NG_BLOCK_MIN_BYTES;
	bool wanted = type == NG_INTERFACE || type == NG_PACKET || type == NG_PACKET_SIMPLE ||
		      type == NG_PACKET_OBSOLETE;
	uint8_t trailer[4];
	int result;

	if (length < NG_BLOCK_MIN_BYTES || length % 4 != 0)
		return bad(r, "block of %u bytes after packet %llu", length,
			   (unsigned long long)r->packet_count);
	if (wanted && body_bytes > PCAP_RECORD_MAX_BYTES)
		return bad(r, "block of %u bytes is too long", length);
	result = wanted ? get_rest(r, r->record, body_bytes) : skip(r, body_bytes);
	if (result < 0)
		return result;
	result = get_rest(r, trailer, sizeof(trailer));
	if (result < 0)
		return result;
	if (get32(r, trailer) != length)
		return bad(r, "block lengths %u and %u differ", length, get32(r, trailer));
	if (!wanted)
		return 2;
	if (type != NG_INTERFACE)
		return ng_packet(r, type, body_bytes, packet);
	result = ng_interface(r, body_bytes);
	return result < 0 ? result : 2;
}

static int ng_next(struct pcap_read *r, struct pcap_packet *packet)
{
	uint8_t head[8];
	int result;

	do {
		result = get(r, head, sizeof(head));
		if (result <= 0)
			return result;
		if (native32(head) == NG_SECTION) {
			result = ng_section(r, head + 4);
			if (result > 0)
				result = 2;
		} else {
			result = ng_block(r, get32(r, head), get32(r, head + 4), packet);
		}
	} while (result == 2);
	return result;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool is_pcap_magic(const uint8_t *magic)
{
	uint32_t value = native32(magic), swapped = __builtin_bswap32(value);

	return value == PCAP_MAGIC_US || value == PCAP_MAGIC_NS || swapped == PCAP_MAGIC_US ||
	       swapped == PCAP_MAGIC_NS;
}

static int read_header(struct pcap_read *r)
{
	uint8_t magic[8];
	int result = get(r, magic, 4);

	if (result == 0)
		return bad(r, "the file is empty");
	if (result < 0)
		return result == -EBADMSG ? bad(r, "neither pcap nor pcapng") : result;
	if (is_pcap_magic(magic))
		return pcap_header(r, magic);
	if (native32(magic) != NG_SECTION)
		return bad(r, "neither pcap nor pcapng");
	r->ng = true;
	result = get_rest(r, magic + 4, 4);
	return result < 0 ? result : ng_section(r, magic + 4);
}

int pcap_read_open(struct pcap_read *r, const char *path)
{
	int result;

	*r = (struct pcap_read){.file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb")};
	if (!r->file) {
		result = -errno;
		snprintf(r->error, sizeof(r->error), "cannot open: %s", strerror(-result));
		return result;
	}
	r->record = malloc(PCAP_RECORD_MAX_BYTES);
	r->interfaces = calloc(PCAP_INTERFACES_MAX, sizeof(*r->interfaces));
	if (!r->record || !r->interfaces) {
		result = -ENOMEM;
		snprintf(r->error, sizeof(r->error), "no memory");
	} else {
		result = read_header(r);
	}
	if (result < 0)
		pcap_read_close(r);
	return result < 0 ? result : 0;
}

int pcap_read_next(struct pcap_read *r, struct pcap_packet *packet)
{
	int result = r->ng ? ng_next(r, packet) : pcap_next(r, packet);

	if (result == 1)
		r->packet_count++;
	return result;
}

void pcap_read_close(struct pcap_read *r)
{
	if (r->file && r->file != stdin)
		fclose(r->file);
	free(r->record);
	free(r->interfaces);
	r->file = NULL;
	r->record = NULL;
	r->interfaces = NULL;
}
