/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preload_path.c - libc's functions that take a path.
 *
 * "Ours? Then its place in the tree. Else the real one." What is in the tree is read, listed and
 * looked at as any folder; only a verbs file has to be more than it is: open gives a device, stat
 * a character device. On 64-bit machines the functions whose names end in 64 are the same.
 */
#include "shim/counters.h"
#include "shim/device.h"
#include "shim/paths.h"
#include "shim/preload.h"
#include "shim/real.h"

#include "kern/kern.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one struct stat");
_Static_assert(sizeof(off_t) == 8, "one off_t");

/* ---- open --------------------------------------------------------------------------------------
 */

static int open_path(const char *path, int flags, mode_t mode)
{
	char place[PATH_MAX];
	int nic = shim_path_device(path);

	if (nic >= 0)
		return shim_result(device_open((unsigned int)nic, flags));
	if ((flags & O_ACCMODE) == O_RDONLY)
		shim_counters_refresh(path);
	return shim_real()->open(shim_path(path, place), flags, mode);
}

static int openat_path(int dir, const char *path, int flags, mode_t mode)
{
	char place[PATH_MAX];
	int nic = shim_path_device(path);

	if (nic >= 0)
		return shim_result(device_open((unsigned int)nic, flags));
	if ((flags & O_ACCMODE) == O_RDONLY)
		shim_counters_refresh(path);
	return shim_real()->openat(dir, shim_path(path, place), flags, mode);
}

static bool takes_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE_OF(flags, mode)                         \
	do {                                         \
		va_list args;                        \
		va_start(args, flags);               \
		if (takes_mode(flags))               \
			mode = va_arg(args, mode_t); \
		va_end(args);                        \
	} while (0)

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return open_path(path, flags, mode);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return openat_path(dir, path, flags, mode);
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, mode);
	return openat_path(dir, path, flags, mode);
}

/* What the compiler makes of open(path, flags) under _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
	return open_path(path, flags, 0);
}

EXPORT int __open64_2(const char *path, int flags)
{
	return open_path(path, flags, 0);
}

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return openat_path(dir, path, flags, 0);
}

EXPORT int __openat64_2(int dir, const char *path, int flags)
{
	return openat_path(dir, path, flags, 0);
}

static FILE *fopen_path(const char *path, const char *mode)
{
	char place[PATH_MAX];

	if (mode[0] == 'r')
		shim_counters_refresh(path);
	return shim_real()->fopen(shim_path(path, place), mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	return fopen_path(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return fopen_path(path, mode);
}

EXPORT DIR *opendir(const char *path)
{
	char place[PATH_MAX];

	return shim_real()->opendir(shim_path(path, place));
}

EXPORT int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **))
{
	char place[PATH_MAX];

	return shim_real()->scandir(shim_path(path, place), list, filter, compare);
}

/* ---- stat --------------------------------------------------------------------------------------
 */

/* The NIC whose verbs file an inode stands for, by its place in the tree or as opened; or -1. */
static int verbs_file(dev_t device, ino_t inode)
{
	int nic = shim_active() ? shim_node_find(device, inode) : -1;

	return nic >= 0 || !device_any() ? nic : device_number(device, inode);
}

static unsigned int minor_of(int nic)
{
	const struct shim_nics *nics = shim_nics();

	return KERN_UVERBS_MINOR + (nics ? nics->uverbs_first : 0) + (unsigned int)nic;
}

static int stat_mend(int result, struct stat *stat)
{
	int nic =
	    result == 0 && S_ISREG(stat->st_mode) ? verbs_file(stat->st_dev, stat->st_ino) : -1;

	if (nic < 0)
		return result;
	stat->st_mode = S_IFCHR | 0666;
	stat->st_rdev = makedev(KERN_UVERBS_MAJOR, minor_of(nic));
	return result;
}

static int stat_path(const char *path, struct stat *stat)
{
	char place[PATH_MAX];

	return stat_mend(shim_real()->stat(shim_path(path, place), stat), stat);
}

static int lstat_path(const char *path, struct stat *stat)
{
	char place[PATH_MAX];

	return stat_mend(shim_real()->lstat(shim_path(path, place), stat), stat);
}

static int fstat_fd(int fd, struct stat *stat)
{
	return stat_mend(shim_real()->fstat(fd, stat), stat);
}

static int fstatat_path(int dir, const char *path, struct stat *stat, int flags)
{
	char place[PATH_MAX];

	return stat_mend(shim_real()->fstatat(dir, shim_path(path, place), stat, flags), stat);
}

EXPORT int stat(const char *path, struct stat *buf)
{
	return stat_path(path, buf);
}

EXPORT int stat64(const char *path, struct stat64 *buf)
{
	return stat_path(path, (struct stat *)buf);
}

EXPORT int lstat(const char *path, struct stat *buf)
{
	return lstat_path(path, buf);
}

EXPORT int lstat64(const char *path, struct stat64 *buf)
{
	return lstat_path(path, (struct stat *)buf);
}

EXPORT int fstat(int fd, struct stat *buf)
{
	return fstat_fd(fd, buf);
}

EXPORT int fstat64(int fd, struct stat64 *buf)
{
	return fstat_fd(fd, (struct stat *)buf);
}

EXPORT int fstatat(int dir, const char *path, struct stat *buf, int flags)
{
	return fstatat_path(dir, path, buf, flags);
}

EXPORT int fstatat64(int dir, const char *path, struct stat64 *buf, int flags)
{
	return fstatat_path(dir, path, (struct stat *)buf, flags);
}

/* What programs call that were linked with a glibc before 2.33. */
int __xstat(int version, const char *path, struct stat *buf);
int __xstat64(int version, const char *path, struct stat64 *buf);
int __lxstat(int version, const char *path, struct stat *buf);
int __lxstat64(int version, const char *path, struct stat64 *buf);
int __fxstat(int version, int fd, struct stat *buf);
int __fxstat64(int version, int fd, struct stat64 *buf);
int __fxstatat(int version, int dir, const char *path, struct stat *buf, int flags);
int __fxstatat64(int version, int dir, const char *path, struct stat64 *buf, int flags);

EXPORT int __xstat(int version, const char *path, struct stat *buf)
{
	(void)version;
	return stat_path(path, buf);
}

EXPORT int __xstat64(int version, const char *path, struct stat64 *buf)
{
	(void)version;
	return stat_path(path, (struct stat *)buf);
}

EXPORT int __lxstat(int version, const char *path, struct stat *buf)
{
	(void)version;
	return lstat_path(path, buf);
}

EXPORT int __lxstat64(int version, const char *path, struct stat64 *buf)
{
	(void)version;
	return lstat_path(path, (struct stat *)buf);
}

EXPORT int __fxstat(int version, int fd, struct stat *buf)
{
	(void)version;
	return fstat_fd(fd, buf);
}

EXPORT int __fxstat64(int version, int fd, struct stat64 *buf)
{
	(void)version;
	return fstat_fd(fd, (struct stat *)buf);
}

EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *buf, int flags)
{
	(void)version;
	return fstatat_path(dir, path, buf, flags);
}

EXPORT int __fxstatat64(int version, int dir, const char *path, struct stat64 *buf, int flags)
{
	(void)version;
	return fstatat_path(dir, path, (struct stat *)buf, flags);
}

EXPORT int statx(int dir, const char *path, int flags, unsigned int mask, struct statx *buf)
{
	char place[PATH_MAX];
	int result = shim_real()->statx(dir, shim_path(path, place), flags, mask, buf);
	int nic = -1;

	if (result == 0 && S_ISREG(buf->stx_mode))
		nic = verbs_file(makedev(buf->stx_dev_major, buf->stx_dev_minor), buf->stx_ino);
	if (nic < 0)
		return result;
	buf->stx_mode = S_IFCHR | 0666;
	buf->stx_rdev_major = KERN_UVERBS_MAJOR;
	buf->stx_rdev_minor = minor_of(nic);
	return result;
}

/* ---- asking ------------------------------------------------------------------------------------
 */

EXPORT int access(const char *path, int mode)
{
	char place[PATH_MAX];

	return shim_real()->access(shim_path(path, place), mode);
}

EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	char place[PATH_MAX];

	return shim_real()->faccessat(dir, shim_path(path, place), mode, flags);
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t size)
{
	char place[PATH_MAX];

	return shim_real()->readlink(shim_path(path, place), buf, size);
}

EXPORT ssize_t readlinkat(int dir, const char *path, char *buf, size_t size)
{
	char place[PATH_MAX];

	return shim_real()->readlinkat(dir, shim_path(path, place), buf, size);
}

/* `ls -l` asks for them. */
EXPORT ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	char place[PATH_MAX];

	return shim_real()->getxattr(shim_path(path, place), name, value, size);
}

EXPORT ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	char place[PATH_MAX];

	return shim_real()->lgetxattr(shim_path(path, place), name, value, size);
}

/* The program gets to see /sys/devices/... as if there was no tree; the result is never longer. */
static char *real_path(const char *path, char *resolved)
{
	char place[PATH_MAX];
	char *found = shim_real()->realpath(shim_path(path, place), resolved);

	if (found)
		shim_path_back(found);
	return found;
}

EXPORT char *realpath(const char *path, char *resolved)
{
	return real_path(path, resolved);
}

EXPORT char *canonicalize_file_name(const char *path)
{
	return real_path(path, NULL);
}

/* What the compiler makes of realpath under _FORTIFY_SOURCE. */
char *__realpath_chk(const char *path, char *resolved, size_t size);

EXPORT char *__realpath_chk(const char *path, char *resolved, size_t size)
{
	if (size < PATH_MAX)
		abort();
	return real_path(path, resolved);
}
