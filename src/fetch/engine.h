/* What the source `platforms` is while it runs: for the files of src/fetch only.
 *
 *   lane.c    one for each platform: walks over the authors and keeps a window of their posts loaded
 *   plan.c    what of an author is to be asked for, and by which accounts
 *   ask.c     posts on their way through accounts, repeats and parts, until they are settled
 *   gate.c    one for each API: whether a call may begin now, and what of that outlives the run
 *   flight.c  one call: token, request, answer
 *   keeper.c  tokens that would die unused
 *   verdict.c what an answer means for its posts, its account and its API
 *   visit.c   an author's results, until they are applied as one step; and what else is written
 *   poll.c    the loop, its timers, begin and end
 *
 * A post is an `ask` from the moment its lane loads it until it is settled. The posts of one author at one
 * platform are a `part`, with the accounts that can be asked for them; the parts of one author are a `visit`.
 * An ask waits in the queue of an account, or in a batch that is to be repeated; a flight takes a batch out.
 *
 * Memory: a lane loads no more while its window is full, so a platform that is slow keeps its own window full
 * and nobody else's. Results wait in visits for the other platforms, but for a bounded time and in a bounded
 * number; then they become a step of their own. */
#ifndef VT_FETCH_ENGINE_H
#define VT_FETCH_ENGINE_H

#include "base/list.h"
#include "vault/token_vault.h"
#include "net/http_client.h"
#include "fetch/breaker.h"
#include "fetch/read_interval.h"
#include "fetch/pace.h"
#include "fetch/quota.h"
#include "refresh/run.h"
#include "store/platform_posts.h"
#include "store/runs.h"

#include <uv.h>

enum {
    WINDOW_ASKS = 4096, /* of a lane, */
    WINDOW_PARTS = 256, /* and authors in it */
    FLIGHTS_MAX = 256,  /* calls at once, over all APIs */
    ACCOUNTS_MAX = 16,  /* of one author at one platform; more are not asked */
    CODE_MAX = 64,      /* of an outcome */
    CALL_IDS_MAX = 200, /* of one call */
};

struct engine;
struct part;
struct visit;
struct gate;

/* ---- a post on its way ---- */

struct ask {
    struct list link; /* of an account's queue, a batch, or the engine's own while it is moved */
    struct part *part;
    int64_t video_row, video_posted_at;
    int64_t posted_at, read_at;
    struct platform_post known; /* texts are in the part's arena */
    bool by_owner;              /* YouTube: the key did not find it, an account is asked */
    int accounts_tried;
    int64_t counts[COUNT_KINDS];
};

/* Asks that go in one call, when it is not the first time. */
struct batch {
    struct list link; /* of its account */
    struct list asks;
    size_t count;
    enum call_kind kind;
    int tries;          /* that failed */
    int64_t not_before; /* monotonic */
    int tier;           /* -1: the account's */
    bool with_account;  /* platform_call.with_account of its next call */
    bool uncombined;    /* the same request for metrics of both kinds was refused */
    char dropped[CODE_MAX * 2];
};

/* An account while a part needs it. Of a platform with an API key, one stands for the key itself. */
struct account {
    struct list link; /* in gate->ready while it has something to ask and no call */
    struct gate *gate;
    struct part *part; /* NULL: the key's */
    int64_t row;       /* 0: the key's */
    int64_t version;   /* of the tokens that were used last */
    struct str account_id;
    struct list queue[2]; /* asks, by enum call_kind */
    struct list batches;
    bool busy;                   /* one call at a time; the key's is never busy */
    bool dropped;                /* not asked any more in this run */
    bool asked;                  /* it got an answer */
    bool noted_ok, noted_failed; /* will be written down; a failure outdoes whatever else went well */
    bool is_personal;            /* platform_call.is_personal */
    int seen, missing; /* posts that the platform knew, and left out, of the author's only account */
    int tier;
    char dropped_metrics[CODE_MAX * 2];
    int64_t not_before; /* monotonic */
    struct bucket bucket;
};

/* One author at one platform. */
struct part {
    struct list link; /* of its lane */
    struct visit *visit;
    enum platform platform;
    struct arena arena; /* the asks, the accounts, their texts */
    struct account *accounts;
    size_t account_count;
    size_t open;    /* asks not settled */
    int64_t flying; /* calls that point here */
};

/* ---- a platform's walk over the authors ---- */

/* Where a walk is: authors by row from the run's first one on and round to it, pass by pass. */
struct position {
    int pass;
    bool wrapped;
    int64_t author_row;
};

struct lane {
    enum platform platform;
    bool active; /* there is an API of it to ask */
    bool ended;
    bool filling;       /* there is more to load at once */
    int passes;         /* 2 while the ladder is in force: what is fresh of everybody first */
    bool ladder;        /* in force */
    struct position at; /* the author that was loaded last */
    struct list parts;  /* the window */
    size_t part_count, ask_count;
    int64_t planned, loaded; /* posts of this run */
};

/* ---- an API ---- */

enum { GATE_QUOTAS = 2, GATE_CODES = 16 };

/* An error code that is in no table, and until when it is not logged again; 0: free. */
struct unknown_code {
    char code[CODE_MAX];
    int64_t until;
};

struct gate {
    enum platform_api api;
    const struct platform_desc *desc;
    struct platform_options options;
    struct platform_app app;
    bool active; /* configured */
    struct pace pace;
    struct breaker breaker;
    struct quota quotas[GATE_QUOTAS]; /* by form where desc->quota_by_tier, else the first for all */
    struct list ready;                /* accounts, the next one first */
    struct account *key;              /* YouTube's API key; NULL: none */
    bool closed;                      /* nothing more is asked in this run */
    int tier_least;                   /* forms below it are not used: not granted, or refused */
    int64_t share; /* of the quota of the form in use, for this run; begun calls count against it */
    int64_t begun;
    int bugs; /* accounts in a row for which our request was said to be wrong */
    int64_t bug_row;
    bool changed; /* what outlives the run, since it was written last */
    int64_t accounts_asked, accounts_refused;
    int64_t planned; /* calls */
    bool behind;     /* an earlier run did not come to its end for lack of time */
    int64_t tier_until;
    enum combined combined; /* of desc->combines; one call at a time while it is unknown */
    int64_t combined_until; /* TIME_NONE: not remembered */
    int combined_checks;    /* that showed nothing */
    struct unknown_code unknown_codes[GATE_CODES];
    int account_per_minute;
    int64_t answered_at; /* wall, of the last good answer of this run; 0: none yet */
};

/* ---- results ---- */

struct visit {
    struct position at;
    int parts_open;
    int64_t answered_at; /* wall, of the last answer; TIME_NONE: none yet */
    int64_t answered_mono;
    struct reading *readings;
    int64_t *video_posted_at;
    size_t count, cap;
};

/* What is written beside the steps: what was found out about posts and accounts. */
enum note_kind { NOTE_OK, NOTE_FAILED, NOTE_SIGN_IN, NOTE_TIER };
struct note {
    enum note_kind kind;
    int64_t row, version, at;
    int tier;
    char text[CODE_MAX * 2]; /* the error, or the dropped metrics */
};

/* Accounts whose authors are to sign in again, until it is known that it is not all of them. */
struct suspect {
    struct note note;
    enum platform_api api;
};
enum { SUSPECTS_MAX = 1024 };

/* ---- the keeper's way over all accounts ---- */

struct kept {
    int64_t row, version;
    enum platform_api api;
};
struct keeper {
    int64_t after; /* the row that was looked at last */
    bool all_seen;
    size_t seen; /* by the last reading */
    struct kept due[200];
    size_t due_count, due_next;
    int in_flight;
};

/* ---- the run ---- */

struct flight;

struct engine {
    struct run *run;
    const struct config *config;
    struct store *store;
    uv_loop_t loop;
    uv_timer_t tick;
    struct http_client *client;
    struct seal_keys *keys;
    struct token_sender sender;
    struct token_refresher *refresher;
    bool fetch_closed;

    enum err err;  /* why it stops early; OK: it does not */
    bool stopping; /* no new calls */
    bool pumping;
    int64_t deadline;                          /* monotonic */
    int64_t turned_at, applied_at, flushed_at; /* monotonic */
    int64_t first_author;
    int64_t stopped_at_author; /* the lane that is furthest behind at the deadline; 0: none */
    uint64_t random;

    struct lane lanes[PLATFORM_COUNT];
    struct gate gates[PLATFORM_APIS];
    struct account key_account;
    struct keeper keeper;
    struct list flights, spare_flights;
    size_t flight_count;

    struct visit **visits;               /* by position */
    size_t visit_count, visit_cap, held; /* readings in them */
    size_t gathered;                     /* readings that run.h has and that are not flushed */

    struct platform_post *posts; /* to be written */
    size_t post_count, post_cap;
    struct arena post_texts;
    struct note *notes;
    size_t note_count, note_cap;
    struct suspect *suspects;
    size_t suspect_count;
    bool suspended[PLATFORM_APIS]; /* the marking of accounts */
};

/* Copies, cut at the room, NUL-terminated; false: it was cut. */
bool str_put(char *to, size_t size, struct str s);

/* The first error stops the run: no new calls, those in flight are cancelled. */
void engine_stop(struct engine *e, enum err err);
uint64_t engine_random(struct engine *e);

/* Begins whatever may begin, ends what has nothing more to wait for. From the loop, after anything that could
 * have changed what may happen; not from inside itself. */
void engine_pump(struct engine *e);

/* ---- ask.c ---- */

void account_init(struct account *a, struct gate *g, struct part *part);
/* Puts the ask into the account's queue. */
void ask_queue(struct account *account, struct ask *ask);
/* Puts an account back among the ready ones of its gate when it has something to ask, out when not. */
void account_settle_place(struct account *account);
/* Whether something of it could be sent at `now`; `*at` (monotonic) is when, otherwise. */
bool account_is_ready(const struct account *account, int64_t now, int64_t *at);
/* The next batch to send, taken out of the account; NULL: nothing is ready. */
struct batch *account_next_batch(struct account *account, int64_t now);
/* Gives the batch back: to be sent again from `not_before` on. */
void account_repeat(struct account *account, struct batch *batch, int64_t not_before);
struct batch *batch_new(enum call_kind kind);
void batch_free(struct batch *batch);
void batch_add(struct batch *batch, struct ask *ask);
/* What is behind its first `keep` asks as another batch. */
struct batch *batch_cut(struct batch *batch, size_t keep);

/* How an ask ended. */
enum settled { SETTLED_READ, SETTLED_NO_DATA, SETTLED_MISSING, SETTLED_PERMANENT, SETTLED_UNANSWERED };
/* Out of every queue; its part ends with its last one. */
void ask_settle(struct engine *e, struct ask *ask, enum settled how);
/* All that the account, or the batch, still holds. */
void account_give_up(struct engine *e, struct account *account);
void batch_give_up(struct engine *e, struct batch *batch);
/* The part as memory; only when nothing of it is open and no call points there. */
void part_free(struct engine *e, struct part *part);

/* ---- plan.c ---- */

/* A live post as the plan sees it. */
struct plan_post {
    int64_t video_row, video_posted_at, posted_at, read_at;
    enum platform platform;
    struct str post_id;
};

/* An author's live posts, newest first, and accounts; texts are in the arena. */
struct plan {
    struct arena arena;
    struct plan_post *posts;
    size_t post_count, post_cap;
    struct credential *accounts; /* those that are fine */
    size_t account_count, account_cap;
};
void plan_init(struct plan *p);
void plan_fini(struct plan *p);
MUST_USE enum err plan_read(struct plan *p, struct engine *e, int64_t author_row, int64_t now);

/* Counts what all lanes would ask, and decides on ladder, passes and spreading. */
MUST_USE enum err plan_survey(struct engine *e);

/* The author's part for this lane and pass; NULL: nothing to ask. */
MUST_USE enum err plan_part(struct engine *e, struct plan *p, const struct lane *lane, int64_t author_row,
                            struct part **out);

/* ---- lane.c ---- */

/* Loads authors while the window has room. */
MUST_USE enum err lane_fill(struct engine *e, struct lane *lane);
bool lane_is_done(const struct lane *lane);
/* With which author this run begins: where the last one that did not come to its end stopped. */
MUST_USE enum err walk_restore(struct engine *e);
/* Which lanes did not come to their end, and where the one furthest behind is. */
void note_truncated(struct engine *e);
MUST_USE enum err walk_save(struct engine *e);
/* <0, 0, >0 in the order of the walk. */
int position_cmp(const struct position *a, const struct position *b);

/* ---- gate.c ---- */

void gate_init(struct engine *e, struct gate *g, enum platform_api api);
MUST_USE enum err gate_restore(struct engine *e, struct gate *g);
/* When the next call may begin, monotonic; PACE_NEVER: not before one has ended. */
int64_t gate_ready_at(const struct gate *g, int64_t now);
/* The form to send: `tier`, unless it is not granted or its daily quota is spent and another has one left. */
int gate_tier(const struct gate *g, int tier);
/* `tier`: of the call, from gate_tier(). */
void gate_begin(struct gate *g, int tier, int64_t now);
/* The platform says that the daily quota of the form is spent. False: no other form has one left. */
MUST_USE bool gate_spend_quota(struct gate *g, int tier);
/* `good`: the platform answered like itself; no answer at all because we ended it: gate_forget(). */
void gate_end(struct gate *g, bool good);
void gate_forget(struct gate *g);
/* Not until then (ms from now); for longer than the run: not at all. */
void gate_pause(struct gate *g, int64_t wait_ms);
/* Nothing more of it in this run: all that waits for it is given up. */
void gate_close(struct engine *e, struct gate *g);
/* Remembers for the app: forms below `tier` are not to be used for a day. */
void gate_raise_tier(struct gate *g, int tier, bool remember);
/* Remembers for a day whether metrics of both kinds may be requested at once. COMBINED_UNKNOWN: the call
 * showed nothing; after three of these one kind is requested for the rest of the run. */
void gate_learn_combined(struct gate *g, enum combined shown);
/* An error code that is in no table. True: log it; it was not logged within a day. */
MUST_USE bool gate_learn_code(struct gate *g, struct str code);
/* In an open transaction. */
MUST_USE enum err gate_save(struct engine *e, struct gate *g);
int gate_ids_per_call(const struct gate *g, enum call_kind kind, int tier);

/* ---- flight.c ---- */

struct flight {
    struct list link;
    struct engine *engine;
    struct account *account;
    struct batch *batch;
    struct arena arena;
    struct platform_call call;
    int tier; /* that the gate counted the call for */
    struct tokens tokens;
    struct http_call *fetching;    /* NULL: not (yet) on its way */
    bool begun;                    /* counted by the gate */
    bool lives;                    /* the token that is there, even if it is due for a refresh */
    bool refresh_tried, refreshed; /* for this call */
    bool cancelled;
};

/* Takes the account's next batch and sends it. */
void flight_begin(struct engine *e, struct account *account, struct batch *batch);
/* Ends all that are in flight; their asks are given up. */
void flight_cancel_all(struct engine *e);
/* Once more with a fresh token; of verdict.c. */
void flight_refresh(struct flight *f);
/* Done with: the account is free again. */
void flight_end(struct flight *f);
void flight_free_all(struct engine *e);

/* ---- verdict.c ---- */

/* The answer (or, with `outcome` made by us, the lack of one) is there. Ends the flight or sends it again. */
void verdict_apply(struct flight *f, struct outcome outcome);
/* The account's author is to sign in again. */
void verdict_sign_in(struct engine *e, struct account *account, const char *code);
void verdict_suspect(struct engine *e, struct gate *g, int64_t row, int64_t version, const char *code);
/* To be written down, once for each account and run. */
void verdict_note_failed(struct engine *e, struct account *account, const char *what, struct str code);
/* Our app is refused. */
void verdict_operator(struct engine *e, struct gate *g, const char *code);
/* It could not be asked, for a while. Ends the flight. */
void verdict_later(struct flight *f, struct outcome outcome);
/* At the end: marks the accounts, unless it is most of them. */
void verdict_mark(struct engine *e);

/* ---- keeper.c ---- */

/* Refreshes some more of the tokens that would die unused. */
MUST_USE enum err keeper_go_on(struct engine *e);
bool keeper_is_done(const struct engine *e);

/* ---- visit.c ---- */

struct visit *visit_at(struct engine *e, const struct position *at);
void visit_add(struct engine *e, struct visit *v, const struct ask *ask, enum platform platform);
/* Applies the visits that are complete, waited long enough, or are too many; `all`: all of them. */
MUST_USE enum err visit_apply(struct engine *e, bool all);
/* What was found out: written by note_flush(). */
void note_post(struct engine *e, const struct platform_post *post);
void note_account(struct engine *e, const struct note *note);
MUST_USE enum err note_flush(struct engine *e);
void visit_free_all(struct engine *e);

#endif
