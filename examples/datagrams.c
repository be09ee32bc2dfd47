/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagrams.c - three queue pairs send a datagram each to a fourth, which takes receives from a
 * shared queue and answers every one.
 *
 * Nobody is connected: an entry names an address handle, a queue pair number and a key. All are in
 * one process here; what a sender needs to know of the receiver is an address and two numbers.
 */
#include <rig5.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENDERS = 3, RECEIVES = 15, SLOT_BYTES = 256, GRH_BYTES = 40, QKEY = 0x1f2e3d };

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, rig_error());
	exit(1);
}

static char memory[(RECEIVES + 1) * SLOT_BYTES];
static struct rig_nic *nic;
static struct rig_region *region;
static struct rig_cq *cq;
static struct rig_srq *srq;

/* A receive's place in memory goes by its index, which the completion names. */
static void post_receive(void)
{
	struct rig_local slot;

	check(rig_region_local(region, rig_srq_index(srq) * SLOT_BYTES, SLOT_BYTES, &slot),
	      "piece");
	check(rig_srq_receive(srq, &slot, 1), "receive");
}

static struct rig_qp *datagrams(void)
{
	struct rig_qp_options options = {.transport = RIG_UD, .srq = srq};
	struct rig_qp *qp;

	check(rig_qp_create_with(cq, 8, 0, &options, &qp), "queue pair");
	check(rig_qp_start(qp, &(struct rig_start){.qkey = QKEY}), "start");
	return qp;
}

static void say(struct rig_qp *from, const struct rig_address *to, uint32_t number,
		const char *text)
{
	struct rig_entry entry = {.op = RIG_SEND,
				  .flags = RIG_SIGNAL_F | RIG_INLINE_F,
				  .inline_data = text,
				  .inline_len_bytes = (uint32_t)strlen(text) + 1,
				  .remote_qp = number,
				  .remote_qkey = QKEY};

	check(rig_ah_create(nic, to, NULL, &entry.ah), "address handle");
	check(rig_qp_post(from, &entry), "post");
	check(rig_qp_ring(from), "ring");
	check(rig_ah_destroy(entry.ah), "address handle"); /* the entry has the address in it */
}

int main(void)
{
	struct rig_qp *qps[SENDERS + 1];
	struct rig_nic_info info;
	int heard = 0;

	check(rig_open("soft0", &nic), "open");
	check(rig_nic_info(nic, &info), "info");
	check(rig_region_create(nic, memory, sizeof(memory), RIG_LOCAL, &region), "region");
	check(rig_cq_create(nic, 64, &cq), "completion queue");
	check(rig_srq_create(cq, RECEIVES, &srq), "shared receive queue");
	for (int i = 0; i < RECEIVES; i++)
		post_receive();
	for (int i = 0; i <= SENDERS; i++)
		qps[i] = datagrams();
	for (int i = 1; i <= SENDERS; i++)
		say(qps[i], &info.address, rig_qp_number(qps[0]), "is anybody there?");
	while (heard < 2 * SENDERS) {
		struct rig_address from;
		struct rig_wc wc;
		const char *slot;

		if (rig_cq_poll(cq, &wc, 1) < 1)
			continue;
		check(wc.status == RIG_OK ? 0 : -1, rig_status_text(wc.status));
		if (wc.kind != RIG_WC_RECEIVE)
			continue; /* one of say's is done */
		slot = memory + wc.index * SLOT_BYTES;
		printf("0x%x hears 0x%x: %s\n", wc.qp, wc.source_qp, slot + GRH_BYTES);
		check(rig_wc_source(&wc, slot, &from), "source");
		if (wc.qp == rig_qp_number(qps[0]))
			say(qps[0], &from, wc.source_qp, "yes");
		post_receive();
		heard++;
	}
	check(rig_close(nic), "close");
	return 0;
}
