/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - writes the folder, from the text that kern has for each file. */
#include "shim/tree.h"

#include "host/bell.h"
#include "host/host.h"
#include "kern/kern.h"
#include "shim/cpus.h"
#include "soft/config.h"
#include "soft/port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TREE_NAME "rig5-run-"

enum { YOUNG_S = 60 }; /* a tree may be without a lock for so long: it is being made */

enum { PLACES = 3 };

/* Where trees may be: the user's own folder for such things first. NULL: not there. */
static const char *place(unsigned int index)
{
	static const char *const places[PLACES] = {NULL, "/dev/shm", "/tmp"};
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (index != 0)
		return places[index];
	return own && own[0] == '/' ? own : NULL;
}

struct maker {
	const struct shim_tree *tree;
	const char *real_sysfs; /* NULL: real devices are hidden */
	unsigned int uverbs_first;
	/* Of the NIC that is being written. */
	struct soft_port *port;
	const char *ibdev;
	char uverbs[16];
	char slot[32]; /* its PCI address */
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct maker *maker, int error,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(maker->why, maker->why_size, format, args);
	va_end(args);
	return error;
}

static int fail(const struct maker *maker, const char *path)
{
	int error = errno;

	return refuse(maker, -error, "cannot write %s: %s", path, strerror(error));
}

/* ---- files -------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 3, 4))) static bool
path_make(const struct maker *maker, char path[static PATH_MAX], const char *format, ...)
{
	va_list args;
	int len = snprintf(path, PATH_MAX, "%s/", maker->tree->path), more;

	va_start(args, format);
	more = vsnprintf(path + len, (size_t)(PATH_MAX - len), format, args);
	va_end(args);
	return len + more < PATH_MAX;
}

/* The folders above path. */
static int folders_make(const struct maker *maker, char *path)
{
	for (char *at = path + strlen(maker->tree->path) + 1; (at = strchr(at, '/')); at++) {
		int result;

		*at = '\0';
		result = mkdir(path, 0755);
		if (result < 0 && errno != EEXIST)
			return fail(maker, path);
		*at = '/';
	}
	return 0;
}

static int file_write(const struct maker *maker, char *path, const char *text, size_t len)
{
	int error = folders_make(maker, path);
	int fd;

	if (error)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0 && errno == EEXIST)
		return 0; /* of a class: another NIC has written the same */
	if (fd < 0)
		return fail(maker, path);
	if (write(fd, text, len) != (ssize_t)len)
		error = fail(maker, path);
	close(fd);
	return error;
}

static int link_make(const struct maker *maker, char *path, const char *target)
{
	int error = folders_make(maker, path);

	if (!error && symlink(target, path) < 0 && errno != EEXIST)
		error = fail(maker, path);
	return error;
}

/* ---- a NIC of ours -----------------------------------------------------------------------------
 */

static const char *behind(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(path, prefix, len) == 0 ? path + len : NULL;
}

/* Where the file that is path below /sys really lies: below its PCI device, as the kernel has it;
 * the classes have links to there. */
static bool place_of(const struct maker *maker, const char *path, char place[static PATH_MAX])
{
	char prefix[PATH_MAX];
	const char *rest;
	const char *device = "sys/devices/pci" SHIM_PCI_DOMAIN ":00";

	snprintf(prefix, sizeof(prefix), "class/infiniband/%s/device/", maker->ibdev);
	if ((rest = behind(path, prefix)))
		return path_make(maker, place, "%s/%s/%s", device, maker->slot, rest);
	snprintf(prefix, sizeof(prefix), "class/infiniband/%s/", maker->ibdev);
	if ((rest = behind(path, prefix)))
		return path_make(maker, place, "%s/%s/infiniband/%s/%s", device, maker->slot,
				 maker->ibdev, rest);
	snprintf(prefix, sizeof(prefix), "class/infiniband_verbs/%s/", maker->uverbs);
	if ((rest = behind(path, prefix)))
		return path_make(maker, place, "%s/%s/infiniband_verbs/%s/%s", device, maker->slot,
				 maker->uverbs, rest);
	return path_make(maker, place, "sys/%s", path);
}

static int file_copy(const struct maker *maker, const char *path)
{
	char place[PATH_MAX], text[4096];
	int len = kern_sysfs_read(maker->port->kern, path, text, sizeof(text));

	/* A file whose read fails on Linux (the type of an empty GID) is left out; so is what the
	 * system itself has of the interface. */
	if (len < 0 || strstr(path, "/device/net/"))
		return 0;
	if (!place_of(maker, path, place))
		return refuse(maker, -ENAMETOOLONG, "the path of %s is too long", path);
	return file_write(maker, place, text, (size_t)len);
}

/* All files below the folder path, which has room for PATH_MAX bytes. */
static int folder_copy(const struct maker *maker, char *path)
{
	size_t len = strlen(path);
	char name[256], probe[1];
	int error = 0;

	for (uint32_t i = 0; !error; i++) {
		if (kern_sysfs_list(maker->port->kern, path, i, name, sizeof(name)))
			break;
		snprintf(path + len, PATH_MAX - len, "/%s", name);
		if (kern_sysfs_read(maker->port->kern, path, probe, sizeof(probe)) == -EISDIR)
			error = folder_copy(maker, path);
		else
			error = file_copy(maker, path);
		path[len] = '\0';
	}
	return error;
}

/* The links between the classes, the bus and the device. */
static int links_make(const struct maker *maker)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *root = "devices/pci" SHIM_PCI_DOMAIN ":00";
	const char *netdev = host_port_interface(maker->port->host);
	int error;

	path_make(maker, path, "sys/class/infiniband/%s", maker->ibdev);
	snprintf(target, sizeof(target), "../../%s/%s/infiniband/%s", root, maker->slot,
		 maker->ibdev);
	error = link_make(maker, path, target);
	if (error)
		return error;
	path_make(maker, path, "sys/%s/%s/infiniband/%s/device", root, maker->slot, maker->ibdev);
	snprintf(target, sizeof(target), "../../../%s", maker->slot);
	error = link_make(maker, path, target);
	if (error)
		return error;
	path_make(maker, path, "sys/class/infiniband_verbs/%s", maker->uverbs);
	snprintf(target, sizeof(target), "../../%s/%s/infiniband_verbs/%s", root, maker->slot,
		 maker->uverbs);
	error = link_make(maker, path, target);
	if (error)
		return error;
	path_make(maker, path, "sys/%s/%s/infiniband_verbs/%s/device", root, maker->slot,
		  maker->uverbs);
	snprintf(target, sizeof(target), "../../../%s", maker->slot);
	error = link_make(maker, path, target);
	if (error)
		return error;
	path_make(maker, path, "sys/bus/pci/devices/%s", maker->slot);
	snprintf(target, sizeof(target), "../../../%s/%s", root, maker->slot);
	error = link_make(maker, path, target);
	if (error || !netdev[0])
		return error;
	path_make(maker, path, "sys/%s/%s/net/%s", root, maker->slot, netdev);
	snprintf(target, sizeof(target), "/sys/class/net/%s", netdev);
	return link_make(maker, path, target);
}

static int nic_write(struct maker *maker)
{
	char path[PATH_MAX] = "class";
	int error = folder_copy(maker, path);

	if (!error)
		error = links_make(maker);
	if (error)
		return error;
	path_make(maker, path, "dev/infiniband/%s", maker->uverbs);
	error = file_write(maker, path, "", 0);
	/* As stat() has it: UCX leaves out a device that access() says it may not use. */
	if (!error && chmod(path, 0666) < 0)
		error = fail(maker, path);
	return error;
}

static int nic_make(struct maker *maker, const struct soft_nic *nic, unsigned int index)
{
	struct shim_cpus cpus;
	const struct kern_pci pci = {.slot = maker->slot,
				     .numa_node = nic->numa_node,
				     .local_cpus = cpus.mask,
				     .local_cpulist = cpus.list};
	const struct soft_port_names names = {.uverbs = maker->uverbs_first + index, .pci = &pci};
	int error = shim_cpus_near(nic->numa_node, &cpus);

	if (error)
		return refuse(maker, error, "%s: this machine has no NUMA node %d", nic->name,
			      nic->numa_node);
	snprintf(maker->slot, sizeof(maker->slot), SHIM_PCI_DOMAIN ":00:%02x.0", index + 1);
	error = soft_port_open(nic, &names, &maker->port, maker->why, maker->why_size);
	if (error)
		return error;
	maker->ibdev = nic->name;
	snprintf(maker->uverbs, sizeof(maker->uverbs), "uverbs%u", names.uverbs);
	error = nic_write(maker);
	soft_port_close(maker->port);
	return error;
}

/* ---- real devices ------------------------------------------------------------------------------
 */

/* Calls each(maker, folder, name) for every entry of folder but dots; a folder that is not there
 * has none. */
static int folder_each(struct maker *maker, const char *folder,
		       int (*each)(struct maker *maker, const char *folder, const char *name))
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int error = 0;

	while (dir && !error && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			error = each(maker, folder, entry->d_name);
	if (dir)
		closedir(dir);
	return error;
}

/* /sys/class/infiniband/mlx5_1 as a link to where the system's own link leads. */
static int real_class_entry(struct maker *maker, const char *folder, const char *name)
{
	char real[PATH_MAX], target[PATH_MAX], path[PATH_MAX];
	const char *class = strrchr(folder, '/') + 1;

	if (snprintf(real, sizeof(real), "%s/%s", folder, name) >= PATH_MAX ||
	    !realpath(real, target) || !path_make(maker, path, "sys/class/%s/%s", class, name))
		return 0;
	return link_make(maker, path, target);
}

static int real_class(struct maker *maker, const char *folder, const char *name)
{
	char path[PATH_MAX];

	if (strncmp(name, "infiniband", strlen("infiniband")) != 0 ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX)
		return 0;
	return folder_each(maker, path, real_class_entry);
}

static int real_node(struct maker *maker, const char *folder, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];

	if (snprintf(target, sizeof(target), "%s/%s", folder, name) >= PATH_MAX ||
	    !path_make(maker, path, "dev/infiniband/%s", name))
		return 0;
	return link_make(maker, path, target);
}

/* The first verbs file of ours comes behind the last real one. */
static int real_uverbs(struct maker *maker, const char *folder, const char *name)
{
	unsigned int number;

	(void)folder;
	if (sscanf(name, "uverbs%u", &number) == 1 && number < 255 && number >= maker->uverbs_first)
		maker->uverbs_first = number + 1;
	return 0;
}

static int real_count(struct maker *maker, const struct soft_config *config)
{
	char path[PATH_MAX];

	if (!maker->real_sysfs)
		return 0;
	for (unsigned int i = 0; i < config->count; i++) {
		const char *name = config->nics[i].name;

		if (snprintf(path, sizeof(path), "%s/class/infiniband/%s", maker->real_sysfs,
			     name) < PATH_MAX &&
		    access(path, F_OK) == 0)
			return refuse(maker, -EEXIST,
				      "this machine has a real %s: give the software NIC another "
				      "name with --nic, or leave real ones out with --hide-real",
				      name);
	}
	snprintf(path, sizeof(path), "%s/class/infiniband_verbs", maker->real_sysfs);
	return folder_each(maker, path, real_uverbs);
}

static int real_link(struct maker *maker)
{
	char path[PATH_MAX];
	int error;

	if (!maker->real_sysfs)
		return 0;
	snprintf(path, sizeof(path), "%s/class", maker->real_sysfs);
	error = folder_each(maker, path, real_class);
	return error ? error : folder_each(maker, "/dev/infiniband", real_node);
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

/* The file gets its name when it is locked: whoever finds an unlocked one may remove the tree. */
static int lock_make(struct shim_tree *tree)
{
	char path[PATH_MAX], fresh[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/lock", tree->path) >= PATH_MAX ||
	    snprintf(fresh, sizeof(fresh), "%s/lock.new", tree->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	tree->lock = open(fresh, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (tree->lock >= 0 && flock(tree->lock, LOCK_EX) == 0 && rename(fresh, path) == 0)
		return 0;
	return -errno;
}

static int folder_open(struct shim_tree *tree)
{
	char path[PATH_MAX];

	for (unsigned int i = 0; i < PLACES; i++) {
		if (!place(i) || snprintf(tree->path, sizeof(tree->path), "%s/" TREE_NAME "XXXXXX",
					  place(i)) >= PATH_MAX)
			continue;
		/* As sysfs: a program that becomes another user still finds its devices. */
		if (!mkdtemp(tree->path) || chmod(tree->path, 0755) < 0)
			continue;
		if (realpath(tree->path, path))
			memcpy(tree->path, path, sizeof(path));
		return lock_make(tree);
	}
	return -errno;
}

static int fill(struct maker *maker, const char *words)
{
	char path[PATH_MAX], text[SHIM_NICS_BYTES];
	struct soft_config config;
	int len, error = soft_config_parse(words, &config, maker->why, maker->why_size);

	if (error)
		return error;
	if (config.count > SHIM_NIC_MAX)
		return refuse(maker, -EINVAL, "more than %d NICs", SHIM_NIC_MAX);
	error = real_count(maker, &config);
	for (unsigned int i = 0; i < config.count && !error; i++)
		error = nic_make(maker, &config.nics[i], i);
	if (!error)
		error = real_link(maker);
	if (error)
		return error;
	len = snprintf(text, sizeof(text), "%u %s\n", maker->uverbs_first, words);
	if (len >= SHIM_NICS_BYTES)
		return refuse(maker, -EINVAL, "too many words about the NICs");
	path_make(maker, path, "nics");
	return file_write(maker, path, text, (size_t)len);
}

/* Captures are the program's: bringing a NIC up to look at it must not begin one. */
static char *capture_withhold(void)
{
	const char *file = getenv("RIG5_PCAP");
	char *copy = file ? strdup(file) : NULL;

	unsetenv("RIG5_PCAP");
	return copy;
}

static bool is_deaf(void)
{
	struct host_bell bell;
	bool deaf;

	host_bell_init(&bell);
	host_bell_open(&bell);
	deaf = bell.fd < 0;
	host_bell_free(&bell);
	return deaf;
}

int shim_tree_make(const char *words, bool hide_real, struct shim_tree *tree, char *why,
		   size_t why_size)
{
	const char *sysfs = getenv("SYSFS_PATH");
	struct maker maker = {.tree = tree, .why = why, .why_size = why_size};
	char *capture;
	int error = folder_open(tree);

	if (!hide_real)
		maker.real_sysfs = sysfs && sysfs[0] ? sysfs : "/sys";
	if (error)
		return refuse(&maker, error,
			      "cannot make a folder in XDG_RUNTIME_DIR, /dev/shm or "
			      "/tmp: %s",
			      strerror(-error));
	capture = capture_withhold();
	error = fill(&maker, words);
	if (capture)
		setenv("RIG5_PCAP", capture, 1);
	free(capture);
	tree->deaf = is_deaf();
	if (error)
		shim_tree_remove(tree->path);
	return error;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
	(void)stat;
	(void)type;
	(void)place;
	remove(path);
	return 0;
}

void shim_tree_remove(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Whether the run whose tree this is has ended. */
static bool is_stale(const char *path)
{
	char lock_path[PATH_MAX];
	struct stat stat;
	bool stale;
	int lock;

	if (lstat(path, &stat) < 0 || !S_ISDIR(stat.st_mode) || stat.st_uid != geteuid() ||
	    snprintf(lock_path, sizeof(lock_path), "%s/lock", path) >= PATH_MAX)
		return false;
	lock = open(lock_path, O_RDWR | O_CLOEXEC);
	if (lock < 0)
		return time(NULL) - stat.st_mtime > YOUNG_S;
	stale = flock(lock, LOCK_EX | LOCK_NB) == 0;
	close(lock);
	return stale;
}

static int sweep_entry(struct maker *maker, const char *folder, const char *name)
{
	char path[PATH_MAX];

	(void)maker;
	if (behind(name, TREE_NAME) &&
	    snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX && is_stale(path))
		shim_tree_remove(path);
	return 0;
}

void shim_tree_sweep(void)
{
	for (unsigned int i = 0; i < PLACES; i++)
		if (place(i))
			folder_each(NULL, place(i), sweep_entry);
}
