/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * udmabuf_test.c - a region of a real dma-buf, where the kernel has udmabuf to make one of a memfd
 * [linux udmabuf.h]; else counted as skipped.
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

#define DEVICE "/dev/udmabuf"

/* A dma-buf of BUF_BYTES, and its memory. */
static int udmabuf_make(uint8_t **mem)
{
	int memfd = memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = BUF_BYTES};
	int device = open(DEVICE, O_RDWR | O_CLOEXEC);
	int fd;

	assert_true(memfd >= 0 && device >= 0);
	assert_int_equal(ftruncate(memfd, BUF_BYTES), 0);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = (uint32_t)memfd;
	fd = ioctl(device, UDMABUF_CREATE, &create);
	assert_true(fd >= 0);
	*mem = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	assert_ptr_not_equal(*mem, MAP_FAILED);
	close(memfd);
	close(device);
	return fd;
}

/* A peer writes into it, reads from it and adds in it; the descriptor is closed at once. */
static void test_bytes_move(void **state)
{
	struct rig_region *region, *none;
	struct rig_remote remote;
	struct rig_entry entry;
	uint8_t *mem;
	uint64_t sum;
	int fd = udmabuf_make(&mem);

	(void)state;
	soft_pair();
	soft_refused(rig_region_create_dmabuf(soft.nic, fd, OFFSET, BUF_BYTES, RIG_LOCAL, &none),
		     -22, "no dma-buf");
	assert_int_equal(
	    rig_region_create_dmabuf(soft.nic, fd, OFFSET, BYTES, RIG_REMOTE_ALL, &region), 0);
	close(fd);
	assert_int_equal(rig_region_remote(region, 0, BYTES, &remote), 0);
	assert_int_equal(remote.addr & 4095, OFFSET & 4095);
	for (unsigned int i = 0; i < 0x8000; i++)
		soft.a.mem[i] = (uint8_t)(7 * i + 1);
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

	if (access(DEVICE, R_OK | W_OK) != 0) {
		printf("skipped: no " DEVICE "\n");
		return SKIPPED;
	}
	proc_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
