/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host/pcap: what is captured reads back as frames with the same packet, the right addresses, time
 * and ICRC; a file is continued, and one that is something else is left alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "abi/icrc.h"
#include "abi/roce_frame.h"
#include "host/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct host_pcap pcap;
static char folder[] = "/tmp/rig5-pcap-XXXXXX";
static char path[64];
static uint8_t file_bytes[65536];

static const struct nic_path v4 = {
    .dgid = {[10] = 0xff, 0xff, 127, 0, 0, 2},
    .sgid = {[10] = 0xff, 0xff, 127, 0, 0, 1},
    .traffic_class = 0x68,
    .hop_limit = 3,
    .udp_sport = 0xc123,
};
static const struct host_pcap_around v4_around = {
    .traffic_class = 0x68, .hop_limit = 3, .udp_sport = 0xc123, .ip_id = 17, .dont_fragment = true};
static const struct host_pcap_around v6_around = {.dont_fragment = true};
static const struct nic_path v6 = {.dgid = {0xfe, 0x80, [15] = 2}, .sgid = {0xfe, 0x80, [15] = 1}};

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/a", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	rmdir(folder);
	return 0;
}

static size_t file_read(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, file_bytes, sizeof(file_bytes));

	close(fd);
	assert_true(len >= 24);
	return (size_t)len;
}

static uint32_t word(size_t at)
{
	uint32_t value;

	memcpy(&value, file_bytes + at, 4);
	return value;
}

/* The frame of the record at *at, which moves behind it. */
static struct roce_frame frame_next(size_t *at, size_t end)
{
	struct roce_frame frame;
	size_t len = word(*at + 8);

	assert_int_equal(len, word(*at + 12));
	assert_true(*at + 16 + len <= end);
	assert_int_equal(roce_frame_decode(&frame, file_bytes + *at + 16, len), ROCE_FRAME_OK);
	*at += 16 + len;
	return frame;
}

static void assert_icrc(const struct roce_frame *frame)
{
	size_t len = frame->ip_bytes + 8 + frame->bth_bytes;

	assert_int_equal(frame->icrc, icrc_packet(frame->ip, frame->ip_bytes, len));
}

static void test_records(void **state)
{
	uint8_t out[200], in[16];
	struct roce_frame frame;
	size_t at = 24, end;

	(void)state;
	memset(out, 0x11, sizeof(out));
	memset(in, 0x22, sizeof(in));
	assert_int_equal(host_pcap_open(&pcap, path), 0);
	host_pcap_packet(&pcap, 5000000007, true, &v4, &v4_around, out, sizeof(out));
	host_pcap_packet(&pcap, 6000000008, false, &v4, &v4_around, in, sizeof(in));
	host_pcap_packet(&pcap, 7, true, &v6, &v6_around, in, sizeof(in));
	host_pcap_close(&pcap);
	assert_int_equal(pcap.failed, 0);
	end = file_read(path);
	assert_int_equal(word(0), 0xa1b23c4d);
	assert_int_equal(word(20), 1);
	assert_int_equal(word(at), 5);
	assert_int_equal(word(at + 4), 7);
	frame = frame_next(&at, end);
	assert_memory_equal(frame.src, v4.sgid, 16);
	assert_memory_equal(frame.dst, v4.dgid, 16);
	assert_true(frame.ip_version == 4 && frame.traffic_class == 0x68 && frame.hop_limit == 3);
	assert_int_equal(frame.udp_sport, 0xc123);
	assert_int_equal(frame.ip_id, 17);
	assert_int_equal(frame.bth_bytes, sizeof(out));
	assert_memory_equal(frame.bth, out, sizeof(out));
	assert_icrc(&frame);
	frame = frame_next(&at, end);
	assert_memory_equal(frame.src, v4.dgid, 16);
	assert_memory_equal(frame.bth, in, sizeof(in));
	assert_icrc(&frame);
	frame = frame_next(&at, end);
	assert_int_equal(frame.ip_version, 6);
	assert_memory_equal(frame.dst, v6.dgid, 16);
	assert_icrc(&frame);
	assert_int_equal(at, end);
}

/* A second writer continues: one header, both packets. */
static void test_continued(void **state)
{
	uint8_t packet[12] = {4};
	struct roce_frame frame;
	size_t at = 24, end;

	(void)state;
	unlink(path);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(host_pcap_open(&pcap, path), 0);
		host_pcap_packet(&pcap, 1, true, &v4, &v4_around, packet, sizeof(packet));
		host_pcap_close(&pcap);
	}
	end = file_read(path);
	frame = frame_next(&at, end);
	frame = frame_next(&at, end);
	assert_memory_equal(frame.bth, packet, sizeof(packet));
	assert_int_equal(at, end);
}

static void test_refused(void **state)
{
	static const char text[] = "something that somebody still needs";
	char name[64];
	int fd;

	(void)state;
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	assert_int_equal(host_pcap_open(&pcap, path), -EEXIST);
	assert_int_equal(file_read(path), sizeof(text));
	assert_memory_equal(file_bytes, text, sizeof(text));
	snprintf(name, sizeof(name), "%s/none/a", folder);
	assert_int_equal(host_pcap_open(&pcap, name), -ENOENT);
	/* %p */
	snprintf(name, sizeof(name), "%s/%%p.pcap", folder);
	assert_int_equal(host_pcap_open(&pcap, name), 0);
	host_pcap_close(&pcap);
	snprintf(name, sizeof(name), "%s/%d.pcap", folder, (int)getpid());
	assert_int_equal(file_read(name), 24);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_records),
	    cmocka_unit_test(test_continued),
	    cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
