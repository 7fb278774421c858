/* The HTML frame around every page, error pages, redirects, and messages shown once after a redirect. */
#ifndef VT_WEB_PAGE_H
#define VT_WEB_PAGE_H

#include "base/error.h"
#include "web/html.h"
#include "web/web.h"
#include "store/author_keys.h"

struct page_frame {
    struct str title;    /* of the window, and the <h1> unless own_heading */
    const char *current; /* path of the navigation entry that this page belongs to; NULL: none */
    bool narrow;         /* a single form, such as sign-in or consent */
    bool own_heading;    /* the caller writes the <h1> */
};

/* Writes everything up to the content of <main>, which the caller appends to the returned buffer. The status
 * is 200 unless the caller has set one. */
struct buf *page_begin(struct request *r, const struct page_frame *frame);
/* Closes <main> and the frame. Returns NEXT_DONE. If the page exceeds the response limit, sends a 500. */
enum next page_end(struct request *r);

/* Discards what was written and sends a page with one sentence. Returns NEXT_DONE. */
enum next page_error(struct request *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the request id as a paragraph, for a page that reports an error. */
void page_write_request_id(struct request *r);
enum next page_not_found(struct request *r);
/* Sends a 503, or a 404 for ERR_NOT_FOUND. */
enum next page_store_error(struct request *r, enum err err);

/* Sends a 503: the queue of password hashes is full (auth/password.h). */
enum next page_too_busy(struct request *r);
/* Sends a 429: too many failed sign-ins (auth/sign_in_limiter.h). */
enum next page_too_many_sign_ins(struct request *r, int64_t wait_ms);
/* Sends a 429: more than WEB_FORMS_PER_MINUTE forms (web.h). */
enum next page_too_many_forms(struct request *r, int64_t wait_ms);
/* Reports that the author can create no further key at `now`: 422 for KEY_LIMIT_LIVE, 429 for
 * KEY_LIMIT_DAY. */
enum next page_key_limit(struct request *r, enum key_limit reached, int64_t now);

/* Redirects with 303 to a page of this site, for example "/keys". */
enum next page_redirect(struct request *r, struct str path);
/* Redirects with 303 to another server. `url` must be built by this program, never taken from the client
 * unchecked. */
enum next page_redirect_away(struct request *r, struct str url);
/* Redirects with 303 to a path on this server as the browser shows it, or to the start page if it is not
 * web_path_is_local(). */
enum next page_redirect_local(struct request *r, struct str path);

/* Writes ` href="…"` or ` action="…"` with the path of a page, prefixed with the site's base path. */
void page_link(struct request *r, const char *name, struct str path);

/* Writes `<form method="post" action="…">` and the form token. The caller closes the form. */
void page_form(struct request *r, struct str action);
/* Writes the form token alone, for a form whose action is not the path of a page. */
void page_form_token(struct request *r);

/* Messages that the next page shows once, after a redirect. */
enum page_note {
    NOTE_NONE,
    NOTE_SIGNED_OUT,
    NOTE_SIGNED_OUT_EVERYWHERE,
    NOTE_PASSWORD_SET,
    NOTE_KEY_REVOKED,
    NOTE_APP_DISCONNECTED,
    NOTE_PLATFORM_CONNECTED,
    NOTE_PLATFORM_DISCONNECTED,
    NOTE_COUNT
};
void page_set_note(struct request *r, enum page_note note);

/* Adds the header fields that all pages send. Call once, after the last step. */
void page_add_fields(struct request *r);

/* For struct http_app.reject: sends a request that was rejected before it reached a page as an error
 * page. */
void page_reject(struct request *r, const char *message);

#endif
