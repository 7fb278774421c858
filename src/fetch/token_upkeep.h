/* Refreshes tokens in time, even those of accounts through which no post is read, so that no account lapses.
 * Checks all accounts once per run, concurrently with the calls. */
#ifndef VT_FETCH_TOKEN_UPKEEP_H
#define VT_FETCH_TOKEN_UPKEEP_H

#include "fetch/rejections.h"
#include "fetch/token_refresh.h"

struct due_token {
    int64_t row, version;
    enum platform_api api;
};

/* The caller sets the members up to `ctx`. */
struct token_upkeep {
    struct run *run;
    struct api_queue *apis; /* by enum platform_api */
    struct rejections *rejections;
    struct token_refresher *refresher;
    void (*progressed)(void *ctx); /* called when a refresh has ended; must call token_upkeep_continue(),
                                      unless the run is ending */
    void *ctx;

    int64_t last_row;          /* row of the account that was checked last */
    bool all_read;             /* no more accounts to read from the database */
    size_t read;               /* number of accounts that the last query returned */
    VEC(struct due_token) due; /* tokens to refresh */
    size_t next;               /* index in `due` */
    int in_flight;             /* number of refreshes in flight */
    enum err err;              /* set after TOKEN_STORE_FAILED; run_fail() has been called */
};

/* Starts refreshes, a few at a time. Returns an error if reading the accounts failed or u->err is set. */
MUST_USE enum err token_upkeep_continue(struct token_upkeep *u);
/* Returns true if all accounts are checked and no refresh is in flight. */
bool token_upkeep_is_done(const struct token_upkeep *u);
void token_upkeep_fini(struct token_upkeep *u);

#endif
