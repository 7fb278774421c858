/* Selects which of four failure limiters count an attempt. */
#include "auth/sign_in_limiter.h"

#include "auth/failure_limiter.h"
#include "auth/network.h"
#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

static const struct failure_rule pair_rule = {
    .burst = 5, .decay_ms = 6 * MINUTE_MS, .wait_ms = 2 * SECOND_MS, .wait_max_ms = 60 * SECOND_MS};
static const struct failure_rule account_rule = {.burst = 100, .decay_ms = 36 * SECOND_MS};
static const struct failure_rule network_rule = {
    .burst = 30, .decay_ms = MINUTE_MS, .wait_ms = SECOND_MS, .wait_max_ms = 5 * MINUTE_MS};
static const struct failure_rule device_rule = {.burst = 10, .decay_ms = MINUTE_MS};

enum { PAIR_ACCOUNT_MAX = 256 };

struct sign_in_limiter {
    struct failure_limiter *pairs, *accounts, *networks, *devices;
};

struct sign_in_limiter *sign_in_limiter_new(void)
{
    struct sign_in_limiter *l = xcalloc(1, sizeof *l);
    l->pairs = failure_limiter_new(&pair_rule);
    l->accounts = failure_limiter_new(&account_rule);
    l->networks = failure_limiter_new(&network_rule);
    l->devices = failure_limiter_new(&device_rule);
    return l;
}

void sign_in_limiter_free(struct sign_in_limiter *l)
{
    if (!l)
        return;
    failure_limiter_free(l->pairs);
    failure_limiter_free(l->accounts);
    failure_limiter_free(l->networks);
    failure_limiter_free(l->devices);
    free(l);
}

/* Names for the failure limiters that are not in struct sign_in_attempt: the network, and the network and
 * account as one text. */
struct attempt_names {
    char room[NETWORK_ROOM], text[NETWORK_ROOM + PAIR_ACCOUNT_MAX];
    struct str pair, network;
};

/* Sets the names of the attempt. Truncates the account to PAIR_ACCOUNT_MAX bytes. Logins are shorter; a
 * longer text is not a login, so it does not matter if such texts share a counter. */
static void name_attempt(const struct sign_in_attempt *a, struct attempt_names *n)
{
    const size_t len = a->account.len < PAIR_ACCOUNT_MAX ? a->account.len : PAIR_ACCOUNT_MAX;
    memset(n->text, 0, NETWORK_ROOM);
    n->network = network_of_address(a->address, n->room);
    memcpy(n->text, n->network.p, n->network.len < NETWORK_ROOM ? n->network.len : NETWORK_ROOM);
    memcpy(n->text + NETWORK_ROOM, a->account.p, len);
    n->pair = str_make(n->text, NETWORK_ROOM + len);
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t find_wait_ms(const struct sign_in_limiter *l, const struct sign_in_attempt *a,
                            const struct attempt_names *n, int64_t now_ms)
{
    const int64_t network_ms = failure_limiter_wait_ms(l->networks, n->network, now_ms);
    if (a->device.p)
        return max_i64(network_ms, failure_limiter_wait_ms(l->devices, a->device, now_ms));
    const int64_t pair_ms = failure_limiter_wait_ms(l->pairs, n->pair, now_ms);
    const int64_t account_ms = failure_limiter_wait_ms(l->accounts, a->account, now_ms);
    return max_i64(network_ms, max_i64(pair_ms, account_ms));
}

int64_t sign_in_limiter_begin(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms)
{
    struct attempt_names n;
    name_attempt(a, &n);
    const int64_t wait_ms = find_wait_ms(l, a, &n, now_ms);
    if (wait_ms)
        return wait_ms;
    failure_limiter_record(l->networks, n.network, now_ms);
    if (a->device.p) {
        failure_limiter_record(l->devices, a->device, now_ms);
        return 0;
    }
    failure_limiter_record(l->pairs, n.pair, now_ms);
    failure_limiter_record(l->accounts, a->account, now_ms);
    return 0;
}

void sign_in_limiter_record_success(struct sign_in_limiter *l, const struct sign_in_attempt *a,
                                    int64_t now_ms)
{
    struct attempt_names n;
    name_attempt(a, &n);
    failure_limiter_undo(l->networks, n.network, now_ms);
    if (a->device.p) {
        failure_limiter_clear(l->devices, a->device);
        return;
    }
    failure_limiter_clear(l->pairs, n.pair);
    failure_limiter_undo(l->accounts, a->account, now_ms);
}

void sign_in_limiter_undo(struct sign_in_limiter *l, const struct sign_in_attempt *a, int64_t now_ms)
{
    struct attempt_names n;
    name_attempt(a, &n);
    failure_limiter_undo(l->networks, n.network, now_ms);
    if (a->device.p) {
        failure_limiter_undo(l->devices, a->device, now_ms);
        return;
    }
    failure_limiter_undo(l->pairs, n.pair, now_ms);
    failure_limiter_undo(l->accounts, a->account, now_ms);
}
