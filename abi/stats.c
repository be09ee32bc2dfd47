/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - names of counters, and what a message of another process has to be. */
#include "abi/stats.h"

#define X(name) #name,
const char *const stats_names[STATS_COUNT] = {STATS_HW_COUNTERS(X) STATS_PORT_COUNTERS(X)};
#undef X

static bool is_same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

enum stats_counter stats_find(const char *name)
{
	unsigned int i = 0;

	while (i < STATS_COUNT && !is_same(stats_names[i], name))
		i++;
	return (enum stats_counter)i;
}

static const char *text_of(const char *const *texts, uint32_t count, uint32_t number)
{
	return number < count && texts[number] ? texts[number] : "?";
}

const char *stats_type_text(uint32_t type)
{
	static const char *const texts[STATS_TYPE_COUNT] = {
	    [STATS_TYPE_RC] = "RC",           [STATS_TYPE_UC] = "UC",
	    [STATS_TYPE_UD] = "UD",           [STATS_TYPE_XRC_INI] = "XRC_INI",
	    [STATS_TYPE_XRC_TGT] = "XRC_TGT", [STATS_TYPE_DCI] = "DCI",
	    [STATS_TYPE_DCT] = "DCT",         [STATS_TYPE_RAW] = "RAW",
	};

	return text_of(texts, STATS_TYPE_COUNT, type);
}

const char *stats_state_text(uint32_t state)
{
	static const char *const texts[STATS_STATE_COUNT] = {
	    [STATS_STATE_RESET] = "RESET", [STATS_STATE_INIT] = "INIT", [STATS_STATE_RTR] = "RTR",
	    [STATS_STATE_RTS] = "RTS",     [STATS_STATE_SQD] = "SQD",   [STATS_STATE_SQE] = "SQE",
	    [STATS_STATE_ERR] = "ERR",
	};

	return text_of(texts, STATS_STATE_COUNT, state);
}

const char *stats_algorithm_text(uint32_t algorithm)
{
	static const char *const texts[] = {"none", "DCQCN", "RTT"};

	return text_of(texts, sizeof(texts) / sizeof(texts[0]), algorithm);
}

bool stats_request_check(const struct stats_request *request, size_t bytes)
{
	return bytes == sizeof(*request) && request->magic == STATS_MAGIC &&
	       request->version == STATS_VERSION;
}

bool stats_reply_check(struct stats_reply *reply, size_t bytes, const struct stats_request *request)
{
	if (bytes < stats_reply_bytes(0) || reply->magic != STATS_MAGIC ||
	    reply->version != STATS_VERSION || reply->serial != request->serial ||
	    reply->bytes != bytes || reply->flow_count > STATS_FLOWS_MAX ||
	    stats_reply_bytes(reply->flow_count) != bytes)
		return false;
	/* Who asks again and again comes to an end. */
	if (reply->next != 0 && reply->next <= request->from)
		return false;
	reply->nic[STATS_NIC_BYTES - 1] = '\0';
	return true;
}
