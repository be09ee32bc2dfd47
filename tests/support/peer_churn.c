/* SPDX-License-Identifier: BSD-2-Clause */
/* peer_churn.c - peers that join and leave; see peer.h. */
#include "tests/support/peer.h"

enum { PEERS = PEER_CHURNERS };

struct churn {
	const struct peer_churn *how;
	struct base_prng prng;
	struct proc *peers[PEERS];
	int links[PEERS][PEERS]; /* [i][j]: the number in i of its link with j; -1: none */
};

static void link_up(struct churn *churn, int i, int j)
{
	struct peer_pair pair = peer_pair(churn->peers[i], churn->peers[j]);

	churn->links[i][j] = (int)pair.a;
	churn->links[j][i] = (int)pair.b;
}

static void join(struct churn *churn, int i, uint64_t seed)
{
	churn->peers[i] = churn->how->start(i, seed);
	for (int j = 0; j < PEERS; j++) {
		churn->links[i][j] = churn->links[j][i] = -1;
		if (j != i && churn->peers[j] && base_prng_below(&churn->prng, 3))
			link_up(churn, i, j);
	}
}

/* One of them goes, each time in another way; the rest keep their links to it, which then fail. */
static void leave(struct churn *churn, int i)
{
	struct proc *child = churn->peers[i];

	switch (base_prng_below(&churn->prng, 3)) {
	case 0:
		proc_kill(child);
		break;
	case 1:
		proc_quit(child);
		break;
	case 2:
		proc_ok(child, peer_close, NULL);
		proc_kill(child);
		break;
	}
	churn->peers[i] = NULL;
}

static void check(struct churn *churn)
{
	for (int i = 0; i < PEERS; i++)
		if (churn->peers[i])
			proc_ok(churn->peers[i], peer_halt, NULL);
	for (int i = 0; i < PEERS; i++)
		for (int j = 0; j < i; j++)
			if (churn->peers[i] && churn->peers[j] && churn->links[i][j] >= 0)
				peer_agree(churn->peers[i], (unsigned int)churn->links[i][j],
					   churn->peers[j], (unsigned int)churn->links[j][i]);
}

void peer_churn(const struct peer_churn *how)
{
	struct churn churn = {.how = how};

	print_message("seed %llu\n", (unsigned long long)how->seed);
	base_prng_seed(&churn.prng, how->seed);
	for (int round = 0; round < how->rounds; round++) {
		int i = (int)base_prng_below(&churn.prng, PEERS);

		if (churn.peers[i])
			leave(&churn, i);
		else
			join(&churn, i, how->seed + (unsigned int)round);
		for (i = 0; i < PEERS; i++)
			if (churn.peers[i])
				peer_run_on(churn.peers[i], how->run);
	}
	check(&churn);
}
