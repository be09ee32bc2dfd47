/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crc.c - the checksums that signatures of blocks are made of: four bits at a time, by a table of
 * sixteen that each run makes for itself.
 */
#include "nic/sig.h"

#include <string.h>

/* Polynomials: CRC-32 of [FC-PH], CRC-32C of [RFC 3720], CRC-64 of XP10, whose parameters are
 * NVMe's; bits reversed. */
static uint64_t polynomial(enum nic_sig_type type)
{
	switch (type) {
	case NIC_SIG_CRC32:
		return 0xedb88320;
	case NIC_SIG_CRC32C:
		return 0x82f63b78;
	case NIC_SIG_CRC64:
		return 0x9a6c9329ac4bc9b5;
	case NIC_SIG_NONE:
	case NIC_SIG_T10_CRC:
	case NIC_SIG_T10_CSUM:
		break;
	}
	UNREACHABLE();
}

static uint64_t crc_reversed(uint64_t poly, uint64_t crc, const uint8_t *bytes, uint32_t n)
{
	uint64_t table[16];

	for (uint32_t i = 0; i < 16; i++) {
		table[i] = i;
		for (int bit = 0; bit < 4; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? poly : 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

/* The guard of T10-DIF [SBC-3]: polynomial 0x8bb7, highest bit first. */
static uint16_t crc_t10(uint16_t crc, const uint8_t *bytes, uint32_t n)
{
	uint16_t table[16];

	for (uint32_t i = 0; i < 16; i++) {
		table[i] = (uint16_t)(i << 12);
		for (int bit = 0; bit < 4; bit++)
			table[i] = (uint16_t)(table[i] << 1 ^ (table[i] & 0x8000 ? 0x8bb7 : 0));
	}
	for (uint32_t i = 0; i < n; i++) {
		crc ^= (uint16_t)(bytes[i] << 8);
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12]);
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12]);
	}
	return crc;
}

/* The checksum of IP. A run is of whole 16-bit words: blocks are. */
static uint16_t checksum(uint16_t sum, const uint8_t *bytes, uint32_t n)
{
	uint32_t wide = sum;

	for (uint32_t i = 0; i + 1 < n; i += 2)
		wide += be16_load(bytes + i);
	while (wide >> 16)
		wide = (wide & 0xffff) + (wide >> 16);
	return (uint16_t)wide;
}

uint64_t nic_crc_run(enum nic_sig_type type, uint64_t state, const uint8_t *bytes, uint32_t n)
{
	if (type == NIC_SIG_T10_CRC)
		return crc_t10((uint16_t)state, bytes, n);
	if (type == NIC_SIG_T10_CSUM)
		return checksum((uint16_t)state, bytes, n);
	return crc_reversed(polynomial(type), state, bytes, n);
}

uint64_t nic_crc_end(enum nic_sig_type type, uint64_t state)
{
	switch (type) {
	case NIC_SIG_CRC32:
	case NIC_SIG_CRC32C:
		return ~state & UINT32_MAX;
	case NIC_SIG_CRC64:
		return ~state;
	case NIC_SIG_T10_CSUM:
		return ~state & UINT16_MAX;
	case NIC_SIG_T10_CRC:
		return state;
	case NIC_SIG_NONE:
		break;
	}
	UNREACHABLE();
}
