/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text_fuzz.c - the parsers of what people and environments say: RIG5_SOFT, RIG5_FAULT, endpoints,
 * and the numbers and names of the `rig5` command.
 *
 * Beyond no crash: a refusal has a sentence that ends in its buffer; an endpoint that parses prints
 * as a text that parses to the same; a configuration that parses names each NIC once and can be
 * written down and parsed again; a fault configuration judges packets; a text made printable is.
 */
#include "fault/fault.h"
#include "include/rig5.h"
#include "soft/config.h"
#include "tests/fuzz/fuzz.h"
#include "tools/units.c"

static void check_soft(const char *text)
{
	static char again[SOFT_NIC_MAX * (SOFT_NAME_BYTES + SOFT_ADDRESS_BYTES + 32)];
	struct soft_config config, second;
	char why[64];
	size_t used = 0;

	memset(why, 'x', sizeof(why));
	if (soft_config_parse(text, &config, why, sizeof(why)) != 0) {
		FUZZ_CHECK(memchr(why, 0, sizeof(why)) && why[0]);
		return;
	}
	FUZZ_CHECK(config.count <= SOFT_NIC_MAX);
	if (config.count == 0)
		return; /* an empty text: no software NIC */
	for (unsigned int i = 0; i < config.count; i++) {
		const struct soft_nic *nic = &config.nics[i];

		FUZZ_CHECK(soft_config_find(&config, nic->name) == nic);
		used += (size_t)snprintf(again + used, sizeof(again) - used, "%s%s%s%s%s",
					 i ? ";" : "", nic->name, nic->infiniband ? ",ll=ib" : "",
					 nic->address[0] ? ",addr=" : "", nic->address);
		if (nic->lid)
			used += (size_t)snprintf(again + used, sizeof(again) - used, ",lid=%u",
						 nic->lid);
	}
	FUZZ_CHECK(soft_config_parse(again, &second, why, sizeof(why)) == 0);
	FUZZ_CHECK(second.count == config.count);
	for (unsigned int i = 0; i < config.count; i++)
		FUZZ_CHECK(strcmp(config.nics[i].name, second.nics[i].name) == 0 &&
			   strcmp(config.nics[i].address, second.nics[i].address) == 0 &&
			   config.nics[i].infiniband == second.nics[i].infiniband &&
			   config.nics[i].lid == second.nics[i].lid);
}

static void check_fault(const char *text)
{
	struct fault_config config;
	struct fault fault;
	size_t wrong = SIZE_MAX;

	if (!fault_parse(&config, text, &wrong)) {
		FUZZ_CHECK(wrong <= strlen(text));
		return;
	}
	FUZZ_CHECK(config.rule_count <= FAULT_RULE_MAX);
	fault_init(&fault, &config);
	for (uint64_t i = 0; i < 64; i++) {
		struct fault_verdict verdict = fault_judge(&fault, 1 + i * 60, i * 1000000);

		FUZZ_CHECK(verdict.behind <= FAULT_BEHIND_MAX);
		FUZZ_CHECK(verdict.delay_ns <= config.delay_ns + config.jitter_ns);
		FUZZ_CHECK(!verdict.corrupt || verdict.corrupt_bit < 8 * (1 + i * 60));
	}
}

static void check_endpoint(const char *text)
{
	struct rig_endpoint endpoint, again;
	char out[RIG_ENDPOINT_TEXT];
	int result = rig_endpoint_parse(text, &endpoint);

	FUZZ_CHECK(result == 0 || result == -EINVAL);
	if (result < 0) {
		FUZZ_CHECK(rig_error()[0]);
		return;
	}
	FUZZ_CHECK(endpoint.qp <= 0xffffff && endpoint.psn <= 0xffffff);
	result = rig_endpoint_print(&endpoint, out, sizeof(out));
	FUZZ_CHECK(result > 0 && (size_t)result == strlen(out));
	FUZZ_CHECK(rig_endpoint_parse(out, &again) == 0);
	FUZZ_CHECK(endpoint.qp == again.qp && endpoint.psn == again.psn &&
		   endpoint.mtu_bytes == again.mtu_bytes && endpoint.ece == again.ece &&
		   endpoint.address.link == again.address.link &&
		   endpoint.address.lid == again.address.lid &&
		   memcmp(endpoint.address.gid, again.address.gid, 16) == 0);
}

static void check_units(const char *text)
{
	char small[8], large[256], again[256], unit[TOOL_UNIT_TEXT];
	uint64_t value = 0;

	if (tool_parse_size(text, &value) == 0)
		FUZZ_CHECK(strlen(tool_format_bytes(value, unit)) < TOOL_UNIT_TEXT);
	if (tool_parse_count(text, 3, 1000, &value) == 0)
		FUZZ_CHECK(value >= 3 && value <= 1000);
	FUZZ_CHECK(strlen(tool_printable(text, small, sizeof(small))) < sizeof(small));
	tool_printable(text, large, sizeof(large));
	FUZZ_CHECK(strcmp(tool_printable(large, again, sizeof(again)), large) == 0);
	for (const char *c = large; *c; c++)
		FUZZ_CHECK((unsigned char)*c >= 0x20 && *c != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;
	uint8_t kind;

	if (size == 0 || size > 2048)
		return 0;
	kind = *data++ % 4;
	size--;
	text = malloc(size + 1);
	FUZZ_CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (kind == 0)
		check_soft(text);
	else if (kind == 1)
		check_fault(text);
	else if (kind == 2)
		check_endpoint(text);
	else
		check_units(text);
	free(text);
	return 0;
}
