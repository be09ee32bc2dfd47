/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nldev.c - see nldev.h. A device's index is its verbs file's number: it has to stay the same as
 * long as the run lasts, and sysfs tells no other.
 */
#include "shim/nldev.h"

#include "kern/kern.h"
#include "shim/paths.h"
#include "shim/real.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_BYTES = 128 };

/* The text of a file below /sys, without its line's end; "": there is none. */
__attribute__((format(printf, 2, 3))) static const char *text_of(char text[static TEXT_BYTES],
								 const char *format, ...)
{
	char path[PATH_MAX], place[PATH_MAX];
	va_list args;
	ssize_t got = -1;
	int fd, len;

	va_start(args, format);
	len = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = len < PATH_MAX ? shim_real()->open(shim_path(path, place), O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		got = read(fd, text, TEXT_BYTES - 1);
		shim_real()->close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void copy(char to[static NLDEV_NAME_BYTES], const char *from)
{
	snprintf(to, NLDEV_NAME_BYTES, "%.*s", NLDEV_NAME_BYTES - 1, from);
}

/* "b859:9f03:00a1:b2c0", and of a GID the first half. */
static uint64_t number_of(const char *guid)
{
	uint64_t number = 0;

	for (unsigned int digits = 0; *guid && digits < 16; guid++) {
		const char *hex = "0123456789abcdef", *at = strchr(hex, *guid);

		if (!at)
			continue;
		number = number << 4 | (uint64_t)(at - hex);
		digits++;
	}
	return number;
}

static bool read_port(struct nldev_port *port, const char *ibdev, uint32_t number)
{
	char base[TEXT_BYTES], text[TEXT_BYTES];

	snprintf(base, sizeof(base), "/sys/class/infiniband/%.63s/ports/%u", ibdev, number);
	if (!text_of(text, "%s/state", base)[0])
		return false;
	port->state = (uint8_t)atoi(text);
	port->phys_state = (uint8_t)atoi(text_of(text, "%s/phys_state", base));
	port->infiniband = strcmp(text_of(text, "%s/link_layer", base), "InfiniBand") == 0;
	port->cap_flags = strtoul(text_of(text, "%s/cap_mask", base), NULL, 16);
	port->subnet_prefix = number_of(text_of(text, "%s/gids/0", base));
	port->lid = (uint32_t)strtoul(text_of(text, "%s/lid", base), NULL, 16);
	port->sm_lid = (uint32_t)strtoul(text_of(text, "%s/sm_lid", base), NULL, 16);
	port->lmc = (uint8_t)atoi(text_of(text, "%s/lid_mask_count", base));
	copy(port->netdev, text_of(text, "%s/gid_attrs/ndevs/0", base));
	if (port->netdev[0] && !strchr(port->netdev, '/'))
		port->netdev_index =
		    (uint32_t)atoi(text_of(text, "/sys/class/net/%s/ifindex", port->netdev));
	return true;
}

static void read_ibdev(struct nldev_device *device)
{
	char base[TEXT_BYTES], text[TEXT_BYTES];

	snprintf(base, sizeof(base), "/sys/class/infiniband/%s", device->name);
	device->node_type = (uint8_t)atoi(text_of(text, "%s/node_type", base));
	device->node_guid = number_of(text_of(text, "%s/node_guid", base));
	device->sys_image_guid = number_of(text_of(text, "%s/sys_image_guid", base));
	copy(device->fw_version, text_of(text, "%s/fw_ver", base));
	while (device->port_count < NLDEV_PORTS_MAX &&
	       read_port(&device->ports[device->port_count], device->name, device->port_count + 1))
		device->port_count++;
}

/* The device behind the verbs file `name`; false: it is none. */
static bool read_uverbs(struct nldev_device *device, const char *name)
{
	char text[TEXT_BYTES];
	unsigned int number, major, minor;

	if (sscanf(name, "uverbs%u", &number) != 1 ||
	    !text_of(text, "/sys/class/infiniband_verbs/%s/ibdev", name)[0] || strchr(text, '/'))
		return false;
	*device = (struct nldev_device){.index = number};
	copy(device->name, text);
	copy(device->uverbs, name);
	text_of(text, "/sys/class/infiniband_verbs/%s/dev", name);
	if (sscanf(text, "%u:%u", &major, &minor) == 2) {
		device->uverbs_major = major;
		device->uverbs_minor = minor;
	}
	text_of(text, "/sys/class/infiniband_verbs/%s/abi_version", name);
	device->uverbs_abi = strtoul(text, NULL, 10);
	read_ibdev(device);
	return true;
}

/* What sysfs does not tell, and only of ours is known. */
static void complete(struct nldev_device *device)
{
	char path[NLDEV_NAME_BYTES + 32];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", device->uverbs);
	if (shim_path_device(path) < 0)
		return;
	device->cap_flags = kern_device_cap_flags();
	device->driver = NLDEV_DRIVER_MLX5;
}

static int by_index(const void *a, const void *b)
{
	const struct nldev_device *first = a, *second = b;

	return first->index < second->index ? -1 : first->index > second->index;
}

/* In the order of their indices, as the kernel has them. */
void shim_nldev_read(struct nldev *nldev)
{
	char place[PATH_MAX];
	DIR *dir = shim_real()->opendir(shim_path("/sys/class/infiniband_verbs", place));
	struct dirent *entry;

	nldev->count = 0;
	while (dir && nldev->count < NLDEV_DEVICES_MAX && (entry = readdir(dir)))
		if (read_uverbs(&nldev->devices[nldev->count], entry->d_name))
			complete(&nldev->devices[nldev->count++]);
	if (dir)
		closedir(dir);
	qsort(nldev->devices, nldev->count, sizeof(nldev->devices[0]), by_index);
}
