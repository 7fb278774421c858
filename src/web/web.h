/* The authors' web pages. They are mounted at base_url without /v1. Each page has a route and a start step,
 * in a file of its own. The viewer is the signed-in author who sent the request.
 *
 * Before the start step of a page runs, page_checks.c finds the viewer (page_context->viewer). If nobody is
 * signed in, page_checks.c redirects to the sign-in page, unless the page has the flag WEB_OPEN. Next,
 * page_checks.c parses the query. For a POST it also checks the origin, parses the form and checks the form
 * token (CSRF). See page.h for frame, errors and redirects. */
#ifndef VT_WEB_WEB_H
#define VT_WEB_WEB_H

#include "auth/secret.h"
#include "config/config.h"
#include "http/form.h"
#include "http/router.h"
#include "store/accounts.h"

#include <uv.h>

struct exports;
struct failure_log;
struct poll_positions;
struct http_client;
struct passwords;
struct session_recorder;
struct summary_cache;
struct sign_in_limiter;
struct windows;
struct writer;

/* Number of forms that an author may send within 60 seconds. Each process counts separately. */
enum { WEB_FORMS_PER_MINUTE = 30 };

/* State shared by all pages. Lives as long as the server. */
struct web {
    struct http_app http; /* the application for the router; its ctx is the struct web */
    const struct config *config;
    struct store *store; /* the loop's read connection */
    struct writer *writer;
    struct session_recorder *sessions;
    struct passwords *passwords;
    struct sign_in_limiter *sign_in_limiter;
    struct failure_log *failures; /* set by the caller after web_init() */
    struct exports *exports;
    struct windows *form_windows; /* sliding windows that count the forms of each author */
    struct poll_positions *positions;
    struct summary_cache *summaries;
    struct http_client *client; /* HTTP client for calls to platforms; NULL if no platform is configured or
                                   memory ran out */
    struct str base;            /* path prefix of all pages: "" or "/x" */
    struct str origin;          /* https://host[:port] of base_url */
    bool secure;                /* base_url is https, so cookies are Secure and bound to the host */
    char style_version[16], script_version[16];        /* content hashes, see assets.h */
    bool warned_of_untrusted_header, warned_of_origin; /* already logged; each warning is logged once */
};

/* Initializes `web`. If `positions` is NULL, the pages do not show the lag of apps. */
void web_init(struct web *web, const struct config *config, uv_loop_t *loop, struct store *store,
              struct writer *writer, struct poll_positions *positions);
/* Closes the handles on the loop. Precondition: no request is in progress. A second call does nothing. */
void web_close(struct web *web);
/* Frees everything that web_close() has not closed. Call after the loop has ended. Does nothing for a zeroed
 * struct. */
void web_fini(struct web *web);

/* Flags of a route. */
enum {
    WEB_OPEN = 1,   /* no sign-in is required */
    WEB_STATIC = 2, /* the page is the same for everybody, so no session is looked up and no cookie is set;
                       use with WEB_OPEN */
    /* The page parses its query itself. If it redirects to the sign-in page, the browser requests the same
     * URL again after the sign-in, even if the request was a POST. */
    WEB_OWN_QUERY = 4,
    /* An app may open the page in a popup window, so the window keeps its connection to the window of the app
     * (window.opener), which a Cross-Origin-Opener-Policy would cut. */
    WEB_IN_POPUP = 8,
};

/* The state of one request. r->state points to it. */
struct page_context {
    struct web *web;
    struct store_read read;  /* for the functions of store/read.h */
    struct viewer viewer;    /* the signed-in author; author_row is 0 if nobody is signed in */
    struct form query, form; /* fields parsed from the URL, and from the body of a POST */
    void *state;             /* private state of the page */

    bool by_proxy; /* a proxy has signed the viewer in with the header field [account] auth_header, so there
                      is no session */
    struct session session; /* session of the viewer, if the viewer signed in with a session cookie */
    uint8_t session_hash[SECRET_HASH_LEN]; /* hash of the session cookie */
    struct secret link;                    /* the secret in the URL of an invitation link */
    struct secret new_session, new_device; /* see session_start.h */
    struct secret secret; /* secret in the session cookie or the form cookie; form tokens are derived from
                             it */
    bool has_secret, new_secret; /* new_secret: `secret` is new, so the form cookie must be set */
    bool has_script;             /* the page includes copy.js (but also works without it) */
    struct str
        form_target; /* for the CSP: other origins to which forms of this page redirect; p is NULL if none */
    struct str cookies[8]; /* Set-Cookie fields of the response */
    size_t cookie_count;
};

static inline struct page_context *page_context_of(const struct request *r)
{
    return r->state;
}

/* The routes of the pages at web->base (web_routes), and of the pages at the base paths of the API
 * (web_api_routes). */
extern const struct route *const web_routes[], *const web_api_routes[];

extern const struct route consent_page, home_page, sign_in_page, sign_out_page, invite_page, account_page,
    account_password_page, account_sign_out_page, account_export_page;
extern const struct route keys_page, key_page, apps_page, app_page;
extern const struct route webhooks_page, webhook_page;
extern const struct route platforms_page, platform_account_page, platform_callback_page;
extern const struct route style_page, script_page, dashboard_page, videos_page, video_page;

#endif
