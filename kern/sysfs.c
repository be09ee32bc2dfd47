/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sysfs.c - the files below /sys that describe the device, as text.
 *
 * One row a file. In a path '%' stands for the device's name, '!' for its uverbs name, '@' for its
 * network interface, '#' for an index and '$' for the name of a counter. Contents: [linux
 * infiniband core/sysfs.c], [linux mlx5 counters.c], [uverbs.md 1.1].
 */
#include "kern/state.h"

#include "base/text.h"

#include <string.h>

struct entry;
typedef int kern_sysfs_print(const struct kern *kern, const struct entry *entry, uint32_t index,
			     struct base_text *text);

struct entry {
	const char *path;
	kern_sysfs_print *print;
	const char *fixed;    /* of print_fixed */
	uint32_t index_first; /* of '#' and '$': enum stats_counter */
	uint32_t index_count;
	bool pci;             /* only where the device has a place on a bus */
};

static void print_gid(struct base_text *text, const uint8_t *gid)
{
	for (unsigned int i = 0; i < 16; i += 2) {
		if (i != 0)
			base_text_char(text, ':');
		base_text_bytes(text, gid + i, 2);
	}
}

static int print_fixed(const struct kern *kern, const struct entry *entry, uint32_t index,
		       struct base_text *text)
{
	(void)kern;
	(void)index;
	base_text_str(text, entry->fixed);
	return 0;
}

static int print_dev(const struct kern *kern, const struct entry *entry, uint32_t index,
		     struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_dec(text, KERN_UVERBS_MAJOR);
	base_text_char(text, ':');
	base_text_dec(text, kern->config.uverbs_minor);
	return 0;
}

static int print_ibdev(const struct kern *kern, const struct entry *entry, uint32_t index,
		       struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.ibdev_name);
	return 0;
}

static int print_firmware(const struct kern *kern, const struct entry *entry, uint32_t index,
			  struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.fw_version);
	return 0;
}

static int print_guid(const struct kern *kern, const struct entry *entry, uint32_t index,
		      struct base_text *text)
{
	(void)entry;
	(void)index;
	for (unsigned int i = 0; i < 4; i++) {
		if (i != 0)
			base_text_char(text, ':');
		base_text_hex_digits(text, kern->config.node_guid >> (48 - 16 * i) & 0xffff, 4);
	}
	return 0;
}

static int print_link_layer(const struct kern *kern, const struct entry *entry, uint32_t index,
			    struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.link_infiniband ? "InfiniBand" : "Ethernet");
	return 0;
}

static int print_lid(const struct kern *kern, const struct entry *entry, uint32_t index,
		     struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_hex(text, kern->config.link_infiniband ? kern->config.lid : 0);
	return 0;
}

static int print_cap_mask(const struct kern *kern, const struct entry *entry, uint32_t index,
			  struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, "0x");
	base_text_hex_digits(
	    text, kern->config.link_infiniband ? 0 : (uint32_t)UV_PORT_IP_BASED_GIDS_F, 8);
	return 0;
}

static int print_gid_entry(const struct kern *kern, const struct entry *entry, uint32_t index,
			   struct base_text *text)
{
	static const uint8_t empty[16];
	const uint8_t *gid = empty;

	(void)entry;
	kern_gid(kern, index, &gid); /* an empty entry reads as zeroes */
	print_gid(text, gid);
	return 0;
}

/* Reading the type or interface of an empty entry fails, as on Linux. */
static int print_gid_type(const struct kern *kern, const struct entry *entry, uint32_t index,
			  struct base_text *text)
{
	const uint8_t *gid;

	(void)entry;
	if (kern_gid(kern, index, &gid))
		return -EINVAL;
	base_text_str(text, kern->config.link_infiniband ? "IB/RoCE v1" : "RoCE v2");
	return 0;
}

static int print_gid_netdev(const struct kern *kern, const struct entry *entry, uint32_t index,
			    struct base_text *text)
{
	const uint8_t *gid;

	(void)entry;
	if (kern_gid(kern, index, &gid) || !kern->config.netdev)
		return -EINVAL;
	base_text_str(text, kern->config.netdev);
	return 0;
}

static int print_counter(const struct kern *kern, const struct entry *entry, uint32_t index,
			 struct base_text *text)
{
	uint64_t counters[STATS_COUNT];

	nic_stats(kern->nic, counters);
	base_text_dec(text, counters[entry->index_first + index]);
	return 0;
}

static int print_numa_node(const struct kern *kern, const struct entry *entry, uint32_t index,
			   struct base_text *text)
{
	int32_t node = kern->config.pci ? kern->config.pci->numa_node : -1;

	(void)entry;
	(void)index;
	if (node < 0)
		base_text_str(text, "-1");
	else
		base_text_dec(text, (uint32_t)node);
	return 0;
}

static int print_local_cpus(const struct kern *kern, const struct entry *entry, uint32_t index,
			    struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.pci->local_cpus);
	return 0;
}

static int print_local_cpulist(const struct kern *kern, const struct entry *entry, uint32_t index,
			       struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.pci->local_cpulist);
	return 0;
}

/* The class of a network controller, Ethernet or InfiniBand [linux pci_ids.h]. */
static int print_class(const struct kern *kern, const struct entry *entry, uint32_t index,
		       struct base_text *text)
{
	(void)entry;
	(void)index;
	base_text_str(text, kern->config.link_infiniband ? "0x020700" : "0x020000");
	return 0;
}

static int print_uevent(const struct kern *kern, const struct entry *entry, uint32_t index,
			struct base_text *text)
{
	(void)index;
	base_text_str(text, "DRIVER=rig5-soft\n");
	if (kern->config.pci) {
		base_text_str(text, "PCI_SLOT_NAME=");
		base_text_str(text, kern->config.pci->slot);
		base_text_char(text, '\n');
	}
	base_text_str(text, "MODALIAS=");
	base_text_str(text, entry->fixed);
	return 0;
}

#define MODALIAS "pci:v000015B3d0000101Bsv000015B3sd00000007bc02sc00i00"
#define FIXED(path_, text_)                                             \
	{                                                               \
		.path = (path_), .print = print_fixed, .fixed = (text_) \
	}
#define DYNAMIC(path_, print_)                     \
	{                                          \
		.path = (path_), .print = (print_) \
	}
#define PCI(path_, print_)                                      \
	{                                                       \
		.path = (path_), .print = (print_), .pci = true \
	}
#define COUNTERS(path_, first_, count_)                                           \
	{                                                                         \
		.path = (path_), .print = print_counter, .index_first = (first_), \
		.index_count = (count_)                                           \
	}
#define TABLE(path_, print_, count_)                                        \
	{                                                                   \
		.path = (path_), .print = (print_), .index_count = (count_) \
	}

static const struct entry entries[] = {
    FIXED("class/infiniband_verbs/abi_version", "6"),
    DYNAMIC("class/infiniband_verbs/!/ibdev", print_ibdev),
    DYNAMIC("class/infiniband_verbs/!/dev", print_dev),
    FIXED("class/infiniband_verbs/!/abi_version", "1"),
    FIXED("class/infiniband/%/node_type", "1: CA"),
    DYNAMIC("class/infiniband/%/node_guid", print_guid),
    DYNAMIC("class/infiniband/%/sys_image_guid", print_guid),
    DYNAMIC("class/infiniband/%/node_desc", print_ibdev),
    DYNAMIC("class/infiniband/%/fw_ver", print_firmware),
    FIXED("class/infiniband/%/hw_rev", "0"),
    FIXED("class/infiniband/%/hca_type", "MT4123"),
    FIXED("class/infiniband/%/board_id", "RIG5_SOFT"),
    FIXED("class/infiniband/%/device/modalias", MODALIAS),
    FIXED("class/infiniband/%/device/vendor", "0x15b3"),
    FIXED("class/infiniband/%/device/device", "0x101b"),
    FIXED("class/infiniband/%/device/subsystem_vendor", "0x15b3"),
    FIXED("class/infiniband/%/device/subsystem_device", "0x0007"),
    FIXED("class/infiniband/%/device/revision", "0x00"),
    DYNAMIC("class/infiniband/%/device/numa_node", print_numa_node),
    PCI("class/infiniband/%/device/local_cpus", print_local_cpus),
    PCI("class/infiniband/%/device/local_cpulist", print_local_cpulist),
    PCI("class/infiniband/%/device/class", print_class),
    {.path = "class/infiniband/%/device/uevent", .print = print_uevent, .fixed = MODALIAS},
    FIXED("class/infiniband/%/device/net/@/type", "772"), /* ARPHRD_LOOPBACK */
    FIXED("class/infiniband/%/ports/1/state", "4: ACTIVE"),
    FIXED("class/infiniband/%/ports/1/phys_state", "5: LinkUp"),
    FIXED("class/infiniband/%/ports/1/rate", "100 Gb/sec (4X EDR)"),
    DYNAMIC("class/infiniband/%/ports/1/link_layer", print_link_layer),
    DYNAMIC("class/infiniband/%/ports/1/lid", print_lid),
    FIXED("class/infiniband/%/ports/1/lid_mask_count", "0"),
    DYNAMIC("class/infiniband/%/ports/1/sm_lid", print_lid),
    FIXED("class/infiniband/%/ports/1/sm_sl", "0"),
    DYNAMIC("class/infiniband/%/ports/1/cap_mask", print_cap_mask),
    FIXED("class/infiniband/%/ports/1/pkeys/0", "0xffff"),
    TABLE("class/infiniband/%/ports/1/gids/#", print_gid_entry, KERN_GID_TABLE_COUNT),
    TABLE("class/infiniband/%/ports/1/gid_attrs/types/#", print_gid_type, KERN_GID_TABLE_COUNT),
    TABLE("class/infiniband/%/ports/1/gid_attrs/ndevs/#", print_gid_netdev, KERN_GID_TABLE_COUNT),
    COUNTERS("class/infiniband/%/ports/1/hw_counters/$", 0, STATS_HW_COUNT),
    COUNTERS("class/infiniband/%/ports/1/counters/$", STATS_HW_COUNT, STATS_COUNT - STATS_HW_COUNT),
};

enum { PATH_BYTES_MAX = 256, TEXT_BYTES_MAX = 2048 };

/* The path of entry (with index for '#') as it is under /sys; false: this device has no such file.
 */
static bool expand(const struct kern *kern, const struct entry *entry, uint32_t index,
		   char path[static PATH_BYTES_MAX])
{
	struct base_text text;

	if (entry->pci && !kern->config.pci)
		return false;
	base_text_init(&text, path, PATH_BYTES_MAX);
	for (const char *at = entry->path; *at; at++) {
		if (*at == '@' && !kern->config.netdev)
			return false;
		if (*at == '%')
			base_text_str(&text, kern->config.ibdev_name);
		else if (*at == '!')
			base_text_str(&text, kern->config.uverbs_name);
		else if (*at == '@')
			base_text_str(&text, kern->config.netdev);
		else if (*at == '#')
			base_text_dec(&text, entry->index_first + index);
		else if (*at == '$')
			base_text_str(&text, stats_names[entry->index_first + index]);
		else
			base_text_char(&text, *at);
	}
	return !text.truncated;
}

static uint32_t count_of(const struct entry *entry)
{
	return entry->index_count ? entry->index_count : 1;
}

/* Whether text is nothing but slashes. */
static bool only_slashes(const char *text)
{
	while (*text == '/')
		text++;
	return *text == '\0';
}

/* What of path is behind the directory dir: "b/c" of "a/b/c" behind "a", NULL if it is not in
 * there. */
static const char *below(const char *path, const char *dir)
{
	while (*dir == '/')
		dir++;
	if (*dir == '\0')
		return NULL;
	for (; !only_slashes(dir); dir++, path++)
		if (*path != *dir) /* also where path ends */
			return NULL;
	if (*path == '/')
		return path + 1;
	return *path == '\0' ? path : NULL;
}

static int print_entry(const struct kern *kern, const struct entry *entry, uint32_t index,
		       char *buf, size_t size)
{
	char full[TEXT_BYTES_MAX];
	struct base_text text;
	size_t len;
	int error;

	base_text_init(&text, full, sizeof(full));
	error = entry->print(kern, entry, index, &text);
	if (error)
		return error;
	base_text_char(&text, '\n');
	len = text.len_bytes < size ? text.len_bytes : size;
	memcpy(buf, full, len);
	return (int)len;
}

int kern_sysfs_read(const struct kern *kern, const char *path, char *buf, size_t size)
{
	char full[PATH_BYTES_MAX];
	bool directory = false;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		for (uint32_t index = 0; index < count_of(&entries[i]); index++) {
			const char *rest;

			if (!expand(kern, &entries[i], index, full))
				continue;
			rest = below(full, path);
			if (rest && *rest == '\0')
				return print_entry(kern, &entries[i], index, buf, size);
			directory |= rest != NULL;
		}
	}
	return directory ? -EISDIR : -ENOENT;
}

/* The first component of path to name; whether it is another one than name was. */
static bool next_component(const char *path, char name[static PATH_BYTES_MAX])
{
	char old[PATH_BYTES_MAX];
	size_t len = 0;

	memcpy(old, name, sizeof(old));
	while (path[len] && path[len] != '/')
		len++;
	memcpy(name, path, len);
	name[len] = '\0';
	for (size_t i = 0; i <= len; i++)
		if (old[i] != name[i])
			return true;
	return false;
}

/* Rows of one directory stand together in the table, so that an entry of it is new if it differs
 * from the one before. */
int kern_sysfs_list(const struct kern *kern, const char *path, uint32_t index, char *name,
		    size_t size)
{
	char full[PATH_BYTES_MAX], entry_name[PATH_BYTES_MAX] = "";
	struct base_text text;
	uint32_t seen = 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		for (uint32_t at = 0; at < count_of(&entries[i]); at++) {
			const char *rest;

			if (!expand(kern, &entries[i], at, full))
				continue;
			rest = below(full, path);
			if (!rest || *rest == '\0' || !next_component(rest, entry_name))
				continue;
			if (seen++ != index)
				continue;
			base_text_init(&text, name, size);
			base_text_str(&text, entry_name);
			return text.truncated ? -ENAMETOOLONG : 0;
		}
	}
	return -ENOENT;
}
