/* Helpers that connectors share to parse responses: headers, outcomes, tables of errors, items. */
#ifndef VT_PLATFORMS_RESPONSE_READER_H
#define VT_PLATFORMS_RESPONSE_READER_H

#include "platforms/platform.h"

/* The first header with this name, ignoring case. p == NULL: none. */
struct str response_header(const struct http_response *r, struct str name);

/* Retry-After (RFC 9110, 10.2.3) in seconds or as a date, which is ignored if now_ms is 0. At most a day;
 * 0: absent or invalid. */
int64_t response_retry_after_ms(const struct http_response *r, int64_t now_ms);

/* A documented error of a platform. A row with code == NULL ends a table. */
struct error_row {
    const char *code;
    int status; /* 0: any */
    enum outcome_kind outcome;
    enum outcome_scope scope;
    int64_t wait_ms; /* if the response has none; 0: the caller's default */
};

/* The first matching row; NULL: undocumented. */
const struct error_row *error_row_find(const struct error_row *rows, struct str code, int status);

struct outcome outcome_make(enum outcome_kind kind, enum outcome_scope scope, struct str code);

/* The outcome of an error code: by its row in the table, else by the HTTP status, with unknown_code set. */
struct outcome outcome_from_error(struct arena *a, const struct error_row *rows, struct str code,
                                  const struct http_response *r, int64_t now_ms);

/* For a response with an unusable body: RETRY for 408, 429 and 5xx, else MALFORMED. */
struct outcome outcome_unreadable(struct arena *a, const struct http_response *r, int64_t now_ms);

/* For an error with an undocumented code: by HTTP status alone. */
struct outcome outcome_from_status(struct arena *a, struct str code, const struct http_response *r,
                                   int64_t now_ms);

/* Copies a code of the platform into the arena; "other" if it is too long or contains unexpected
 * characters. */
struct str outcome_clean_code(struct arena *a, struct str word);

/* Resets all items to PENDING without counts: before parsing, and when the response turns out to be
 * malformed, so that no part of it is used. */
void items_reset(struct platform_call *call);

/* The ids of all items, comma separated, in the arena. */
struct str items_join_ids(struct arena *a, const struct platform_call *call);

/* The pending item with this id; NULL: not requested, or already found in the response. */
struct platform_item *item_find_pending(struct platform_call *call, struct str id);

/* Sets OK if the item has a count, else NO_DATA. */
void item_set_state(struct platform_item *item);

#endif
