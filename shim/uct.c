/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uct.c - lends the thread that progresses a UCX worker to the NIC.
 *
 * UCX's own mlx5 transports write queue entries, ring and poll without libibverbs, so that no
 * function of hook.c is ever called. But a worker calls back whoever asks for it in each progress
 * [ucx uct/api/uct.h]: so who opens an interface of UCX, while a verbs file is open, gets a
 * callback of ours into its worker, and it is gone before the worker is. Nothing depends on it:
 * without it, the engine thread does the work. Where UCX has no such functions, nothing happens.
 */
#include "shim/device.h"
#include "shim/hook.h"
#include "shim/preload.h"
#include "shim/real.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
	WORKER_MAX = 256,
	CALL_EACH_TIME = 1, /* UCS_CALLBACKQ_FLAG_FAST */
	NO_ID = -1,
};

typedef unsigned int callback_fn(void *arg);
typedef int open_fn(void *md, void *worker, const void *params, const void *config, void *iface);
typedef void destroy_fn(void *worker);
typedef void register_fn(void *worker, callback_fn *callback, void *arg, unsigned int flags,
			 int *id);
typedef void unregister_fn(void *worker, int *id);

open_fn uct_iface_open;
destroy_fn uct_worker_destroy;

static struct {
	pthread_mutex_t lock;
	struct worker {
		void *handle;
		int id;
	} workers[WORKER_MAX];
} lent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *find(const char *name)
{
	return shim_real_of("libuct.so.0", name);
}

static unsigned int lend(void *arg)
{
	(void)arg;
	hook_progress();
	return 0;
}

/* The entry of a worker; NULL asks for a free one. */
static struct worker *entry_of(void *worker)
{
	for (int i = 0; i < WORKER_MAX; i++)
		if (lent.workers[i].handle == worker)
			return &lent.workers[i];
	return NULL;
}

static void worker_add(void *worker)
{
	register_fn *ask = (register_fn *)find("uct_worker_progress_register_safe");
	struct worker *entry;

	if (!ask || !find("uct_worker_progress_unregister_safe"))
		return;
	pthread_mutex_lock(&lent.lock);
	entry = entry_of(worker) ? NULL : entry_of(NULL);
	if (entry) {
		*entry = (struct worker){.handle = worker, .id = NO_ID};
		ask(worker, lend, NULL, CALL_EACH_TIME, &entry->id);
	}
	pthread_mutex_unlock(&lent.lock);
}

static void worker_remove(void *worker)
{
	unregister_fn *unask = (unregister_fn *)find("uct_worker_progress_unregister_safe");
	struct worker *entry;

	pthread_mutex_lock(&lent.lock);
	entry = entry_of(worker);
	if (entry && unask)
		unask(worker, &entry->id);
	if (entry)
		entry->handle = NULL;
	pthread_mutex_unlock(&lent.lock);
}

EXPORT int uct_iface_open(void *md, void *worker, const void *params, const void *config,
			  void *iface)
{
	open_fn *real = (open_fn *)find("uct_iface_open");
	int status = real(md, worker, params, config, iface);

	if (status == 0 && worker && device_any() && hook_lends(HOOK_UCX))
		worker_add(worker);
	return status;
}

EXPORT void uct_worker_destroy(void *worker)
{
	destroy_fn *real = (destroy_fn *)find("uct_worker_destroy");

	worker_remove(worker);
	real(worker);
}
