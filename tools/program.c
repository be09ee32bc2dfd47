/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/program.c - looks into a program's file for what keeps the loader from preloading. */
#include "tools/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/tools.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE }; /* not compared */
#endif

/* Where execvp would find name; false: nowhere. */
static bool find(const char *name, char path[static PATH_MAX])
{
	const char *at = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return access(path, X_OK) == 0;
	}
	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(at, ":");
		struct stat stat_buf;

		snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, at, len ? "/" : "", name);
		if (access(path, X_OK) == 0 && stat(path, &stat_buf) == 0 &&
		    S_ISREG(stat_buf.st_mode))
			return true;
		if (at[len] == '\0')
			return false;
		at += len + 1;
	}
}

static int refuse(const char *path, const char *why)
{
	tool_error("cannot run %s on the software NIC: %s", path, why);
	return TOOL_FAILED;
}

/* The loader preloads nothing into a program that gets rights its user has not. */
static int check_rights(const char *path, int fd)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return refuse(path, strerror(errno));
	if ((stat.st_mode & S_ISUID && stat.st_uid != getuid()) ||
	    (stat.st_mode & S_ISGID && stat.st_gid != getgid()))
		return refuse(path, "it is setuid or setgid, so the loader preloads nothing into "
				    "it; run it as its owner, or a copy of it");
	if (getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return refuse(path, "its file has capabilities, so the loader preloads nothing "
				    "into it; run a copy of it");
	return TOOL_OK;
}

/* Whether the program asks for a loader. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr entry;
		off_t at = (off_t)(header->e_phoff + i * sizeof(entry));

		if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
			return false;
		if (entry.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* ---- what it can do with a NIC -----------------------------------------------------------------
 */

/* Names in a symbol table of a program that may yet come to libibverbs, or start another. */
static const char *const ways[] = {"dlopen",      "dlmopen",      "execv",  "execve", "execvp",
				   "execvpe",     "execl",        "execlp", "execle", "fexecve",
				   "posix_spawn", "posix_spawnp", "system", "popen",  "syscall"};

/* Whether the file names one of the ways; true where it cannot be read. */
static bool has_way(const char *path)
{
	bool found = true;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	void *text = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_size > 0)
		text = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (text == MAP_FAILED)
		return true;
	found = false;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !found; i++) {
		char name[32] = "";

		/* A string of a table has a zero on either side. */
		memcpy(name + 1, ways[i], strlen(ways[i]));
		found = memmem(text, (size_t)stat.st_size, name, strlen(ways[i]) + 2) != NULL;
	}
	munmap(text, (size_t)stat.st_size);
	return found;
}

/* Every program needs libc, which has all ways. */
static bool is_libc(const char *name)
{
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0;
}

/* A line of the loader's list: "\tlibm.so.6 => /lib/libm.so.6 (0x...)". Whether it is libibverbs,
 * or a library with a way to it. */
static bool line_leads(char *line)
{
	char *name = line + strspn(line, " \t");
	char *path = strstr(name, " => ");
	char *slash;

	name[strcspn(name, " \n")] = '\0';
	slash = strrchr(name, '/');
	if (slash)
		name = slash + 1;
	if (strncmp(name, "libibverbs.so", strlen("libibverbs.so")) == 0)
		return true;
	if (!path || is_libc(name))
		return false;
	path += strlen(" => ");
	path[strcspn(path, " \n")] = '\0';
	return has_way(path);
}

/* What the program is linked with, as the loader itself lists it; NULL: it does not say. */
static FILE *libraries_list(const char *path, pid_t *child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	*child = fork();
	if (*child == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(ends[1], 1);
		dup2(null, 2);
		setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*child > 0)
		return fdopen(ends[0], "r");
	close(ends[0]);
	return NULL;
}

/* A word to who runs a program that has no use for a NIC, where that is sure. */
static void check_use(const char *path)
{
	bool leads = has_way(path), listed = false;
	char line[PATH_MAX + 256];
	pid_t child = -1;
	FILE *list = leads ? NULL : libraries_list(path, &child);
	int status;

	while (list && fgets(line, sizeof(line), list)) {
		listed = true;
		leads = leads || line_leads(line);
	}
	if (list)
		fclose(list);
	if (child > 0 && waitpid(child, &status, 0) == child && listed && !leads)
		tool_error(
		    "%s is not linked with libibverbs, and neither loads libraries nor "
		    "starts programs: it sees the software NIC's files, but makes no verbs calls",
		    path);
}

static int check_elf(const char *path, int fd, const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    (MACHINE != EM_NONE && header->e_machine != MACHINE))
		return refuse(path, "it is for another kind of processor than this command");
	if (!has_interpreter(fd, header))
		return refuse(path, "it is statically linked, so nothing can be preloaded into "
				    "it; link it dynamically");
	check_use(path);
	return TOOL_OK;
}

/* A script's first line: "#! /usr/bin/env python3". Its interpreter is the program then. */
static int check_script(char *line)
{
	char *word = line + strspn(line, " \t");

	word[strcspn(word, " \t\n")] = '\0';
	return word[0] ? tool_program_check(word) : TOOL_OK;
}

static int check_file(const char *path, int fd)
{
	union {
		Elf64_Ehdr header;
		char text[256];
	} start = {.text = ""};
	ssize_t got = pread(fd, start.text, sizeof(start) - 1, 0);
	int status = check_rights(path, fd);

	if (status != TOOL_OK || got < 4)
		return status;
	if (memcmp(start.text, "#!", 2) == 0)
		return check_script(start.text + 2);
	if (got < (ssize_t)sizeof(start.header) || memcmp(start.text, ELFMAG, SELFMAG) != 0)
		return TOOL_OK; /* exec says what it thinks of it */
	return check_elf(path, fd, &start.header);
}

int tool_program_check(const char *name)
{
	char path[PATH_MAX];
	int fd, status;

	if (!find(name, path)) {
		tool_error("cannot run %s: there is no such program", name);
		return TOOL_FAILED;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return TOOL_OK; /* may be run and not read */
	status = check_file(path, fd);
	close(fd);
	return status;
}
