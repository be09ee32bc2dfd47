/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * endpoint.c - an endpoint as one word: print and parse.
 *
 *   rig5:qp=0x4011,psn=0x12ab34,gid=::ffff:127.0.0.1,mtu=4096[,ece=0x1]
 *   rig5:qp=0x4011,psn=0x12ab34,lid=0x7,mtu=4096
 *
 * The parser is strict: each field once, in any order, none missing, none unknown, each in its
 * range. What a person mangled while pasting is refused, not guessed at.
 */
#include "lib/lib.h"

#include "base/ring.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "rig5:"
#define QPN_MASK 0xffffffu

int rig_endpoint_print(const struct rig_endpoint *endpoint, char *text, size_t size)
{
	char address[INET6_ADDRSTRLEN + 8], gid[INET6_ADDRSTRLEN], ece[24] = "";
	int len;

	if (!endpoint || !text)
		return lib_fail(EINVAL,
				"rig_endpoint_print: no endpoint, or no place for its text");
	inet_ntop(AF_INET6, endpoint->address.gid, gid, sizeof(gid));
	if (endpoint->address.link == RIG_LINK_ETHERNET)
		snprintf(address, sizeof(address), "gid=%s", gid);
	else
		snprintf(address, sizeof(address), "lid=0x%x", endpoint->address.lid);
	if (endpoint->ece)
		snprintf(ece, sizeof(ece), ",ece=0x%x", endpoint->ece);
	len = snprintf(text, size, PREFIX "qp=0x%x,psn=0x%x,%s,mtu=%u%s", endpoint->qp,
		       endpoint->psn, address, endpoint->mtu_bytes, ece);
	if (len < 0 || (size_t)len >= size)
		return lib_fail(EINVAL,
				"rig_endpoint_print: %d bytes of text; there is room for %zu",
				len + 1, size);
	return len;
}

/* number_parse - a whole word as a number from 0 to max: decimal, or 0x and hexadecimal digits. */
static bool number_parse(const char *word, uint32_t max, uint32_t *value)
{
	unsigned int base = word[0] == '0' && word[1] == 'x' ? 16 : 10;
	uint64_t sum = 0;

	word += base == 16 ? 2 : 0;
	if (!*word)
		return false;
	for (; *word; word++) {
		unsigned int digit = base;

		if (*word >= '0' && *word <= '9')
			digit = (unsigned int)(*word - '0');
		else if (*word >= 'a' && *word <= 'f')
			digit = (unsigned int)(*word - 'a') + 10;
		if (digit >= base)
			return false;
		sum = sum * base + digit;
		if (sum > max)
			return false;
	}
	*value = (uint32_t)sum;
	return true;
}

enum field { FIELD_QP, FIELD_PSN, FIELD_GID, FIELD_LID, FIELD_MTU, FIELD_ECE, FIELD_COUNT };

static const char *const field_names[FIELD_COUNT] = {
	[FIELD_QP] = "qp",   [FIELD_PSN] = "psn", [FIELD_GID] = "gid",
	[FIELD_LID] = "lid", [FIELD_MTU] = "mtu", [FIELD_ECE] = "ece",
};

static bool mtu_parse(const char *word, uint32_t *value)
{
	return number_parse(word, 4096, value) && *value >= 256 && (*value & (*value - 1)) == 0;
}

static bool value_parse(enum field field, const char *word, struct rig_endpoint *endpoint)
{
	uint32_t lid;

	switch (field) {
	case FIELD_QP:
		return number_parse(word, QPN_MASK, &endpoint->qp);
	case FIELD_PSN:
		return number_parse(word, PSN_MASK, &endpoint->psn);
	case FIELD_GID:
		endpoint->address.link = RIG_LINK_ETHERNET;
		return inet_pton(AF_INET6, word, endpoint->address.gid) == 1;
	case FIELD_LID:
		endpoint->address.link = RIG_LINK_INFINIBAND;
		if (!number_parse(word, UINT16_MAX, &lid))
			return false;
		endpoint->address.lid = (uint16_t)lid;
		return true;
	case FIELD_MTU:
		return mtu_parse(word, &endpoint->mtu_bytes);
	case FIELD_ECE:
		return number_parse(word, UINT32_MAX, &endpoint->ece);
	case FIELD_COUNT:
		break;
	}
	return false;
}

/* field_parse - one "name=value"; sets its bit in *seen. */
static int field_parse(char *text, unsigned int *seen, struct rig_endpoint *endpoint)
{
	char *value = strchr(text, '=');
	unsigned int field = 0;

	if (!value)
		return lib_fail(EINVAL, "rig_endpoint_parse: '%s' is no field: name=value", text);
	*value++ = '\0';
	while (field < FIELD_COUNT && strcmp(field_names[field], text) != 0)
		field++;
	if (field == FIELD_COUNT)
		return lib_fail(EINVAL, "rig_endpoint_parse: there is no field '%s'", text);
	if (*seen & 1u << field)
		return lib_fail(EINVAL, "rig_endpoint_parse: '%s' is there twice", text);
	*seen |= 1u << field;
	if (!value_parse((enum field)field, value, endpoint))
		return lib_fail(EINVAL, "rig_endpoint_parse: '%s' is no %s", value, text);
	return 0;
}

static int seen_check(unsigned int seen)
{
	unsigned int gid = seen >> FIELD_GID & 1, lid = seen >> FIELD_LID & 1;
	static const enum field needed[] = {FIELD_QP, FIELD_PSN, FIELD_MTU};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!(seen & 1u << needed[i]))
			return lib_fail(EINVAL, "rig_endpoint_parse: '%s' is missing",
					field_names[needed[i]]);
	if (gid + lid != 1)
		return lib_fail(EINVAL, "rig_endpoint_parse: one address is needed: gid or lid");
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int rig_endpoint_parse(const char *text, struct rig_endpoint *endpoint)
{
	char word[RIG_ENDPOINT_TEXT], *field, *next = word + strlen(PREFIX);
	struct rig_endpoint parsed = {0};
	unsigned int seen = 0;
	size_t len;
	int err;

	if (!text || !endpoint)
		return lib_fail(EINVAL,
				"rig_endpoint_parse: no text, or no place for the endpoint");
	while (is_space(*text))
		text++;
	len = strlen(text);
	while (len && is_space(text[len - 1]))
		len--;
	if (len >= sizeof(word))
		return lib_fail(EINVAL,
				"rig_endpoint_parse: %zu characters; no endpoint has more than %zu",
				len, sizeof(word) - 1);
	memcpy(word, text, len);
	word[len] = '\0';
	if (strncmp(word, PREFIX, strlen(PREFIX)) != 0)
		return lib_fail(EINVAL, "rig_endpoint_parse: '%s' does not start with " PREFIX,
				word);
	while ((field = strsep(&next, ","))) {
		err = field_parse(field, &seen, &parsed);
		if (err)
			return err;
	}
	err = seen_check(seen);
	if (!err)
		*endpoint = parsed;
	return err;
}
