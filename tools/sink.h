/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools/sink.h - the directory that `rig5 recv` writes into. A file has no name there until it is
 * committed: a process that dies before leaves nothing behind. (Where the file system has no
 * nameless files it has a name like ".rig5-0123456789abcdef.part", which only a SIGKILL leaves
 * there.)
 *
 * Names are single path components that xfer_name_problem accepts, so nothing can lead out of the
 * directory: no link is followed, and with `force` a link is replaced, not what it points to.
 */
#ifndef TOOLS_SINK_H
#define TOOLS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/xfer_proto.h"

#define SINK_WHY 512

struct sink {
	int dir_fd;
	bool force;      /* replace files that exist */
	bool sync;       /* a file is on the disk before it gets its name */
	bool no_tmpfile; /* nameless files do not work here: found out, or set by a test */
	uint32_t umask;
};

struct sink_file {
	int fd;        /* -1: none */
	char temp[40]; /* empty for a nameless file */
	uint64_t offset_bytes;
};

/* Each returns 0 or -errno with a sentence in why (terminated, at most SINK_WHY bytes). */
int sink_open(struct sink *sink, const char *dir, char why[static SINK_WHY]);
void sink_close(struct sink *sink);

/* sink_check - whether the files may come: their names are free (or `force`), they are at most
 * max_bytes together, and the file system has room for them. */
int sink_check(const struct sink *sink, const struct xfer_file *files, int count,
	       uint64_t max_bytes, char why[static SINK_WHY]);

int sink_begin(struct sink *sink, struct sink_file *file, char why[static SINK_WHY]);
/* Appends. */
int sink_write(struct sink_file *file, const void *data, size_t len_bytes,
	       char why[static SINK_WHY]);
/* sink_commit - gives the file its name; the file is closed, whatever is returned. -EEXIST: the
 * name was taken meanwhile (without `force`). */
int sink_commit(const struct sink *sink, struct sink_file *file, const struct xfer_file *as,
		char why[static SINK_WHY]);
/* sink_drop - closes a file that will not be, and takes away what there is of it. fd -1 is allowed.
 */
void sink_drop(const struct sink *sink, struct sink_file *file);

#endif
