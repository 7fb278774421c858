/* JSON output: appends values to a buffer. The output is valid UTF-8 and valid JSON for any input. Commas are
 * inserted by looking at the last character written, so the writer has no state. Errors: see buf.h. */
#ifndef VT_BASE_JSON_H
#define VT_BASE_JSON_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/uuid.h"

/* Appends a comma if the next key or value needs one. For callers that append a value with buf_append(). */
void json_comma(struct buf *b);

/* An opening bracket, after a comma if one is needed. */
void json_open(struct buf *b, char bracket);
static inline void json_close(struct buf *b, char bracket)
{
    buf_append_char(b, bracket);
}

/* Appends the key `name`, after a comma if one is needed. `name` is a string literal that needs no escaping.
 */
#define JSON_KEY(b, name) json_append_key((b), STR("\"" name "\":"))
void json_append_key(struct buf *b, struct str quoted_name_and_colon);
/* The same for a name that is known only at run time; it must need no escaping either. */
void json_key(struct buf *b, struct str name);

/* A value, after a comma if one is needed. */
void json_str(struct buf *b, struct str s); /* p == NULL: null. Ill-formed UTF-8 becomes U+FFFD. */
void json_i64(struct buf *b, int64_t v);
void json_bool(struct buf *b, bool v);
void json_null(struct buf *b);
void json_uuid(struct buf *b, const struct uuid *u);
void json_time(struct buf *b, int64_t t_ms);
void json_date(struct buf *b, int32_t date);

/* Key and value in one call; `name` is a string literal. */
#define JSON_STR(b, name, v)  (JSON_KEY(b, name), json_str((b), (v)))
#define JSON_I64(b, name, v)  (JSON_KEY(b, name), json_i64((b), (v)))
#define JSON_BOOL(b, name, v) (JSON_KEY(b, name), json_bool((b), (v)))
#define JSON_UUID(b, name, v) (JSON_KEY(b, name), json_uuid((b), (v)))
#define JSON_TIME(b, name, v) (JSON_KEY(b, name), json_time((b), (v)))
#define JSON_DATE(b, name, v) (JSON_KEY(b, name), json_date((b), (v)))
#define JSON_NULL(b, name)    (JSON_KEY(b, name), json_null((b)))
/* An integer or time that may be unknown: null if `has` is false. */
#define JSON_I64_OR_NULL(b, name, has, v)  ((has) ? JSON_I64(b, name, v) : JSON_NULL(b, name))
#define JSON_TIME_OR_NULL(b, name, has, v) ((has) ? JSON_TIME(b, name, v) : JSON_NULL(b, name))

#endif
