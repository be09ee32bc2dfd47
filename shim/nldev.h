/* SPDX-License-Identifier: BSD-2-Clause */
/* shim/nldev.h - the devices of a run, ours and those of the machine that are shown, read from the
 * tree's sysfs. */
#ifndef SHIM_NLDEV_H
#define SHIM_NLDEV_H

#include "kern/nldev.h"

/* What cannot be read stays 0; a device without a name is none. */
void shim_nldev_read(struct nldev *nldev);

#endif
