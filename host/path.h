/* SPDX-License-Identifier: BSD-2-Clause */
/* path.h - a datagram's path, as it stands before the packet on the local wire. */
#ifndef HOST_PATH_H
#define HOST_PATH_H

#include "host/shm.h"
#include "nic/nic.h"

/* host_path_pack, host_path_unpack - one form from the other. Any bits make a path. */
struct shm_path host_path_pack(const struct nic_path *path);
struct nic_path host_path_unpack(const struct shm_path *from);

#endif
