/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc_fold.h - the inside of abi/icrc.c: ways to compute the CRC, and which of them this processor
 * has. Any thread. Source: [crc-folding].
 */
#ifndef ABI_ICRC_FOLD_H
#define ABI_ICRC_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum icrc_way {
	ICRC_BY_TABLE,    /* eight bytes at a time; everywhere */
	ICRC_BY_CLMUL,    /* 128-bit carry-less multiply */
	ICRC_BY_CLMUL512, /* four of them in one instruction */
	ICRC_WAY_COUNT,
};

/* icrc_way_here - whether this processor and system can do it. */
bool icrc_way_here(enum icrc_way way);

/* icrc_update_by - icrc_update that way, which must be one of those that are here. */
uint32_t icrc_update_by(enum icrc_way way, uint32_t crc, const void *src, size_t len_bytes);

/* The register after len_bytes more bytes. icrc_fold_128: at least 16; icrc_fold_512: at least 64.
 * Both take a multiple of 16, so as many as there are: *done of them. */
uint32_t icrc_fold_128(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done);
uint32_t icrc_fold_512(uint32_t crc, const uint8_t *src, size_t len_bytes, size_t *done);

#endif
