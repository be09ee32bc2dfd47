/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shim/counters.h - the files below ports/1/hw_counters and ports/1/counters have the values of the
 * moment they are opened.
 *
 * What they show is, as on a card, what all processes on the port have counted, in whichever run:
 * each is asked (host/stats_ask.h). The file in the tree gets the sum, and is then opened as any
 * other. Who keeps a file open and reads it again reads the same.
 */
#ifndef SHIM_COUNTERS_H
#define SHIM_COUNTERS_H

/* shim_counters_refresh - path is about to be opened to be read: if its name is a counter's, that
 * file of every NIC of this run gets its value. Else it costs a comparison of names. errno stays.
 */
void shim_counters_refresh(const char *path);

#endif
