/* The interface of the connectors. A connector is pure: build() writes a request, parse() reads a response. A
 * connector does no I/O, and everything that it returns is static or in the arena that it is passed. It can
 * therefore be tested with recorded responses, and fuzzed.
 *
 * parse() accepts any bytes and always returns an outcome. parse() never follows an address in a body. A
 * count that a response lacks is COUNT_NONE, which is neither 0 nor an error.
 *
 * Marks in the connectors' comments: [V] verified in the platform's documentation, [live] seen in live
 * responses, [P] reported by other projects, [K] unverified. */
#ifndef VT_PLATFORMS_PLATFORM_H
#define VT_PLATFORMS_PLATFORM_H

#include "base/arena.h"
#include "base/platforms.h"
#include "net/http_message.h"
#include "store/model.h"

#include <stdbool.h>
#include <stdint.h>

/* X(constant, descriptor): one row per API. The numbers are stored in the database (platform_credentials.api,
 * platform_limits.api, platform_links.api), so add new rows only at the end. Instagram has two APIs, one for
 * each login:
 *
 *   API_INSTAGRAM           Instagram Login, graph.instagram.com, one post per call unless
 *                           [instagram] batch is on, tokens can be refreshed
 *   API_INSTAGRAM_FACEBOOK  Facebook Login, graph.facebook.com, batches,
 *                           tokens cannot be refreshed */
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

/* ---- items: the posts of one call ---- */

enum item_state {
    ITEM_PENDING, /* the response has no result for the item, or is not parsed yet; the caller treats this as
                     ITEM_MISSING if the outcome is OUTCOME_OK */
    ITEM_OK,      /* has at least one count; in a CALL_RESOLVE: the id was looked up */
    ITEM_NO_DATA, /* the post exists, but has no counts yet */
    ITEM_MISSING, /* probably deleted; after several such responses, the caller reads the post less often */
    ITEM_PERMANENT, /* the post will never have counts, for example an Instagram post from before the account
                       became a business account */
    ITEM_RETRY,     /* this item failed temporarily; repeat it */
    ITEM_DENIED,    /* the account lacks the permission to read the post; does not count as missing */
};

/* Platforms define a view in several ways. The views source of a post identifies the definition that its
 * views follow. The values from 1 to 255 are defined by the connector and stored with the post. */
enum { VIEWS_SOURCE_NONE = 0 };

struct platform_item {
    struct str id;     /* the platform's id of the post; in a CALL_RESOLVE the id to resolve */
    int64_t posted_at; /* ms */
    /* In: the stored views source, or VIEWS_SOURCE_NONE if none has been chosen yet. Out: the views source of
     * counts[COUNT_VIEWS]. A connector never changes a source that has been chosen. */
    int views_source;
    enum item_state state;       /* out */
    int64_t counts[COUNT_KINDS]; /* out */
    /* Out, in a CALL_RESOLVE: the id for CALL_READ; p == NULL: not known yet. If the state is ITEM_NO_DATA,
     * the id could not be looked up, because a permission is missing or the post was deleted. Then `resolved`
     * is valid only for this account in this run; another account or a later run must resolve the id again.
     */
    struct str resolved;
};

/* ---- a call ---- */

enum call_kind {
    CALL_READ,
    CALL_RESOLVE, /* a call that looks up the platform's ids of posts that have another id (TikTok's
                     publish_id, Facebook's {page}_{post}) */
};

/* The servers of a platform. */
enum platform_origin {
    ORIGIN_API,
    ORIGIN_TOKEN,   /* the token endpoint, if it is on another server than the API */
    ORIGIN_CONSENT, /* the consent page, which only browsers open */
};
enum { PLATFORM_ORIGINS = 3 };

/* What the operator configured for an API (platform_settings.h). */
struct platform_options {
    const char *origins[PLATFORM_ORIGINS]; /* "https://api.example.com" */
    const char *graph_version;             /* "v26.0" */
    int ids_per_call;                      /* 0: as in the descriptor */
    bool batch;                            /* send batches to graph.instagram.com [K] */
    const char *more_scopes; /* Facebook: scopes to request in addition to desc.scopes; NULL or "": none */
    const char *config_id; /* configuration of Facebook Login for Business, which replaces the scopes; NULL or
                              "": none */
    struct str api_key;    /* YouTube's API key, which reads public counts of any author; empty: none */
    bool by_key;           /* calls may use api_key; such a call can read videos of several authors */
};

struct platform_call {
    enum call_kind kind;
    const struct platform_options *options;
    struct str account_id; /* the platform's id of the account; "" if the items belong to several accounts */
    struct str access_token; /* the access token, or the API key if by_key */
    bool by_key;             /* this call uses the API key instead of a token */
    int tier;                /* the request form, from 0 to desc.tiers - 1; form 0 is tried first */
    struct str dropped; /* metrics to omit, comma-separated, because the platform rejected them in earlier
                           calls; "": none */
    bool with_account;  /* also request the account itself, to distinguish a deleted post from a lost
                           permission; set only to repeat a call whose outcome had with_account set */
    bool is_personal;   /* see linked_account.is_personal */
    bool combined;      /* request both kinds of metrics; see platform_desc.combines */
    int64_t now_ms;
    struct platform_item *items;
    size_t item_count;
};

/* ---- outcomes of calls ----
 *
 * In a batch, some items may have a result even if the outcome is an error. A repeated call contains only the
 * items that are ITEM_PENDING, ITEM_RETRY or ITEM_DENIED; all other items keep their result. */

enum outcome_kind {
    OUTCOME_OK,             /* the response was understood; see the items */
    OUTCOME_RETRY,          /* status 408, 429 or 5xx, or throttled: back off; also used for most transport
                               errors */
    OUTCOME_QUOTA_SPENT,    /* the daily quota is spent: no more calls until it resets (YouTube) */
    OUTCOME_TOKEN_REJECTED, /* the access token was rejected: refresh it, then repeat this call once */
    OUTCOME_RECONNECT,      /* the author must consent again; runs stop using the account */
    OUTCOME_APP_REJECTED,   /* the operator's app was rejected (wrong secret, no review); the author is not at
                               fault */
    OUTCOME_OTHER_FORM, /* a metric or permission is not available: build the request again with tier + 1 or
                           with `dropped` */
    OUTCOME_SPLIT,      /* one id makes the call fail, or the response would be too large: repeat with half of
                           the posts, down to a single id */
    OUTCOME_MALFORMED,  /* the response does not have the documented shape; handled like OUTCOME_RETRY */
    OUTCOME_BAD_REQUEST, /* the platform reports an error in our request */
};
enum { OUTCOME_KINDS = 10 };

/* Returns a name such as "ok" or "retry" as a static string, for metrics, logs and tables. */
const char *outcome_kind_name(enum outcome_kind kind);

/* Whether the app may request both kinds of metrics in one call (platform_desc.combines). The numbers are
 * stored in the database: never renumber. */
enum combined { COMBINED_UNKNOWN, COMBINED_WORKS, COMBINED_FAILS };

/* What an OUTCOME_RETRY, an OUTCOME_QUOTA_SPENT or a high usage_percent pauses. For an OUTCOME_OTHER_FORM,
 * whether the whole app needs the other form (SCOPE_APP). */
enum outcome_scope { SCOPE_CALL, SCOPE_ACCOUNT, SCOPE_APP };

/* Texts are static or in the arena. */
struct outcome {
    enum outcome_kind kind;
    enum outcome_scope scope;
    int64_t wait_ms; /* wait before the next call: as the platform requests, otherwise as the table of errors
                        says; 0: none */
    int usage_percent; /* the highest value of the rate headers; 0: unknown */
    struct str code;   /* short and stable error code, such as "190.460"; never a message */
    /* If OUTCOME_OTHER_FORM: */
    struct str dropped;    /* the rejected metric if the response names it; otherwise p == NULL */
    bool these_posts_only; /* only these posts need another form (such as a classic video among Reels), so the
                              form must not be stored for the account */
    bool with_account; /* a post was deleted or a permission was lost, and the response does not show which:
                          repeat in the same form with platform_call.with_account */
    /* If OUTCOME_SPLIT: */
    bool too_large;   /* the response would have been too large, so no single post is at fault */
    bool no_insights; /* if OUTCOME_OK: no insights of any post could be read; the grant probably lacks the
                         permission for insights */
    enum combined combined;  /* what the response to a call with platform_call.combined shows; COMBINED_FAILS
                                with OUTCOME_OTHER_FORM: repeat with one kind of metrics */
    struct str unknown_code; /* an error code that no table contains, whatever `kind` is; p == NULL: none */
};

/* ---- tokens ---- */

/* The operator's app at the platform. */
struct platform_app {
    struct str client_id, client_secret;
};

struct token_grant {
    struct str access_token;
    struct str refresh_token; /* new refresh token; empty: none, so the current one stays valid */
    struct str scopes;        /* scopes as the platform returned them; p == NULL: unknown */
    struct str account_id;    /* account of the tokens; p == NULL: unknown; the caller rejects a refresh that
                                 returns another account */
    int64_t expires_in_s;     /* 0: unknown; -1: never */
    int64_t refresh_expires_in_s; /* 0: unknown */
};

/* An account that linking found. */
struct linked_account {
    enum platform_api api;
    struct str id, name;      /* the platform's id; the name for display, p == NULL: none */
    struct token_grant grant; /* tokens of the account; for a Facebook page and its Instagram account, the
                                 page's token */
    bool is_personal;         /* the account is not a business account, so it has no analytics (Pinterest) */
};
enum { LINK_ACCOUNTS_MAX = 100 };

/* Parameters of the platform's consent page. */
struct platform_authorize {
    const struct platform_options *options;
    struct platform_app app;
    struct str redirect_uri, state;
    struct str challenge; /* PKCE challenge (S256); ignored unless uses_pkce */
    /* Show the consent page even to authors who have consented before, so that they can select another
     * account or grant a permission that they declined. TikTok and YouTube always show the page; YouTube lets
     * the author select an account only if `again` is set. Pinterest ignores `again`. */
    bool again;
};

/* A permission that linking requests and that an author may decline. */
struct platform_permission {
    const char *scope; /* the platform's name of the permission; NULL ends a table */
    const char *words; /* part of a sentence for authors: completes "You did not allow this service to …" */
    const char *without; /* sentence for authors: describes what is missing without the permission */
};

/* Linking exchanges the authorization code for a token and lists the accounts that the token can read. Call
 * link_build(), make the HTTP call, then call link_parse(). Repeat until link_build() returns false. Texts
 * are in the arena. */
struct platform_link {
    const struct platform_options *options;
    struct platform_app app;
    struct str redirect_uri, code, verifier; /* verifier: for PKCE, if uses_pkce */
    int step;                                /* initially 0; private to the connector */
    struct str cursor;                       /* private to the connector */
    struct token_grant grant;
    struct linked_account accounts[LINK_ACCOUNTS_MAX];
    size_t account_count; /* number of accounts; 0 at the end if there is no account that can be read */
};

/* ---- a descriptor ---- */

enum { PLATFORM_TIERS = 4 }; /* maximum number of request forms of an API */

struct platform_rate {
    int per_minute; /* 0: unlimited */
    int burst;
};

struct platform_desc {
    enum platform_api api;
    enum platform platform;
    enum platform section; /* configuration section of the app; [facebook] for instagram-facebook */
    const char *name;      /* name used in commands and metrics, such as "tiktok" or "instagram-facebook" */
    const char *title;     /* name for people, such as "TikTok" or "Instagram (Facebook login)" */
    const char *scopes;    /* requested by linking */
    const struct platform_permission *permissions; /* permissions that an author may decline; NULL: none */
    /* A text that explains to authors why a personal account has no counts, and what to do. NULL: the API has
     * no such difference. */
    const char *personal_note;
    bool uses_pkce;
    bool links; /* authors can start linking at this API; if false, accounts of this API are linked through
                   another API (facebook) */

    int tiers;                        /* number of request forms */
    int ids_per_call[PLATFORM_TIERS]; /* maximum number of ids in a CALL_READ, by request form */
    int ids_per_resolve;              /* the same for a CALL_RESOLVE; 0: ids need no CALL_RESOLVE */
    bool measurable[COUNT_KINDS];     /* counts that this API provides */
    struct platform_rate app_rate, account_rate;
    /* The API has two kinds of metrics, period metrics and lifetime metrics, and only some apps may request
     * both kinds in one call (Pinterest). Unless platform_call.combined is set, a call requests only one
     * kind, which depends on the hour and the request form. */
    bool combines;
    bool quota_by_tier; /* each form has its own daily quota; if one quota is spent, the other form is used */
    /* Refresh a token that expires within this time; -1: tokens cannot be refreshed. */
    int64_t refresh_before_s;
    int64_t refresh_min_age_s; /* how old a token must be before it can be refreshed (Instagram: a day) */

    /* Returns true if CALL_READ accepts the id; otherwise the id must be resolved with CALL_RESOLVE first.
     * NULL: CALL_READ accepts all ids. */
    bool (*is_readable)(struct str post_id);

    void (*build)(struct arena *a, const struct platform_call *call, struct http_request *out);
    struct outcome (*parse)(struct arena *a, struct platform_call *call,
                            const struct http_response *response);

    /* NULL if refresh_before_s is -1. `have` is the current grant. */
    void (*build_refresh)(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out);
    struct outcome (*parse_refresh)(struct arena *a, const struct http_response *response,
                                    struct token_grant *got);

    /* Returns path and query of the consent page at ORIGIN_CONSENT. */
    struct str (*authorize_path)(struct arena *a, const struct platform_authorize *authorize);
    bool (*link_build)(struct arena *a, const struct platform_link *link, struct http_request *out);
    struct outcome (*link_parse)(struct arena *a, struct platform_link *link,
                                 const struct http_response *response);
};

/* Returns the descriptor of an API. */
const struct platform_desc *platform_desc(enum platform_api api);

/* Returns the descriptor with this name, or NULL if no API has it. */
const struct platform_desc *platform_desc_by_name(struct str name);

/* Returns true if a grant with these scopes lacks the permission. Returns false if `scopes` is empty, because
 * then the scopes are unknown. */
bool platform_permission_is_missing(const struct platform_permission *permission, struct str scopes);

/* Maximum length of a post id or account id in bytes. */
enum { PLATFORM_ID_MAX = 128 };
/* Returns true if a post id or account id has at most PLATFORM_ID_MAX bytes, does not consist of `.` and `~`
 * alone, and contains only letters, digits and the characters `_-.~`, which need no escaping in a URL. A post
 * with any other id is never requested; it is handled like a post in the state ITEM_PERMANENT. */
bool platform_id_is_plain(struct str id);

#define PLATFORM_API_DECLARATION(constant, desc) extern const struct platform_desc desc;
PLATFORM_API_LIST(PLATFORM_API_DECLARATION)
#undef PLATFORM_API_DECLARATION

#endif
