/* Refreshes tokens that would otherwise expire unused, also of accounts that no post is read through. Goes
 * over all accounts once per run, beside the calls. */
#ifndef VT_FETCH_TOKEN_UPKEEP_H
#define VT_FETCH_TOKEN_UPKEEP_H

#include "fetch/rejections.h"
#include "fetch/token_refresh.h"

struct due_token {
    int64_t row, version;
    enum platform_api api;
};

/* The caller sets the first part. */
struct token_upkeep {
    struct run *run;
    struct api_queue *apis; /* by enum platform_api */
    struct rejections *rejections;
    struct token_refresher *refresher;
    void (*progressed)(void *ctx); /* a refresh has ended: call token_upkeep_continue() */
    void *ctx;

    int64_t last_row; /* the account that was looked at last */
    bool all_read;
    size_t read; /* by the last query */
    VEC(struct due_token) due;
    size_t next; /* index in `due` */
    int in_flight;
    enum err err; /* a refreshed token could not be stored; run_fail() has been called */
};

/* Starts refreshes, a few at a time. Returns upkeep->err if set. */
MUST_USE enum err token_upkeep_continue(struct token_upkeep *u);
bool token_upkeep_is_done(const struct token_upkeep *u);
void token_upkeep_fini(struct token_upkeep *u);

#endif
