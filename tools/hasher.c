/* SPDX-License-Identifier: BSD-2-Clause */
/* tools/hasher.c - SHA-256 in a thread of its own: a queue under a mutex, whose cost a piece
 * dwarfs. */
#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "tools/hasher.h"

#define JOBS_MAX 512

struct job {
	const void *data;
	size_t len_bytes;
	uint8_t *digest; /* not NULL: the file's end, no data */
};

struct hasher {
	pthread_mutex_t mutex;
	pthread_cond_t work; /* for the thread: a job was pushed, or it is to end */
	pthread_cond_t done; /* for the owner: a job is done */
	pthread_t thread;
	EVP_MD_CTX *md;
	struct job jobs[JOBS_MAX]; /* [taken, pushed), modulo JOBS_MAX */
	uint64_t pushed, taken;
	uint64_t pieces, files;
	uint64_t pieces_seen, files_seen;
	bool ending;
};

/* OpenSSL fails here only when out of memory or misused; a digest that is wrong never matches. */
static void run_job(struct hasher *hasher, const struct job *job)
{
	if (!job->digest) {
		EVP_DigestUpdate(hasher->md, job->data, job->len_bytes);
		return;
	}
	if (!EVP_DigestFinal_ex(hasher->md, job->digest, NULL) ||
	    !EVP_DigestInit_ex(hasher->md, EVP_sha256(), NULL))
		abort();
}

static void *hash_thread(void *arg)
{
	struct hasher *hasher = arg;

	pthread_mutex_lock(&hasher->mutex);
	for (;;) {
		struct job job;

		while (hasher->taken == hasher->pushed && !hasher->ending)
			pthread_cond_wait(&hasher->work, &hasher->mutex);
		if (hasher->ending)
			break;
		job = hasher->jobs[hasher->taken % JOBS_MAX];
		pthread_mutex_unlock(&hasher->mutex);
		run_job(hasher, &job);
		pthread_mutex_lock(&hasher->mutex);
		hasher->taken++;
		if (job.digest)
			hasher->files++;
		else
			hasher->pieces++;
		pthread_cond_signal(&hasher->done);
	}
	pthread_mutex_unlock(&hasher->mutex);
	return NULL;
}

/* The thread takes no signal: they are for the owner, whose waits they are to end. */
static int start_thread(struct hasher *hasher)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&hasher->thread, NULL, hash_thread, hasher);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

int hasher_create(struct hasher **out)
{
	struct hasher *hasher = calloc(1, sizeof(*hasher));
	pthread_condattr_t attr;
	int err = -ENOTSUP;

	if (!hasher)
		return -ENOMEM;
	pthread_mutex_init(&hasher->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&hasher->work, &attr);
	pthread_cond_init(&hasher->done, &attr);
	pthread_condattr_destroy(&attr);
	hasher->md = EVP_MD_CTX_new();
	if (!hasher->md || !EVP_DigestInit_ex(hasher->md, EVP_sha256(), NULL))
		goto err_free;
	err = start_thread(hasher);
	if (err)
		goto err_free;
	*out = hasher;
	return 0;
err_free:
	EVP_MD_CTX_free(hasher->md);
	free(hasher);
	return err;
}

void hasher_destroy(struct hasher *hasher)
{
	if (!hasher)
		return;
	pthread_mutex_lock(&hasher->mutex);
	hasher->ending = true;
	pthread_cond_signal(&hasher->work);
	pthread_mutex_unlock(&hasher->mutex);
	pthread_join(hasher->thread, NULL);
	pthread_cond_destroy(&hasher->work);
	pthread_cond_destroy(&hasher->done);
	pthread_mutex_destroy(&hasher->mutex);
	EVP_MD_CTX_free(hasher->md);
	free(hasher);
}

static void push(struct hasher *hasher, struct job job)
{
	pthread_mutex_lock(&hasher->mutex);
	while (hasher->pushed - hasher->taken == JOBS_MAX)
		pthread_cond_wait(&hasher->done, &hasher->mutex);
	hasher->jobs[hasher->pushed++ % JOBS_MAX] = job;
	pthread_cond_signal(&hasher->work);
	pthread_mutex_unlock(&hasher->mutex);
}

void hasher_push(struct hasher *hasher, const void *data, size_t len_bytes)
{
	push(hasher, (struct job){.data = data, .len_bytes = len_bytes});
}

void hasher_finish(struct hasher *hasher, uint8_t digest[static HASHER_DIGEST_BYTES])
{
	push(hasher, (struct job){.digest = digest});
}

uint64_t hasher_pieces(struct hasher *hasher)
{
	uint64_t count;

	pthread_mutex_lock(&hasher->mutex);
	count = hasher->pieces_seen = hasher->pieces;
	pthread_mutex_unlock(&hasher->mutex);
	return count;
}

uint64_t hasher_files(struct hasher *hasher)
{
	uint64_t count;

	pthread_mutex_lock(&hasher->mutex);
	count = hasher->files_seen = hasher->files;
	pthread_mutex_unlock(&hasher->mutex);
	return count;
}

void hasher_wait(struct hasher *hasher, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += timeout_ms % 1000 * 1000000l;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000l;
	until.tv_nsec %= 1000000000l;
	pthread_mutex_lock(&hasher->mutex);
	while (hasher->pieces == hasher->pieces_seen && hasher->files == hasher->files_seen)
		if (pthread_cond_timedwait(&hasher->done, &hasher->mutex, &until))
			break;
	pthread_mutex_unlock(&hasher->mutex);
}
