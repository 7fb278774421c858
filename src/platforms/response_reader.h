/* Helpers that connectors share to parse responses: headers, outcomes, tables of errors, items. */
#ifndef VT_PLATFORMS_RESPONSE_READER_H
#define VT_PLATFORMS_RESPONSE_READER_H

#include "platforms/platform.h"

/* Returns the first header with this name, ignoring case. `p` of the result is NULL if none exists. */
struct str response_header(const struct http_response *r, struct str name);

/* Returns the wait that Retry-After requests (net/retry_after.h), at most a day. */
int64_t response_retry_after_ms(const struct http_response *r, int64_t now_ms);

/* A documented error of a platform. A row with code == NULL ends a table. */
struct error_row {
    const char *code;
    int status; /* 0: any status */
    enum outcome_kind outcome;
    enum outcome_scope scope;
    int64_t wait_ms; /* wait that applies if the response requests none; 0: the caller's default */
};

/* Returns the first matching row, or NULL if the error is undocumented. */
const struct error_row *error_row_find(const struct error_row *rows, struct str code, int status);

/* Returns an outcome with these members; all others are 0. */
struct outcome outcome_make(enum outcome_kind kind, enum outcome_scope scope, struct str code);

/* Returns the outcome of an error code from its row in the table. If there is no row, derives the outcome
 * from the HTTP status and, unless the status is 5xx, sets unknown_code. */
struct outcome outcome_from_error(struct arena *a, const struct error_row *rows, struct str code,
                                  const struct http_response *r, int64_t now_ms);

/* Returns the outcome of a response with an unusable body: OUTCOME_RETRY for 408, 429 and 5xx, otherwise
 * OUTCOME_MALFORMED. */
struct outcome outcome_unreadable(struct arena *a, const struct http_response *r, int64_t now_ms);

/* Returns the outcome of an error with an undocumented code, from the HTTP status alone. */
struct outcome outcome_from_status(struct arena *a, struct str code, const struct http_response *r,
                                   int64_t now_ms);

/* Copies a platform's code into the arena. Returns "other" if the code is empty, too long, or contains
 * unexpected characters. */
struct str outcome_clean_code(struct arena *a, struct str word);

/* Resets all items to ITEM_PENDING without counts. Call before parsing, and when the response turns out to be
 * malformed and no part of it may be used. */
void items_reset(struct platform_call *call);

/* Returns the ids of all items, comma-separated, in the arena. */
struct str items_join_ids(struct arena *a, const struct platform_call *call);

/* Returns the pending item with this id. Returns NULL if the id was not requested, or if the response
 * contained it before. */
struct platform_item *item_find_pending(struct platform_call *call, struct str id);

/* Sets the state to ITEM_OK if the item has a count, otherwise to ITEM_NO_DATA. */
void item_set_state(struct platform_item *item);

#endif
