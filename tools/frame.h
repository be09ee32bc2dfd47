/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/frame.h - the framing of what two `rig5` commands say to each other over TCP, and bounded
 * readers and writers of bytes. Pure. All numbers are in network order.
 *
 *   0      4      6      8
 *   | len  | type | zero | len bytes of payload ...
 */
#ifndef TOOLS_FRAME_H
#define TOOLS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 8

/* The payload of one frame, inside the caller's buffer. */
struct frame {
	uint16_t type;
	const uint8_t *payload;
	size_t len_bytes;
};

/*
 * frame_decode - the frame that starts at buf, if all of it is there.
 * Returns the bytes it takes (header and payload), 0: more are needed; -EPROTO: this is no frame;
 * -EMSGSIZE: its payload is over payload_max. *frame is written only with a positive result.
 */
long frame_decode(const uint8_t *buf, size_t len_bytes, size_t payload_max, struct frame *frame);
void frame_encode_header(uint16_t type, uint32_t payload_bytes,
			 uint8_t header[static FRAME_HEADER_BYTES]);

/* Reads from the front; once it ran short, every read gives zero and `bad` stays set. */
struct frame_reader {
	const uint8_t *next;
	size_t left_bytes;
	bool bad;
};

uint16_t frame_read16(struct frame_reader *reader);
uint32_t frame_read32(struct frame_reader *reader);
uint64_t frame_read64(struct frame_reader *reader);
/* The next len bytes, inside the reader's buffer; NULL if it ran short. */
const uint8_t *frame_read_bytes(struct frame_reader *reader, size_t len_bytes);
/* true if everything was read and nothing was short. */
bool frame_read_done(const struct frame_reader *reader);

/* Appends; once it ran over, nothing is written any more and `bad` stays set. */
struct frame_writer {
	uint8_t *start;
	size_t used_bytes;
	size_t size_bytes;
	bool bad;
};

void frame_write16(struct frame_writer *writer, uint16_t value);
void frame_write32(struct frame_writer *writer, uint32_t value);
void frame_write64(struct frame_writer *writer, uint64_t value);
void frame_write_bytes(struct frame_writer *writer, const void *bytes, size_t len_bytes);

#endif
