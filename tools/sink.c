/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/sink.c - the directory that `rig5 recv` writes into. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/sink.h"
#include "tools/units.h"

static int failed(char why[static SINK_WHY], int err, const char *what, const char *name)
{
	snprintf(why, SINK_WHY, "%s '%s': %s", what, name, strerror(-err));
	return err;
}

int sink_open(struct sink *sink, const char *dir, char why[static SINK_WHY])
{
	mode_t mask = umask(0);

	umask(mask);
	sink->umask = mask;
	sink->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sink->dir_fd < 0)
		return failed(why, -errno, "cannot open directory", dir);
	if (faccessat(sink->dir_fd, ".", W_OK | X_OK, AT_EACCESS)) {
		int err = -errno;

		sink_close(sink);
		return failed(why, err, "cannot write into directory", dir);
	}
	return 0;
}

void sink_close(struct sink *sink)
{
	if (sink->dir_fd >= 0)
		close(sink->dir_fd);
	sink->dir_fd = -1;
}

static int check_name(const struct sink *sink, const char *name, char why[static SINK_WHY])
{
	struct stat st;

	if (fstatat(sink->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return 0;
		return failed(why, -errno, "cannot look at", name);
	}
	if (S_ISDIR(st.st_mode)) {
		snprintf(why, SINK_WHY, "'%s' is a directory here", name);
		return -EISDIR;
	}
	if (!sink->force) {
		snprintf(why, SINK_WHY, "'%s' exists (the receiver's --force replaces files)",
			 name);
		return -EEXIST;
	}
	return 0;
}

int sink_check(const struct sink *sink, const struct xfer_file *files, int count,
	       uint64_t max_bytes, char why[static SINK_WHY])
{
	char size[TOOL_UNIT_TEXT], limit[TOOL_UNIT_TEXT];
	struct statvfs fs;
	uint64_t total = 0;

	for (int i = 0; i < count; i++) {
		int err = check_name(sink, files[i].name, why);

		if (err)
			return err;
		total += files[i].size_bytes;
	}
	tool_format_bytes(total, size);
	if (total > max_bytes) {
		snprintf(why, SINK_WHY, "%s (%llu bytes) is over the limit of %s (--max-size)",
			 size, (unsigned long long)total, tool_format_bytes(max_bytes, limit));
		return -EFBIG;
	}
	if (!fstatvfs(sink->dir_fd, &fs) && total / (fs.f_frsize ? fs.f_frsize : 1) > fs.f_bavail) {
		snprintf(why, SINK_WHY, "%s does not fit: %s are free", size,
			 tool_format_bytes((uint64_t)fs.f_bavail * fs.f_frsize, limit));
		return -ENOSPC;
	}
	return 0;
}

static void make_temp_name(char temp[static 40])
{
	uint64_t number = 0;

	/* Never short for 8 bytes [getrandom(2)]; O_EXCL finds a clash anyway. */
	if (getrandom(&number, sizeof(number), 0) < 0)
		number = (uint64_t)getpid();
	snprintf(temp, 40, ".rig5-%016llx.part", (unsigned long long)number);
}

int sink_begin(struct sink *sink, struct sink_file *file, char why[static SINK_WHY])
{
	*file = (struct sink_file){.fd = -1};
	if (!sink->no_tmpfile) {
		file->fd = openat(sink->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
		if (file->fd >= 0)
			return 0;
		/* What a kernel or file system without them says [open(2)]. */
		if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
			return failed(why, -errno, "cannot create a file in", "the directory");
		sink->no_tmpfile = true;
	}
	make_temp_name(file->temp);
	file->fd = openat(sink->dir_fd, file->temp,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0) {
		int err = -errno;

		failed(why, err, "cannot create", file->temp);
		file->temp[0] = '\0';
		return err;
	}
	return 0;
}

int sink_write(struct sink_file *file, const void *data, size_t len_bytes,
	       char why[static SINK_WHY])
{
	const char *next = data;

	while (len_bytes) {
		ssize_t n = write(file->fd, next, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n ? -errno : -EIO;

			snprintf(why, SINK_WHY, "cannot write at byte %llu: %s",
				 (unsigned long long)file->offset_bytes, strerror(-err));
			return err;
		}
		next += n;
		len_bytes -= (size_t)n;
		file->offset_bytes += (uint64_t)n;
	}
	return 0;
}

/* A nameless file gets one, which must be free. */
static int link_nameless(const struct sink *sink, const struct sink_file *file, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	if (!linkat(AT_FDCWD, path, sink->dir_fd, name, AT_SYMLINK_FOLLOW))
		return 0;
	if (errno != ENOENT)
		return -errno;
	/* No /proc. */
	return linkat(file->fd, "", sink->dir_fd, name, AT_EMPTY_PATH) ? -errno : 0;
}

static int rename_to(const struct sink *sink, const struct sink_file *file, const char *name)
{
	if (sink->force)
		return renameat(sink->dir_fd, file->temp, sink->dir_fd, name) ? -errno : 0;
	if (!renameat2(sink->dir_fd, file->temp, sink->dir_fd, name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system that cannot do that has hard links, mostly (NFS). */
	if (linkat(sink->dir_fd, file->temp, sink->dir_fd, name, 0))
		return -errno;
	unlinkat(sink->dir_fd, file->temp, 0);
	return 0;
}

static int give_name(const struct sink *sink, struct sink_file *file, const char *name)
{
	int err;

	if (file->temp[0])
		return rename_to(sink, file, name);
	err = link_nameless(sink, file, name);
	if (err != -EEXIST || !sink->force)
		return err;
	/* A link replaces nothing, a rename does. */
	make_temp_name(file->temp);
	err = link_nameless(sink, file, file->temp);
	if (err) {
		file->temp[0] = '\0';
		return err;
	}
	return rename_to(sink, file, name);
}

int sink_commit(const struct sink *sink, struct sink_file *file, const struct xfer_file *as,
		char why[static SINK_WHY])
{
	/* A network file system reports a late write error at a close: ask before there is a name.
	 */
	int copy = dup(file->fd), err = 0;

	if (copy < 0 || close(copy) || fchmod(file->fd, as->mode & 0777 & ~sink->umask) ||
	    (sink->sync && fsync(file->fd)))
		err = -errno;
	if (!err)
		err = give_name(sink, file, as->name);
	if (err) {
		sink_drop(sink, file);
		return failed(why, err, "cannot name the file", as->name);
	}
	file->temp[0] = '\0';
	close(file->fd);
	file->fd = -1;
	if (sink->sync && fsync(sink->dir_fd))
		return failed(why, -errno, "cannot flush the directory for", as->name);
	return 0;
}

void sink_drop(const struct sink *sink, struct sink_file *file)
{
	if (file->temp[0])
		unlinkat(sink->dir_fd, file->temp, 0);
	file->temp[0] = '\0';
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}
