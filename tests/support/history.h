/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.h - packet histories: one queue pair of one NIC, told a line at a time what happens and
 * what must follow. The test is the peer; there is no event loop, and time moves only where a line
 * says so.
 *
 *	HISTORY("setup mtu=256 rq_psn=5",
 *		"rx SEND_ONLY psn=7 len=4",	   the peer's packet 7 comes before 5 and 6
 *		"tx ACK psn=5 nak=sequence",	   the NIC's next packet is this
 *		"tx none");			   and there is no other
 *
 * A line is a verb and `key=value` pairs or flags; a pair that nobody reads fails the test. Numbers
 * are C's; durations end in ns, us, ms or s. `va` is an offset in the region `data`, `pat` the
 * number of a byte pattern (sim_pattern), `key` the name of a region:
 *	data (all access), local (local write), ro (none), rread, rwrite, small (data's first 4096
 *	bytes), alien (another protection domain), forged (data's with a wrong tag), absent
 *
 * setup   mtu rq_psn sq_psn timeout retry rnr_retry min_rnr rd dest_rd access=wra sq rq rq_log2
 *	   cq_log2 cqe_size state=rts|rtr|init|reset signal_all overrun_ignored log2_max seed
 * rx	   a packet arrives: OPCODE psn a(ckreq) se qp pkey len pat off pad trunc opcode; va key
 *	   total (RETH); imm; swap add cmp (atomics); msn nak=sequence|invalid|access|operation
 *	   rnr=CODE syndrome (AETH); orig; other_gid, local (no GIDs). The NIC sends nothing before
 *	   the next tx, cqe, event or state line.
 * tx	   the next packet sent is OPCODE with the given fields; rva rkey total for a RETH; a,
 *	   noack. `tx none`: nothing is sent. An AETH without nak or rnr must be an ACK.
 * post	   OPCODE of an entry: va len key pat (fills the source) pieces=1+2+3, inline, signal,
 *	   fence, se, rva rkey, imm, swap add cmp; held: not rung
 * recv	   a receive: va len key, pieces=1+2+3
 * ring    record and register. `record`: only the record, or with ahead=N of more than was posted;
 *	   `bell`: only the register, ahead=N blocks past what was posted
 * scan	   nic_scan
 * cqe	   the next completion: done | send | send_imm | wr_imm | req_err | resp_err with idx len
 *	   imm syn vendor op se unconsumed; or none
 * event   one of that name has come (and is taken): cq_error, ...; `noevent NAME`
 * wait	   time moves. `due D`: nothing is sent until D later, less 1 ns, and the NIC asks to run
 *	   by then
 * fill, set64	 write application memory
 * mem, mem64	 check it; `any va len`: it may have changed. What changed in `data` without such a
 *	   line fails the test at its end.
 * modify  state=... and setup's names; destroy; dereg NAME; hole va len; untaken on|off
 * wire	   full, open, or the number of packets it still takes
 * arm	   the completion queue, record and register; `arm solicited`
 * count   counters, `count rx_duplicate=1`
 * state   nic_qp_query's: reset init rtr rts sqd sqe err
 * clear   forgets packets sent and completions so far: the next lines say what matters
 *
 * modify and destroy take fails=ERRNO. The end checks that nothing more was sent or completed.
 */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

struct history;

#define HISTORY(...) history_play((const char *const[]){__VA_ARGS__, 0})

/* history_play - runs the lines up to the null pointer, and the checks of the end. */
void history_play(const char *const *lines);

/* The same in pieces, for loops: open takes the setup line; close does the checks of the end. */
struct history *history_open(const char *setup);
void history_step(struct history *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
void history_close(struct history *h);
/* history_drop - the end without its checks. */
void history_drop(struct history *h);

#endif
