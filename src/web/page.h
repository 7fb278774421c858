/* The HTML frame around every page; error pages; redirects; and notes, which the next page shows once. */
#ifndef VT_WEB_PAGE_H
#define VT_WEB_PAGE_H

#include "base/error.h"
#include "web/html.h"
#include "web/web.h"
#include "store/author_keys.h"

struct sign_in_attempt;

struct page_frame {
    struct str title;    /* title of the window; also the <h1> unless own_heading is true */
    const char *current; /* path of the navigation entry that this page belongs to; may be NULL */
    bool narrow;         /* the page is narrow, for a single form such as sign-in or consent */
    bool own_heading;    /* the caller writes the <h1> */
};

/* Writes the page up to the content of <main>. Returns the buffer to which the caller appends the content.
 * Sets status 200 unless the caller has set another one. */
struct buf *page_begin(struct request *r, const struct page_frame *frame);
/* Closes <main> and the frame. If the page exceeds the maximum size of a response, replaces it with a 500.
 * Returns NEXT_DONE. */
enum next page_end(struct request *r);

/* Discards the response written so far and sends an error page with the message. Returns NEXT_DONE. */
enum next page_error(struct request *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes the request id as a paragraph, for a page that reports an error. */
void page_write_request_id(struct request *r);
/* Sends a 404. Returns NEXT_DONE. */
enum next page_not_found(struct request *r);
/* Sends an error page for an error of a database read or write: a 404 for ERR_NOT_FOUND, a 503 for all other
 * errors. The 503 page says that nothing was changed, unless `err` is ERR_UNKNOWN_OUTCOME. Returns NEXT_DONE.
 */
enum next page_store_error(struct request *r, enum err err);

/* Sends a 503, because a password cannot be hashed: the queue is full, or there is no memory
 * (auth/password.h). */
enum next page_too_busy(struct request *r);
/* Like page_too_busy(), because the password of this attempt cannot be verified. Undoes the attempt, so that
 * it does not count as a failure. */
enum next page_too_busy_to_verify(struct request *r, const struct sign_in_attempt *attempt);
/* Sends a 429, because there were too many failed sign-ins (auth/sign_in_limiter.h). */
enum next page_too_many_sign_ins(struct request *r, int64_t wait_ms);
/* Sends a 429, because the author has sent more than WEB_FORMS_PER_MINUTE forms (web.h). */
enum next page_too_many_forms(struct request *r, int64_t wait_ms);
/* Sends an error page, because the author has reached a limit of keys and cannot create another one. The
 * status is 422 for KEY_LIMIT_LIVE and 429 for KEY_LIMIT_DAY. `now` is the wall clock in ms. */
enum next page_key_limit(struct request *r, enum key_limit reached, int64_t now);

/* Redirects with 303 to a page of this site, for example "/keys". */
enum next page_redirect(struct request *r, struct str path);
/* Redirects with 303 to another server. The caller must have validated a `url` that comes from the client, to
 * prevent open redirects. */
enum next page_redirect_away(struct request *r, struct str url);
/* Redirects with 303 to `path`, which includes the site's base path. If web_path_is_local() rejects it,
 * redirects to the start page. */
enum next page_redirect_local(struct request *r, struct str path);

/* Writes the attribute `name` (href or action); its value is the site's base path followed by `path`. */
void page_write_link(struct request *r, const char *name, struct str path);

/* Writes `<form method="post" action="…">` and the form token. The caller closes the form. */
void page_write_form(struct request *r, struct str action);
/* Writes only the form token, for a form whose tag page_write_form() cannot write. */
void page_write_form_token(struct request *r);

/* Returns the signed-in author and the address of the browser, as the actor for the audit log. */
struct actor page_actor(const struct request *r);

/* Notes: messages that the next page shows once, after a redirect. */
enum page_note {
    NOTE_NONE,
    NOTE_SIGNED_OUT,
    NOTE_SIGNED_OUT_EVERYWHERE,
    NOTE_PASSWORD_SET,
    NOTE_KEY_REVOKED,
    NOTE_APP_DISCONNECTED,
    NOTE_PLATFORM_CONNECTED,
    NOTE_PLATFORM_DISCONNECTED,
    NOTE_WEBHOOK_REQUESTED,
    NOTE_WEBHOOK_HISTORY,
    NOTE_WEBHOOK_PAUSED,
    NOTE_WEBHOOK_RESUMED,
    NOTE_WEBHOOK_DELETED,
    NOTE_COUNT
};
/* Sets the note for the next page, in a cookie. */
void page_set_note(struct request *r, enum page_note note);

/* Adds the header fields that all pages send. Call once, after the page was written (in http_app.finish). */
void page_add_fields(struct request *r);

/* Sends an error page with `message` for a request that was rejected before it reached a page. Use it as
 * http_app.reject. */
void page_reject(struct request *r, const char *message);

#endif
