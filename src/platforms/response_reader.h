/* What the connectors share in reading answers: headers, waits, outcomes, tables of errors, items. */
#ifndef VT_PLATFORMS_RESPONSE_READER_H
#define VT_PLATFORMS_RESPONSE_READER_H

#include "platforms/platform.h"

/* By its name, whatever its case; the first of several. p == NULL: there is none. */
struct str response_header(const struct http_response *r, struct str name);

/* Retry-After as of RFC 9110, 10.2.3, in seconds or as a date (which wants now_ms; 0: is passed over). 0:
 * none, or it cannot be read; never above a day. */
int64_t response_retry_after_ms(const struct http_response *r, int64_t now_ms);

/* One documented error of a platform. Ends with code == NULL. */
struct error_row {
    const char *code;
    int status; /* 0: whichever */
    enum outcome_kind outcome;
    enum outcome_scope scope;
    int64_t wait_ms; /* where the answer names none; 0: the engine's */
};

/* The first row of that code and status; NULL: not documented. */
const struct error_row *error_row_find(const struct error_row *rows, struct str code, int status);

struct outcome outcome_make(enum outcome_kind kind, enum outcome_scope scope, struct str code);

/* By its row, or, without one, by its status as of outcome_from_status() under its own code. */
struct outcome outcome_from_error(struct arena *a, const struct error_row *rows, struct str code,
                                  const struct http_response *r, int64_t now_ms);

/* An answer whose body tells nothing: LATER for 429 and 5xx, else MALFORMED. */
struct outcome outcome_unreadable(struct arena *a, const struct http_response *r, int64_t now_ms);

/* An error in the platform's own form whose code is not documented: by status alone. */
struct outcome outcome_from_status(struct arena *a, struct str code, const struct http_response *r,
                                   int64_t now_ms);

/* A platform's word as a code of ours: "other" where it is long or holds what does not belong in a name. In
 * the arena. */
struct str outcome_clean_code(struct arena *a, struct str word);

/* All items as before the call: pending, nothing measured. Also after finding out late that the answer is
 * malformed, so that no half of it is used. */
void items_reset(struct platform_call *call);

/* Their ids with commas between them, in the arena. */
struct str items_join_ids(struct arena *a, const struct platform_call *call);

/* The item of that id that was not answered yet; NULL: not asked for, or answered twice. */
struct platform_item *item_find_pending(struct platform_call *call, struct str id);

/* OK when something was measured, else NO_DATA. */
void item_set_state(struct platform_item *item);

#endif
