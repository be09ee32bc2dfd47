/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hot.h - what is on the path of every packet and what is not, where the compiler cannot know.
 */
#ifndef BASE_HOT_H
#define BASE_HOT_H

/* Part of each of its callers, however many and large these are. */
#define HOT static inline __attribute__((always_inline))

/* Never part of its caller, which it would only make longer. */
#define COLD __attribute__((noinline, cold))

#endif
