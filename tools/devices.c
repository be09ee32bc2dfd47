/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/devices.c - `rig5 devices`: the NICs of this machine, as a table or as JSON. */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "include/rig5.h"
#include "tools/tools.h"
#include "tools/units.h"

#define NICS_MAX     64
#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 8)
#define INDENT       "          "

/* A NIC, or why it could not be opened. */
struct found {
	struct rig_nic_info info;
	bool open;
	char why[256];
};

static void print_help(void)
{
	printf("Usage: rig5 devices [OPTION]...\n"
	       "Lists the NICs of this machine, hardware first, then software ones.\n\n"
	       "  -j, --json   a JSON array, one object for each NIC\n"
	       "  -h, --help   this text\n\n"
	       "Exit status: 0 there is a NIC that can be used, 1 there is none, 2 wrong command\n"
	       "line.\n");
}

static void look(const char name[static RIG_NAME_MAX], struct found *found)
{
	struct rig_nic *nic;

	*found = (struct found){0};
	memcpy(found->info.name, name, RIG_NAME_MAX);
	if (rig_open(name, &nic)) {
		snprintf(found->why, sizeof(found->why), "%s", rig_error());
		return;
	}
	if (rig_nic_info(nic, &found->info))
		snprintf(found->why, sizeof(found->why), "%s", rig_error());
	else
		found->open = true;
	rig_close(nic);
}

static const char *link_text(enum rig_link link)
{
	return link == RIG_LINK_ETHERNET ? "Ethernet" : "InfiniBand";
}

/* "127.0.0.1", "fe80::1", "LID 7", or "none": the port has no address yet. */
static const char *address_text(const struct rig_address *address, char text[static ADDRESS_TEXT])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, none[16];

	if (address->link == RIG_LINK_INFINIBAND)
		snprintf(text, ADDRESS_TEXT, "LID %u", address->lid);
	else if (!memcmp(address->gid, none, sizeof(none)))
		snprintf(text, ADDRESS_TEXT, "none");
	else if (!memcmp(address->gid, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, address->gid + 12, text, ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, address->gid, text, ADDRESS_TEXT);
	return text;
}

static void print_limits(const struct rig_nic_info *info)
{
	char message[TOOL_UNIT_TEXT];

	printf("  limits: messages of %s, send ring %u, receive ring %u,\n" INDENT
	       "completion queue %u, inline %u bytes, pieces %u",
	       tool_format_bytes(info->message_max_bytes, message), info->entries_max,
	       info->receives_max, info->cqe_max, info->inline_max_bytes, info->pieces_max);
	if (info->rate_bps || info->firmware[0])
		printf(",\n" INDENT);
	if (info->rate_bps)
		printf("%.1f Gb/s", (double)info->rate_bps / 1e9);
	if (info->firmware[0])
		printf("%sfirmware %s", info->rate_bps ? ", " : "", info->firmware);
	putchar('\n');
}

static void print_table(const struct found *found, int count)
{
	char address[ADDRESS_TEXT];

	printf("%-12s %-14s %-11s %-6s %-26s %5s\n", "NIC", "bus", "link", "state", "address",
	       "MTU");
	for (int i = 0; i < count; i++) {
		const struct rig_nic_info *info = &found[i].info;

		if (!found[i].open) {
			printf("%-12s cannot be opened: %s\n", info->name, found[i].why);
			continue;
		}
		printf("%-12s %-14s %-11s %-6s %-26s %5u\n", info->name, info->bus,
		       link_text(info->link), info->port_active ? "active" : "down",
		       address_text(&info->address, address), info->mtu_bytes);
		print_limits(info);
	}
}

static void print_json_numbers(const struct rig_nic_info *info)
{
	printf(
	    ", \"mtu_bytes\": %u, \"message_max_bytes\": %llu, \"entries_max\": %u, "
	    "\"receives_max\": %u, \"cqe_max\": %u, \"inline_max_bytes\": %u, \"pieces_max\": %u, "
	    "\"rate_bps\": %llu",
	    info->mtu_bytes, (unsigned long long)info->message_max_bytes, info->entries_max,
	    info->receives_max, info->cqe_max, info->inline_max_bytes, info->pieces_max,
	    (unsigned long long)info->rate_bps);
}

static void print_json_string(const char *key, const char *value)
{
	printf(", \"%s\": ", key);
	tool_json_string(stdout, value);
}

static void print_json(const struct found *found, int count)
{
	char address[ADDRESS_TEXT];

	printf("[");
	for (int i = 0; i < count; i++) {
		const struct rig_nic_info *info = &found[i].info;

		printf("%s\n  {\"name\": ", i ? "," : "");
		tool_json_string(stdout, info->name);
		if (!found[i].open) {
			print_json_string("error", found[i].why);
			printf("}");
			continue;
		}
		print_json_string("bus", info->bus);
		printf(", \"software\": %s", info->software ? "true" : "false");
		print_json_string("link",
				  info->link == RIG_LINK_ETHERNET ? "ethernet" : "infiniband");
		print_json_string("state", info->port_active ? "active" : "down");
		print_json_string("address", address_text(&info->address, address));
		printf(", \"gid_index\": %u", info->gid_index);
		print_json_numbers(info);
		print_json_string("firmware", info->firmware);
		printf("}");
	}
	printf("%s]\n", count ? "\n" : "");
}

/* rig_names leaves out what it cannot make sense of; an attempt to open one has the reason. */
static void explain_absence(const struct found *found, int count)
{
	struct rig_nic *nic;

	for (int i = 0; i < count; i++)
		if (found[i].info.software || !found[i].open)
			return;
	if (rig_open("soft0", &nic))
		tool_error("no software NIC: %s", rig_error());
	else
		rig_close(nic);
}

static int list(bool json)
{
	static struct found found[NICS_MAX];
	char names[NICS_MAX][RIG_NAME_MAX];
	int count = rig_names(names, NICS_MAX), usable = 0;

	if (count < 0) {
		tool_error("%s", rig_error());
		return TOOL_FAILED;
	}
	if (count > NICS_MAX) {
		tool_error("%d NICs: only the first %d are shown", count, NICS_MAX);
		count = NICS_MAX;
	}
	for (int i = 0; i < count; i++) {
		look(names[i], &found[i]);
		usable += found[i].open;
	}
	if (json)
		print_json(found, count);
	else if (count)
		print_table(found, count);
	explain_absence(found, count);
	return usable ? TOOL_OK : TOOL_FAILED;
}

int tool_devices(int argc, char **argv)
{
	static const struct option options[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	bool json = false;
	int letter;

	while ((letter = getopt_long(argc, argv, "jh", options, NULL)) != -1) {
		if (letter == 'h') {
			print_help();
			return TOOL_OK;
		}
		if (letter != 'j')
			return tool_usage_error(NULL);
		json = true;
	}
	if (optind < argc)
		return tool_usage_error("'%s' is one argument too many", argv[optind]);
	return list(json);
}
