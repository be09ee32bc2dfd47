/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - parses RIG5_SOFT. Anything not understood is an error: a NIC that quietly ignores what
 * it was told would be believed.
 */
#include "soft/config.h"

#include "nic/cc/cc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KEYS "addr, ll, lid, numa, ece, ahmap and cc"

enum { NODE_MAX = 1023 };
enum { LID_MAX = 0xbfff }; /* above are multicast's, and one that every port answers to */

struct parser {
	struct soft_config *config;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct parser *parser,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (parser->why_size != 0)
		vsnprintf(parser->why, parser->why_size, format, args);
	va_end(args);
	return -EINVAL;
}

/* A piece of the text; not terminated. */
struct span {
	const char *at;
	size_t len;
};

/* Cuts the piece before the first `separator` off the front of rest. */
static struct span cut(struct span *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->len);
	struct span piece = {rest->at, end ? (size_t)(end - rest->at) : rest->len};
	size_t used = piece.len + (end != NULL);

	rest->at += used;
	rest->len -= used;
	return piece;
}

static bool is(struct span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.at, text, span.len) == 0;
}

static bool name_is_good(struct span name)
{
	if (name.len == 0 || name.len >= SOFT_NAME_BYTES)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.at[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '_' || c == '-')))
			return false;
	}
	return true;
}

/* As Linux has them, but only those that cannot be taken for an address or end a key. */
static bool interface_is_good(const char *name)
{
	size_t len = strlen(name);

	if (len >= IFNAMSIZ || !isalpha((unsigned char)name[0]))
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@") ==
	       len;
}

static int set_address(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	struct in_addr v4;
	struct in6_addr v6;

	nic->address[0] = '\0';
	if (value.len < sizeof(nic->address)) {
		memcpy(nic->address, value.at, value.len);
		nic->address[value.len] = '\0';
	}
	/* Equal addresses shall be equal texts. */
	if (inet_pton(AF_INET, nic->address, &v4) == 1)
		inet_ntop(AF_INET, &v4, nic->address, sizeof(nic->address));
	else if (inet_pton(AF_INET6, nic->address, &v6) == 1)
		inet_ntop(AF_INET6, &v6, nic->address, sizeof(nic->address));
	else if (!interface_is_good(nic->address))
		return refuse(parser,
			      "RIG5_SOFT: addr=%.*s is neither an IP address nor an interface; "
			      "write, say, addr=127.0.0.5 or addr=eth0",
			      (int)value.len, value.at);
	return 0;
}

/* Decimal, or 0x and hexadecimal digits, as `rig5 devices` and endpoints have it. */
static int set_lid(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	bool hex = value.len > 2 && value.at[0] == '0' && value.at[1] == 'x';
	uint32_t lid = 0;
	bool good = value.len != 0;

	for (size_t i = hex ? 2 : 0; i < value.len && good; i++) {
		char c = value.at[i];

		if (c >= '0' && c <= '9')
			lid = lid * (hex ? 16 : 10) + (uint32_t)(c - '0');
		else if (hex && c >= 'a' && c <= 'f')
			lid = lid * 16 + (uint32_t)(c - 'a') + 10;
		else
			good = false;
		good = good && lid <= LID_MAX;
	}
	if (!good || lid == 0)
		return refuse(parser, "RIG5_SOFT: lid=%.*s is not a LID; write 1 to %d",
			      (int)value.len, value.at, LID_MAX);
	nic->lid = (uint16_t)lid;
	return 0;
}

static int set_numa_node(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	int node = 0;
	bool good = value.len != 0 && value.len <= 4;

	for (size_t i = 0; i < value.len && good; i++) {
		good = value.at[i] >= '0' && value.at[i] <= '9';
		node = node * 10 + (value.at[i] - '0');
	}
	if (!good || node > NODE_MAX)
		return refuse(parser, "RIG5_SOFT: numa=%.*s is not a NUMA node; write 0 to %d",
			      (int)value.len, value.at, NODE_MAX);
	nic->numa_node = node;
	return 0;
}

static int set_link(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	if (!is(value, "eth") && !is(value, "ib"))
		return refuse(parser, "RIG5_SOFT: ll=%.*s is unknown; write ll=eth or ll=ib",
			      (int)value.len, value.at);
	nic->infiniband = is(value, "ib");
	return 0;
}

static int set_ece(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	if (!is(value, "own") && !is(value, "plain"))
		return refuse(parser,
			      "RIG5_SOFT: ece=%.*s is unknown; write ece=own or ece=plain",
			      (int)value.len, value.at);
	nic->ece_plain = is(value, "plain");
	return 0;
}

static int set_ah_map(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	if (!is(value, "on") && !is(value, "off"))
		return refuse(parser,
			      "RIG5_SOFT: ahmap=%.*s is unknown; write ahmap=on or ahmap=off",
			      (int)value.len, value.at);
	nic->ah_map_off = is(value, "off");
	return 0;
}

static int set_cc(const struct parser *parser, struct soft_nic *nic, struct span value)
{
	static const char *const names[NIC_CC_COUNT] = {
	    [NIC_CC_NONE] = "none", [NIC_CC_DCQCN] = "dcqcn", [NIC_CC_RTT] = "rtt"};

	for (uint8_t i = 0; i < NIC_CC_COUNT; i++) {
		if (!is(value, names[i]))
			continue;
		nic->cc_algorithm = i;
		return 0;
	}
	return refuse(parser,
		      "RIG5_SOFT: cc=%.*s is unknown; write cc=none, cc=dcqcn or cc=rtt",
		      (int)value.len, value.at);
}

static int set_key(const struct parser *parser, struct soft_nic *nic, struct span pair)
{
	struct span value = pair;
	struct span key = cut(&value, '=');

	if (key.len == pair.len)
		return refuse(parser,
			      "RIG5_SOFT: \"%.*s\" is not key=value; the keys are " KEYS,
			      (int)pair.len, pair.at);
	if (is(key, "addr"))
		return set_address(parser, nic, value);
	if (is(key, "ll"))
		return set_link(parser, nic, value);
	if (is(key, "lid"))
		return set_lid(parser, nic, value);
	if (is(key, "numa"))
		return set_numa_node(parser, nic, value);
	if (is(key, "ece"))
		return set_ece(parser, nic, value);
	if (is(key, "ahmap"))
		return set_ah_map(parser, nic, value);
	if (is(key, "cc"))
		return set_cc(parser, nic, value);
	return refuse(parser, "RIG5_SOFT: key \"%.*s\" is unknown; the keys are " KEYS,
		      (int)key.len, key.at);
}

/* An address of the other link layer would be ignored. */
static int check_link(const struct parser *parser, const struct soft_nic *nic)
{
	if (nic->infiniband && nic->address[0])
		return refuse(parser,
			      "RIG5_SOFT: %s has ll=ib and addr=; an InfiniBand port has no IP "
			      "address, write lid=",
			      nic->name);
	if (!nic->infiniband && nic->lid != 0)
		return refuse(parser,
			      "RIG5_SOFT: %s has lid= without ll=ib; an Ethernet port has no LID",
			      nic->name);
	return 0;
}

/* A second NIC of the same name, or one that would be the same port. */
static int check_distinct(const struct parser *parser)
{
	const struct soft_config *config = parser->config;
	const struct soft_nic *last = &config->nics[config->count - 1];

	for (const struct soft_nic *nic = config->nics; nic != last; nic++) {
		if (strcmp(nic->name, last->name) == 0)
			return refuse(parser, "RIG5_SOFT: there are two NICs called %s",
				      last->name);
		if (nic->infiniband != last->infiniband || nic->lid != last->lid ||
		    strcmp(nic->address, last->address) != 0)
			continue;
		if (last->lid != 0)
			return refuse(parser, "RIG5_SOFT: %s and %s have the same LID, %u",
				      nic->name, last->name, last->lid);
		if (last->infiniband)
			return refuse(parser,
				      "RIG5_SOFT: both %s and %s have no lid=; only one NIC may "
				      "choose its LID itself",
				      nic->name, last->name);
		if (last->address[0])
			return refuse(parser, "RIG5_SOFT: %s and %s have the same address, %s",
				      nic->name, last->name, last->address);
		return refuse(parser,
			      "RIG5_SOFT: both %s and %s have no addr=; only one NIC may "
			      "choose its address itself",
			      nic->name, last->name);
	}
	return 0;
}

static int parse_nic(const struct parser *parser, struct span text)
{
	struct soft_config *config = parser->config;
	struct span name = cut(&text, ',');
	struct soft_nic *nic;
	int error = 0;

	if (config->count == SOFT_NIC_MAX)
		return refuse(parser, "RIG5_SOFT: more than %d NICs", SOFT_NIC_MAX);
	if (!name_is_good(name))
		return refuse(parser,
			      "RIG5_SOFT: \"%.*s\" is not a name; take a letter and then up "
			      "to %d letters, digits, '_' and '-'",
			      (int)name.len, name.at, SOFT_NAME_BYTES - 2);
	nic = &config->nics[config->count++];
	memcpy(nic->name, name.at, name.len);
	nic->numa_node = -1;
	nic->cc_algorithm = NIC_CC_DCQCN;
	while (text.len != 0 && !error)
		error = set_key(parser, nic, cut(&text, ','));
	if (!error)
		error = check_link(parser, nic);
	return error ? error : check_distinct(parser);
}

int soft_config_parse(const char *text, struct soft_config *config, char *why, size_t why_size)
{
	struct soft_config parsed = {.count = 0};
	const struct parser parser = {&parsed, why, why_size};
	struct span rest = {text, text ? strlen(text) : 0};
	int error = 0;

	if (!text) {
		rest = (struct span){"soft0", strlen("soft0")};
	} else if (rest.len == 0) {
		/* Set to nothing: no software NIC at all. */
		*config = parsed;
		return 0;
	}
	while (rest.len != 0 && !error)
		error = parse_nic(&parser, cut(&rest, ';'));
	if (!error)
		*config = parsed;
	return error;
}

const struct soft_nic *soft_config_find(const struct soft_config *config, const char *name)
{
	for (unsigned int i = 0; i < config->count; i++)
		if (!name || strcmp(config->nics[i].name, name) == 0)
			return &config->nics[i];
	return NULL;
}
