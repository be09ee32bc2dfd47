/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/trace.h - where the lines of `rig5 run --trace` go: standard error as it was when the first
 * NIC was opened, or a file that several processes append to. One write(2) a line.
 */
#ifndef SHIM_TRACE_H
#define SHIM_TRACE_H

struct soft_tracer;

/* shim_tracer - NULL if nothing is to be traced. For one thread at a time. */
const struct soft_tracer *shim_tracer(void);

#endif
