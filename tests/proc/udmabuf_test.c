/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udmabuf_test.c - a region of a real dma-buf, where the kernel has udmabuf to make one of a memfd
 * [linux udmabuf.h], or vgem to make one of a buffer without a screen [linux drm.h]; else counted
 * as skipped.
 */
#include "tests/support/procs.h"
#include "tests/support/soft_pair.h"

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SKIPPED = 77, BUF_BYTES = 1 << 16, OFFSET = 0x1234, BYTES = 0x9000 };

#define UDMABUF "/dev/udmabuf"

static int of_udmabuf(void)
{
	int memfd = memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = BUF_BYTES};
	int device = open(UDMABUF, O_RDWR | O_CLOEXEC);
	int fd = -1;

	if (device >= 0 && memfd >= 0 && ftruncate(memfd, BUF_BYTES) == 0 &&
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
		create.memfd = (uint32_t)memfd;
		fd = ioctl(device, UDMABUF_CREATE, &create);
	}
	close(memfd);
	close(device);
	return fd;
}

/* [linux drm.h], which comes with libdrm only. */
struct drm_version {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};

struct drm_mode_create_dumb {
	uint32_t height, width, bpp, flags;
	uint32_t handle, pitch;
	uint64_t size;
};

struct drm_prime_handle {
	uint32_t handle, flags;
	int32_t fd;
};

#define DRM_IOCTL_VERSION            _IOWR('d', 0x00, struct drm_version)
#define DRM_IOCTL_PRIME_HANDLE_TO_FD _IOWR('d', 0x2d, struct drm_prime_handle)
#define DRM_IOCTL_MODE_CREATE_DUMB   _IOWR('d', 0xb2, struct drm_mode_create_dumb)

static bool is_vgem(int device)
{
	char name[8] = "";
	struct drm_version version = {.name = name, .name_len = sizeof(name) - 1};

	return ioctl(device, DRM_IOCTL_VERSION, &version) == 0 && strcmp(name, "vgem") == 0;
}

static int of_vgem(void)
{
	struct drm_mode_create_dumb create = {.width = BUF_BYTES / 4, .height = 1, .bpp = 32};
	struct drm_prime_handle prime = {.flags = O_CLOEXEC | O_RDWR, .fd = -1};

	for (int i = 0; i < 8 && prime.fd < 0; i++) {
		char path[32];
		int device;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		device = open(path, O_RDWR | O_CLOEXEC);
		if (device >= 0 && is_vgem(device) &&
		    ioctl(device, DRM_IOCTL_MODE_CREATE_DUMB, &create) == 0) {
			prime.handle = create.handle;
			if (ioctl(device, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) != 0)
				prime.fd = -1;
		}
		close(device);
	}
	return prime.fd;
}

/* A dma-buf of BUF_BYTES; -1: this kernel has none. */
static int dmabuf_make(void)
{
	int fd = of_udmabuf();

	return fd >= 0 ? fd : of_vgem();
}

/* A peer writes into it, reads from it and adds in it; the descriptor is closed at once. */
static void test_bytes_move(void **state)
{
	struct rig_region *region, *none;
	struct rig_remote remote;
	struct rig_entry entry;
	uint8_t *mem;
	uint64_t sum;
	int fd = dmabuf_make();

	(void)state;
	assert_true(fd >= 0);
	mem = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	soft_pair();
	soft_refused(rig_region_create_dmabuf(soft.nic, fd, OFFSET, BUF_BYTES, RIG_LOCAL, &none),
		     -22, "no dma-buf");
	assert_int_equal(
	    rig_region_create_dmabuf(soft.nic, fd, OFFSET, BYTES, RIG_REMOTE_ALL, &region), 0);
	close(fd);
	assert_int_equal(rig_region_remote(region, 0, BYTES, &remote), 0);
	assert_int_equal(remote.addr & 4095, OFFSET & 4095);
	for (unsigned int i = 0; i < 0x8000; i++)
		soft.a.mem[i] = (uint8_t)(7 * i + (i >> 8) + 1);
	entry = soft_entry(&soft.a, RIG_WRITE, 0, 0x8000, 0);
	entry.remote_addr = remote.addr + 100;
	entry.remote_key = remote.key;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_memory_equal(mem + OFFSET + 100, soft.a.mem, 0x8000);
	assert_int_equal(mem[OFFSET + 99], 0);
	entry = soft_entry(&soft.a, RIG_FETCH_ADD, 0, 8, 0);
	entry.remote_addr = remote.addr + 4;
	entry.remote_key = remote.key;
	entry.add_or_swap = 42;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	memcpy(&sum, mem + OFFSET + 4, 8);
	assert_int_equal(sum, 42);
	mem[OFFSET + BYTES - 1] = 0x77;
	entry = soft_entry(&soft.a, RIG_READ, 0, 1, 0);
	entry.remote_addr = remote.addr + BYTES - 1;
	entry.remote_key = remote.key;
	soft_post(&soft.a, &entry);
	soft_done(&soft.a);
	assert_int_equal(soft.a.mem[0], 0x77);
	assert_int_equal(rig_region_destroy(region), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {SOFT_TEST(test_bytes_move)};

	int fd = dmabuf_make();

	if (fd < 0) {
		printf("skipped: neither " UDMABUF " nor vgem\n");
		return SKIPPED;
	}
	close(fd);
	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
