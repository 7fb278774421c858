/* The author's pages: which there are, and what happens before one of them begins.
 *
 * Pages live beside the API, at base_url without its /v1. A page is a route and a start
 * step, in a file of its own; site.c has the list. Before the start step: the method fits; who is signed in
 * was found (page_context->viewer), and whoever is not was sent to the sign-in page, which leads back; the
 * query was parsed; of a POST, it came from a page of ours (Sec-Fetch-Site, Origin), the form was parsed and
 * its token was right (CSRF). Frame, errors and redirects: page.h. */
#ifndef VT_WEB_SITE_H
#define VT_WEB_SITE_H

#include "auth/secret.h"
#include "config/config.h"
#include "http/form.h"
#include "http/router.h"
#include "store/accounts.h"

#include <uv.h>

struct poll_positions;
struct http_client;
struct passwords;
struct session_recorder;
struct summary_cache;
struct sign_in_limiter;
struct windows;
struct writer;

/* Forms that an author may send within any 60 seconds, in each process. */
enum { WEB_FORMS_PER_MINUTE = 30 };

/* Everything that pages need; owned by the app, lives as long as the server. */
struct site {
    struct http_app http; /* for the router; its ctx is the site */
    const struct config *config;
    struct store *store;   /* the loop's read connection */
    struct writer *writer; /* every write; see store/writer_call.h */
    struct session_recorder *notes;
    struct passwords *passwords;
    struct sign_in_limiter *sign_in_limiter;
    struct windows *writes; /* forms sent by each author */
    struct poll_positions *cursors;
    struct summary_cache *summaries; /* of the dashboards */
    struct http_client *client;      /* asks the platforms; NULL: the operator has set none up */
    struct str base;                 /* in front of every page's path: "" or "/x" */
    struct str api_base;             /* "/v1" or "/x/v1" */
    struct str origin;               /* https://host[:port] of base_url */
    bool secure;                     /* base_url is https: cookies are Secure and bound to the host */
    char style_version[16], script_version[16]; /* for their addresses */
    bool told_of_spoofing, told_of_origin;
};

/* `cursors` NULL: where apps stand in the feed of events is not known. */
void site_init(struct site *site, const struct config *config, uv_loop_t *loop, struct store *store,
               struct writer *writer, struct poll_positions *cursors);
/* No request is running any more; what it had on the loop closes. May be called again. */
void site_close(struct site *site);
/* After the loop has ended. Harmless when it was not initialised. */
void site_fini(struct site *site);

/* See auth/device.h. */
#define DEVICE_COOKIE_NAME STR("viewtally-device")

/* Flags of a route. */
enum {
    SITE_OPEN = 1,   /* also for viewers who are not signed in */
    SITE_STATIC = 2, /* the same for every viewer: no session lookup, no cookie (with SITE_OPEN) */
    SITE_OWN_QUERY =
        4, /* the page parses its query itself; after a sign-in it is requested again, also after a POST */
};

/* One request between its steps: r->state. */
struct page_context {
    struct site *site;
    struct str tail;         /* the path parameter */
    struct store_read read;  /* for starters of store/read.h */
    struct viewer viewer;    /* who is signed in; author_row 0: nobody */
    struct form query, form; /* of the URL; of a POST */
    void *state;             /* the page's own */

    bool by_proxy;                         /* signed in by [account] auth_header: there is no session */
    struct session session;                /* of the cookie, when the viewer is signed in by one */
    uint8_t session_hash[SECRET_HASH_LEN]; /* of it */
    struct secret link;                    /* of the address, when its tail is a secret */
    struct secret new_session, new_device; /* of the session that this request starts: web/session_start.h */
    struct secret secret;        /* form tokens are derived from it: the session's or the form cookie's */
    bool has_script;             /* this page wants its script (assets.c), without which it works too */
    bool has_secret, new_secret; /* new: its cookie is to be set */
    struct str form_target;      /* CSP: where else forms of this page lead in the end; p == NULL: nowhere */
    struct str cookies[8];       /* Set-Cookie lines so far */
    size_t cookie_count;
};

static inline struct page_context *page_context_of(const struct request *r)
{
    return r->state;
}

/* The routes of the pages below `base`, and of those below `api_base`. */
extern const struct route *const web_routes[], *const web_api_routes[];

/* To the sign-in page, which leads back here. */
enum next web_redirect_to_sign_in(struct request *r);

/* What the pages' forms send as their token, bound to who is signed in. */
struct str web_form_token(struct request *r);

/* The cookies behind a sign-in and a sign-out. */
void session_cookie_set(struct request *r, const struct secret *session);
void session_cookie_clear(struct request *r);

/* Sets a cookie of ours (name without its prefix). `max_age_s` < 0: until the browser ends; 0: forget it. The
 * value holds nothing that a cookie cannot. */
void web_cookie_set(struct request *r, struct str name, struct str value, int64_t max_age_s);
struct str web_cookie_find(struct request *r, struct str name); /* p == NULL: none */

/* A path of this server's (one slash, then none; no backslash, control or space), of bounded length: where
 * the sign-in page may lead. */
bool web_path_is_local(struct str path);

/* The pages; one file each. */
extern const struct route consent_page, home_page, sign_in_page, sign_out_page, invite_page, account_page,
    account_password_page, account_sign_out_page;
extern const struct route keys_page, key_page, apps_page, app_page;
extern const struct route platforms_page, platform_account_page, platform_callback_page;
extern const struct route style_page, script_page, dashboard_page, videos_page, video_page;

#endif
