/* What a platform is to us: the interface of the connectors, one file each. A connector is pure: `build`
 * writes a request's bytes, `parse` reads an answer's. It knows no socket, clock, log, database, and
 * allocates in the arena it is given, so all of it is tested from files and fuzzed.
 *
 * Facts and marks [V]erified, [P]roject, [K]not looked up are those of the platform notes: what is not [V] is
 * an option or found out at run time. Absent is not 0 and not an error: a count that was not measured is
 * COUNT_NONE.
 *
 * parse() may be given any bytes whatsoever and ends in a verdict. It never follows an address out of a body.
 */
#ifndef VT_PLATFORMS_PLATFORM_H
#define VT_PLATFORMS_PLATFORM_H

#include "base/arena.h"
#include "base/platforms.h"
#include "net/http_message.h"
#include "store/model.h"

#include <stdbool.h>
#include <stdint.h>

/* X(constant, descriptor): an API per row, in the order of the numbers, which are stored in the database
 * (platform_credentials.api, platform_limits.api): append only. Instagram has two APIs, one for each login.
 *
 * API_INSTAGRAM: Instagram Login, graph.instagram.com, one post per call, tokens can be refreshed.
 * API_INSTAGRAM_FACEBOOK: Facebook Login, graph.facebook.com, batches, tokens cannot be refreshed. */
#define PLATFORM_API_LIST(X)                                                                                 \
    X(API_TIKTOK, tiktok_desc)                                                                               \
    X(API_INSTAGRAM, instagram_desc)                                                                         \
    X(API_INSTAGRAM_FACEBOOK, instagram_facebook_desc)                                                       \
    X(API_YOUTUBE, youtube_desc)                                                                             \
    X(API_FACEBOOK, facebook_desc)                                                                           \
    X(API_PINTEREST, pinterest_desc)

#define PLATFORM_API_CONSTANT(constant, desc) constant,
enum platform_api { PLATFORM_API_LIST(PLATFORM_API_CONSTANT) };
#undef PLATFORM_API_CONSTANT

#define PLATFORM_API_ONE(constant, desc) +1
enum { PLATFORM_APIS = PLATFORM_API_LIST(PLATFORM_API_ONE) };
#undef PLATFORM_API_ONE

/* ---- what is asked, item by item ---- */

enum item_state {
    ITEM_PENDING, /* start value; still so after OUTCOME_OK: the platform left the id out, the engine makes it
                   * MISSING
                   */
    ITEM_OK,      /* at least one count measured */
    ITEM_NO_DATA, /* known to the platform, no numbers yet */
    ITEM_MISSING, /* perhaps gone: absent or 404 or 100.33; confirmed only by repetition */
    ITEM_PERMANENT, /* will never have numbers (before the business conversion, an image pin) */
    ITEM_RETRY,     /* this item only: null in a batch, inner 5xx */
};

enum { VIEWS_SOURCE_NONE = 0 }; /* others: the connector's own numbers, kept for each post, < 256 */

struct platform_item {
    struct str id;     /* the platform's own id of the post, or what it is resolved from */
    int64_t posted_at; /* ms */
    int views_source;  /* in: the definition of a view that this post is read by, NONE: not chosen yet.
                    out: that of counts[COUNT_VIEWS]. A connector never changes a chosen one */
    enum item_state state;
    int64_t counts[COUNT_KINDS]; /* out: COUNT_NONE: not measured */
    struct str resolved; /* out, of CALL_RESOLVE: the id that CALL_READ wants; p == NULL: not known yet */
};

/* ---- what one call is ---- */

enum call_kind {
    CALL_READ,
    CALL_RESOLVE, /* item ids are not the platform's ids of a video yet (TikTok's publish_id): ask for them */
};

/* The servers of a platform. */
enum platform_origin {
    ORIGIN_API,
    ORIGIN_TOKEN,   /* the token endpoint, if it is not on the API's server */
    ORIGIN_CONSENT, /* the consent page: only browsers go there */
};
enum { PLATFORM_ORIGINS = 3 };

/* What the operator configured for an API (platform_settings.h). */
struct platform_options {
    const char *origins[PLATFORM_ORIGINS]; /* "https://api.example.com" */
    const char *graph_version;             /* "v26.0" */
    int ids_per_call;                      /* 0: the descriptor's */
    bool batch;                            /* graph.instagram.com: whether it takes batches [K]: off */
    const char *more_scopes; /* Facebook: requested beside the descriptor's scopes; NULL or "": none */
    const char *config_id;   /* Facebook Login for Business: replaces the scopes; NULL or "": none */
    struct str api_key;      /* YouTube: reads public counts of any author's videos; empty: none */
    bool by_key;             /* calls may use api_key, so that one call reads videos of several authors */
};

struct platform_call {
    enum call_kind kind;
    const struct platform_options *options;
    struct str account_id;   /* the platform's id of the account; "" when mixed */
    struct str access_token; /* or, with by_key, the API key */
    bool by_key;             /* this call carries the key of the app in place of a token */
    int tier;                /* of the descriptor: which form of the request; 0 first */
    struct str dropped;      /* metrics that a tier leaves out, comma separated: found dead before
                              * (OUTCOME_OTHER_FORM), "" none
                              */
    bool with_account; /* ask for the account itself beside the posts, which tells a deleted post from a lost
                        * grant; only after an outcome that had `with_account` */
    bool is_personal;  /* linked_account.is_personal */
    bool combined;     /* request metrics of both kinds at once; see platform_desc.combines */
    int64_t now_ms;
    struct platform_item *items;
    size_t item_count;
};

/* ---- how a call ended: the engine switches on this and on nothing else ----
 *
 * Part of a call may be answered whatever the verdict (batches of the Graph API): items that are neither
 * PENDING nor RETRY are answered and stand; a repeat, by whatever verdict, asks only for the others.
 */

enum outcome_kind {
    OUTCOME_OK,             /* body understood; look at the items */
    OUTCOME_RETRY,          /* 429, 5xx, throttled (and, said by the engine, a transport error): back off */
    OUTCOME_QUOTA_SPENT,    /* nothing more until the quota begins anew (YouTube) */
    OUTCOME_TOKEN_REJECTED, /* refresh once, then repeat this call once */
    OUTCOME_RECONNECT,      /* the author must consent again; the account stops until then */
    OUTCOME_APP_REJECTED, /* our app is refused (its secret, its review, its grants): never the author's fault
                           */
    OUTCOME_OTHER_FORM,   /* a dead metric or a grant that is missing: build again with tier + 1, or with
                             `dropped` */
    OUTCOME_SPLIT,        /* refused because of one id: halve, down to one */
    OUTCOME_MALFORMED,    /* not the documented shape: like LATER, and a sample is kept */
    OUTCOME_BAD_REQUEST,  /* the platform says that our request is wrong */
};
enum { OUTCOME_KINDS = 10 };

const char *outcome_kind_name(enum outcome_kind v); /* "ok", "later" …: metrics, logs, tables. Static */

/* Whether the app may request metrics of both kinds at once. Stored in the database: never renumber. */
enum combined { COMBINED_UNKNOWN, COMBINED_WORKS, COMBINED_FAILS };

enum outcome_scope { SCOPE_CALL, SCOPE_ACCOUNT, SCOPE_APP }; /* whom a LATER or QUOTA pauses */

struct outcome {
    enum outcome_kind kind;
    enum outcome_scope scope;
    int64_t wait_ms;   /* 0: none given */
    int usage_percent; /* the highest of the rate headers; 0: unknown */
    struct str code;   /* short and stable, in the arena or static, such as "190.460"; never a message */
    struct str
        dropped; /* of OUTCOME_OTHER_FORM: the metric that is dead, when the answer names it; in the arena */
    bool with_account; /* of OUTCOME_OTHER_FORM: the posts are gone or the grant is, and the answer does not
                        * tell which: repeat the call in the same form with platform_call.with_account */
    bool too_large; /* of OUTCOME_SPLIT: the answer would have been too large, which blames no single post */
    bool no_insights; /* of OUTCOME_OK: the posts answered, their insights were refused or empty throughout,
                       * so the grant probably lacks the permission for insights */
    enum combined combined;  /* of a call with platform_call.combined: what its response shows */
    struct str unknown_code; /* an error code that no table of ours has; p == NULL: none */
    bool these_posts_only; /* of OUTCOME_OTHER_FORM: it is these posts that want another form (a classic video
                            * among Reels), so it is not remembered for the account; false: the form is dead
                            * for the account */
};

/* ---- tokens ---- */

/* The operator's app at the platform. */
struct platform_app {
    struct str client_id, client_secret;
};

struct token_grant {
    struct str access_token;
    struct str refresh_token; /* p == NULL or empty: none was given, keep the old one */
    struct str scopes;        /* as given; p == NULL: not said */
    struct str account_id; /* p == NULL: not said. A refresh for another account is refused by the caller */
    int64_t expires_in_s;  /* 0: not said; -1: never */
    int64_t refresh_expires_in_s; /* 0: not said */
};

/* An account as linking finds it. */
struct linked_account {
    enum platform_api api;
    struct str id, name;      /* the name for people; p == NULL: none */
    struct token_grant grant; /* Facebook: the page's own token */
    bool is_personal;         /* Pinterest: not a business account, so it has no analytics */
};
enum { LINK_ACCOUNTS_MAX = 100, LINK_STEPS_MAX = 12 };

/* What the address of the platform's consent page is built from. */
struct platform_authorize {
    const struct platform_options *options;
    struct platform_app app;
    struct str redirect_uri, state;
    struct str challenge; /* PKCE, S256; ignored unless uses_pkce */
    bool again; /* show the consent page to an author who has consented before, so that they can select
                 * another account or grant what they declined */
};

/* A permission that linking requests and an author may decline on the consent page. */
struct platform_permission {
    const char *scope;   /* the platform's name of it; NULL ends a table */
    const char *words;   /* what it allows, for authors: completes "You did not allow this service to …" */
    const char *without; /* what is missing without it, a sentence for authors */
};

/* One linking, from the code that the browser brought to the accounts behind it: link_build() and
 * link_parse() by turns, one call each, until link_build() says that there is nothing more to ask. Texts are
 * in the arena.
 */
struct platform_link {
    const struct platform_options *options;
    struct platform_app app;
    struct str redirect_uri, code, verifier; /* verifier: PKCE, where uses_pkce */
    int step;                                /* 0 at first; the connector's own */
    struct str cursor;                       /* between its steps; the connector's own */
    struct token_grant grant;
    struct linked_account accounts[LINK_ACCOUNTS_MAX];
    size_t account_count; /* 0 at the end: signed in, but there is nothing to link */
};

/* ---- a descriptor ---- */

enum { PLATFORM_TIERS = 4 };

struct platform_rate {
    int per_minute; /* 0: no limit of its own */
    int burst;
};

struct platform_desc {
    enum platform_api api;
    enum platform platform;
    enum platform section; /* whose app and configuration it uses: instagram-facebook uses [facebook] */
    const char *name;   /* "tiktok", "instagram", "instagram-facebook", "youtube" …: commands and metrics */
    const char *title;  /* for people: "TikTok", "Instagram (Facebook login)" */
    const char *scopes; /* that linking requests */
    const struct platform_permission *permissions; /* that an author can decline and still link; NULL: none */
    /* For authors: why a personal account has no counts, and what to do; NULL: there are no such accounts. */
    const char *personal_note;
    bool uses_pkce;
    bool links; /* linking starts here; false: it comes with another (instagram-facebook with facebook) */

    int tiers;                        /* how many forms a request has, 1 … PLATFORM_TIERS */
    int ids_per_call[PLATFORM_TIERS]; /* by tier, of CALL_READ */
    int ids_per_resolve;              /* 0: nothing to resolve */
    bool measurable[COUNT_KINDS];     /* counts that this API can ever give: the capability table */
    struct platform_rate app_rate, account_rate;
    /* Metrics of a period and of a lifetime may be requested at once by some apps only (Pinterest). Without
     * platform_call.combined a call requests one kind, which depends on the hour. */
    bool combines;
    bool quota_by_tier; /* each form has a daily quota of its own, and takes over from one that is spent */
    int64_t refresh_before_s;  /* a token with less life than this is refreshed before use; -1: cannot be
                                  refreshed */
    int64_t refresh_min_age_s; /* not before it is so old (Instagram: a day) */

    /* Whether a post's id can be read as it is; NULL: always. False: CALL_RESOLVE first. */
    bool (*is_readable)(struct str post_id);

    void (*build)(struct arena *a, const struct platform_call *call, struct http_request *out);
    struct outcome (*parse)(struct arena *a, struct platform_call *call,
                            const struct http_response *response);

    /* NULL where refresh_before_s is -1. `have` is the grant in force. */
    void (*build_refresh)(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out);
    struct outcome (*parse_refresh)(struct arena *a, const struct http_response *response,
                                    struct token_grant *got);

    /* Path and query of the consent page at ORIGIN_CONSENT. */
    struct str (*authorize_path)(struct arena *a, const struct platform_authorize *authorize);
    bool (*link_build)(struct arena *a, const struct platform_link *link, struct http_request *out);
    struct outcome (*link_parse)(struct arena *a, struct platform_link *link,
                                 const struct http_response *response);
};

/* The six, by api. */
const struct platform_desc *platform_desc(enum platform_api api);

/* By the name that commands take; NULL: there is none. */
const struct platform_desc *platform_desc_by_name(struct str name);

/* Whether a grant with these scopes lacks the permission; false if the scopes are unknown (empty). */
bool platform_permission_is_missing(const struct platform_permission *permission, struct str scopes);

/* Letters, digits, `_`, `-`, `.`, `~`: can be an id of a post or account at a platform and stands in any
 * address as it is. A post whose id is not so is never asked for: it counts as ITEM_PERMANENT. */
enum { PLATFORM_ID_MAX = 128 };
bool platform_id_is_plain(struct str id);

#define PLATFORM_API_DECLARATION(constant, desc) extern const struct platform_desc desc;
PLATFORM_API_LIST(PLATFORM_API_DECLARATION)
#undef PLATFORM_API_DECLARATION

#endif
