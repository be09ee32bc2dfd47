/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.c - librig5_mlx5dv.so: mlx5dv_map_ah_to_qp(3) for programs on rdma-core, by its public calls
 * alone, for where libmlx5 has no such function, or one is to be tried against the other.
 *
 * The mapping is an object of the firmware, which a command of DevX makes. It has to die with the
 * address handle, so ibv_destroy_ah is here, too: it ends the mapping after libibverbs has ended
 * the handle. A table remembers which handles are mapped.
 *
 * Source: the command [rdma-core mlx5]; a handle's address vector: mlx5dv_init_obj [mlx5dv.h].
 */
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Byte offsets of the commands, and what they hold [rdma-core mlx5]. */
enum {
	OP_QUERY_HCA_CAP = 0x100,
	OP_CREATE_GENERAL_OBJECT = 0xa00,
	OBJ_AV_QP_MAPPING = 0x3a,
	HEADER_BYTES = 16,
	CAPS_BYTES = 4096,
	CAP_GENERAL_OBJECTS = HEADER_BYTES + 0x80,
	STATUS_AT = 0,
	MAP_QPN = 0x1c,
	MAP_AV = 0x20,
	MAP_IN_BYTES = 0x50,
	AV_GRH = 1 << 30,
	AV_SGID_INDEX = 0xff << 20,
	BUCKETS = 256, /* a power of two */
};

struct mapping {
	struct ibv_ah *ah;
	struct mlx5dv_devx_obj *object;
	struct mapping *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *buckets[BUCKETS];

/* The link that leads to the mapping of ah, or to the end of its list. */
static struct mapping **find(const struct ibv_ah *ah)
{
	struct mapping **at = &buckets[(uintptr_t)ah / 64 % BUCKETS];

	while (*at && (*at)->ah != ah)
		at = &(*at)->next;
	return at;
}

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static bool is_offered(struct ibv_context *context)
{
	uint8_t in[HEADER_BYTES] = {0};
	uint8_t out[HEADER_BYTES + CAPS_BYTES] = {0};
	uint64_t types;

	put16(in, OP_QUERY_HCA_CAP);
	put16(in + 6, 1); /* the general page, as things are now */
	if (mlx5dv_devx_general_cmd(context, in, sizeof(in), out, sizeof(out)))
		return false;
	memcpy(&types, out + CAP_GENERAL_OBJECTS, sizeof(types));
	return be64toh(types) >> OBJ_AV_QP_MAPPING & 1;
}

/* On Ethernet the vector's bit of a global route is not set: every handle has one. */
static bool is_global(struct ibv_context *context, const struct mlx5_wqe_av *av)
{
	static const uint8_t none[16];
	struct ibv_port_attr port;

	if (be32toh(av->grh_gid_fl) & AV_GRH)
		return true;
	/* Which port a handle is for is not public; an adapter's ports are of one kind. */
	if (ibv_query_port(context, 1, &port))
		return false;
	return port.link_layer == IBV_LINK_LAYER_ETHERNET &&
	       memcmp(av->rgid, none, sizeof(none)) != 0;
}

/* What a status of the firmware means [rdma-core mlx5]; libmlx5 may have said so already. */
static int errno_of(int error, uint8_t status)
{
	if (error != EREMOTEIO)
		return error;
	switch (status) {
	case 0x06:
		return EBUSY;
	case 0x08:
		return ENOMEM;
	case 0x0f:
		return EAGAIN;
	case 0x01:
	case 0x04:
	case 0x50:
	case 0x51:
		return EIO;
	default:
		return EINVAL;
	}
}

static int make(struct mapping *mapping, const struct mlx5_wqe_av *av, uint32_t qp_num)
{
	uint8_t in[MAP_IN_BYTES] = {0};
	uint8_t out[HEADER_BYTES] = {0};
	struct mlx5_wqe_av named = {
	    .stat_rate_sl = av->stat_rate_sl & 0xf,
	    .grh_gid_fl = htobe32(be32toh(av->grh_gid_fl) & AV_SGID_INDEX),
	};

	memcpy(named.rgid, av->rgid, sizeof(named.rgid));
	put16(in, OP_CREATE_GENERAL_OBJECT);
	put16(in + 6, OBJ_AV_QP_MAPPING);
	put32(in + MAP_QPN, qp_num);
	memcpy(in + MAP_AV, &named, sizeof(named));
	mapping->object =
	    mlx5dv_devx_obj_create(mapping->ah->context, in, sizeof(in), out, sizeof(out));
	return mapping->object ? 0 : errno_of(errno, out[STATUS_AT]);
}

static int map(struct ibv_ah *ah, const struct mlx5_wqe_av *av, uint32_t qp_num)
{
	struct mapping **at = find(ah);
	struct mapping *mapping;
	int error;

	if (*at)
		return 0;
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return ENOMEM;
	mapping->ah = ah;
	error = make(mapping, av, qp_num);
	if (error)
		free(mapping);
	else
		*at = mapping;
	return error;
}

EXPORT int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qp_num)
{
	struct mlx5dv_ah dv = {.av = NULL};
	struct mlx5dv_obj obj = {.ah = {.in = ah, .out = &dv}};
	int error;

	if (!mlx5dv_is_supported(ah->context->device) || mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH) ||
	    !is_offered(ah->context) || !is_global(ah->context, dv.av))
		return EOPNOTSUPP;
	pthread_mutex_lock(&lock);
	error = map(ah, dv.av, qp_num);
	pthread_mutex_unlock(&lock);
	return error;
}

/* Unlinks the mapping first: the handle's memory may be another's as soon as it is gone. */
EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	int (*destroy)(struct ibv_ah * ah);
	struct mapping **at, *mapping;
	int error;

	*(void **)&destroy = dlvsym(RTLD_NEXT, "ibv_destroy_ah", "IBVERBS_1.1");
	if (!destroy)
		return ENOSYS;
	pthread_mutex_lock(&lock);
	at = find(ah);
	mapping = *at;
	if (mapping)
		*at = mapping->next;
	error = destroy(ah);
	if (mapping && error) {
		mapping->next = NULL;
		*find(ah) = mapping;
	}
	pthread_mutex_unlock(&lock);
	if (!mapping || error)
		return error;
	mlx5dv_devx_obj_destroy(mapping->object);
	free(mapping);
	return 0;
}
