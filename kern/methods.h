/* SPDX-License-Identifier: BSD-2-Clause */
/* kern/methods.h - which ioctl methods the device has, and what attributes each takes. */
#ifndef KERN_METHODS_H
#define KERN_METHODS_H

#include "kern/state.h"

/* kern_method_find - the method, or NULL if the device has no such object or method. */
const struct kern_method *kern_method_find(uint16_t object, uint16_t method);

#endif
