/* SPDX-License-Identifier: BSD-2-Clause */
/* kern/trace.h - what kern_env.trace is told of an ioctl. */
#ifndef KERN_TRACE_H
#define KERN_TRACE_H

#include "abi/trace.h"
#include "kern/state.h"

/* kern_trace_asked - what the application asks for: before the handler, which may destroy what is
 * named. */
void kern_trace_asked(struct kern_call *call, struct trace_verb *verb);
/* kern_trace_done - what it got, and the end of it. */
void kern_trace_done(struct kern_call *call, struct trace_verb *verb, int result);

#endif
