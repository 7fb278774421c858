/* The frame of every page, and the answers that are no page: errors, redirects, notes. */
#ifndef VT_WEB_PAGE_H
#define VT_WEB_PAGE_H

#include "base/error.h"
#include "web/html.h"
#include "web/site.h"
#include "store/author_keys.h"

struct page_frame {
    struct str title;    /* of the window; the <h1> too, unless own_heading */
    const char *current; /* the path in the navigation that this page belongs to; NULL: none */
    bool narrow;         /* a form alone: sign-in, consent */
    bool own_heading;    /* the caller writes the <h1> */
};

/* Status 200 (unless the caller has set another) and everything up to the content of <main>, which the caller
 * appends to the buffer. */
struct buf *page_begin(struct request *r, const struct page_frame *page);
/* Closes <main> and the frame. NEXT_DONE; a 500 when the page grew above its maximum. */
enum next page_end(struct request *r);

/* Drops what was built so far and makes a page of a sentence the answer. NEXT_DONE. */
enum next page_error(struct request *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
enum next page_not_found(struct request *r);
/* 503: the database cannot be read, or written. */
enum next page_store_error(struct request *r, enum err e);

/* 429: wrong passwords, one after the other (auth/sign_in_limiter.h). */
enum next page_too_many_sign_ins(struct request *r, int64_t wait_ms);
/* 429: the author has sent WEB_FORMS_PER_MINUTE forms within a minute (site.h). */
enum next page_too_many_forms(struct request *r, int64_t wait_ms);
/* The author cannot get another key at `now`: 422 for KEY_LIMIT_LIVE, 429 for KEY_LIMIT_DAY. */
enum next page_key_limit(struct request *r, enum key_limit reached, int64_t now);

/* 303 to a page of ours ("/keys"). */
enum next page_redirect(struct request *r, struct str path);
/* 303 to an address that is not of this server: one of ours to build, never one that was sent to us. */
enum next page_redirect_away(struct request *r, struct str url);
/* 303 to a local path as it stands in the address bar (web_path_is_local). */
enum next page_redirect_local(struct request *r, struct str path);

/* ` href="…"` or ` action="…"` to a page of ours: "/keys" becomes "/x/keys". */
void page_link(struct request *r, const char *name, struct str path);

/* `<form method="post" action="…">` with its token; the caller closes it. */
void page_form(struct request *r, struct str action);
/* The token alone, for a form whose action is no page's path. */
void page_form_token(struct request *r);

/* A sentence that the next page shows once: behind a redirect. */
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

/* The header fields that every response of the site carries; called once, at its end. */
void page_add_fields(struct request *r);

/* For struct http_app.reject: a request of the site that could not be answered. */
void page_refusal(struct request *r, const char *message);

#endif
