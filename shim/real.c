/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * real.c - finds libc's functions behind ours, and answers the library's own calls with them.
 *
 * The linker turns each call of, say, close in soft or host into one of __wrap_close
 * (cmake/shim.cmake), so that a descriptor that the shim closes for itself is not looked at as if
 * the application had closed it.
 */
#include "shim/real.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct shim_real table;
static atomic_bool loaded;

/* Threads that come at once find the same addresses. */
static void load(void)
{
#define REAL(type, name, parameters) *(void **)&table.name = dlsym(RTLD_NEXT, #name);
#include "shim/real.def"
#undef REAL
	atomic_store_explicit(&loaded, true, memory_order_release);
}

const struct shim_real *shim_real(void)
{
	if (!atomic_load_explicit(&loaded, memory_order_acquire))
		load();
	return &table;
}

void *shim_real_of(const char *library, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	void *handle;

	if (found)
		return found;
	handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	found = handle ? dlsym(handle, name) : NULL;
	if (handle)
		dlclose(handle);
	return found;
}

/* ---- what the linker puts in place of the names ------------------------------------------------
 */

int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *stat);
int __wrap_stat(const char *path, struct stat *stat);
int __wrap_socket(int family, int type, int protocol);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int __wrap_close(int fd);
ssize_t __wrap_readlink(const char *path, char *buf, size_t size);

int __wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return shim_real()->open(path, flags, mode);
}

int __wrap_fstat(int fd, struct stat *stat)
{
	return shim_real()->fstat(fd, stat);
}

int __wrap_stat(const char *path, struct stat *stat)
{
	return shim_real()->stat(path, stat);
}

int __wrap_socket(int family, int type, int protocol)
{
	return shim_real()->socket(family, type, protocol);
}

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
	return shim_real()->send(fd, data, len, flags);
}

ssize_t __wrap_sendto(int fd, const void *data, size_t len, int flags, const struct sockaddr *to,
		      socklen_t to_len)
{
	return shim_real()->sendto(fd, data, len, flags, to, to_len);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return shim_real()->sendmsg(fd, msg, flags);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return shim_real()->ioctl(fd, request, arg);
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return shim_real()->mmap(addr, len, prot, flags, fd, offset);
}

int __wrap_close(int fd)
{
	return shim_real()->close(fd);
}

ssize_t __wrap_readlink(const char *path, char *buf, size_t size)
{
	return shim_real()->readlink(path, buf, size);
}
