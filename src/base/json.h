/* JSON output: appends values to a buffer. The output is valid UTF-8 and valid JSON for any input. Each
 * function inserts a comma if the last character in the buffer requires one, so the buffer is the only state.
 * Failures set the buffer's `failed` (buf.h). */
#ifndef VT_BASE_JSON_H
#define VT_BASE_JSON_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/uuid.h"

/* Appends a comma if the next key or value needs one. Call before appending a value with buf_append(). */
void json_comma(struct buf *b);

/* Appends an opening bracket, after a comma if one is needed. */
void json_open(struct buf *b, char bracket);
static inline void json_close(struct buf *b, char bracket)
{
    buf_append_char(b, bracket);
}

/* Appends the key `name`, after a comma if one is needed. `name` is a string literal that needs no escaping.
 */
#define JSON_KEY(b, name) json_append_key((b), STR("\"" name "\":"))
void json_append_key(struct buf *b, struct str quoted_name_and_colon);

/* Like JSON_KEY(), but for a name that is not a string literal. This name must not need escaping either. */
void json_key(struct buf *b, struct str name);

/* Each of these appends a value, after a comma if one is needed. */
void json_str(struct buf *b, struct str s); /* null if p == NULL; ill-formed UTF-8 becomes U+FFFD */
void json_i64(struct buf *b, int64_t v);
void json_bool(struct buf *b, bool v);
void json_null(struct buf *b);
void json_uuid(struct buf *b, const struct uuid *u);
void json_time(struct buf *b, int64_t t_ms);
void json_date(struct buf *b, int32_t date);

/* Each of these appends a key and a value. `name` is a string literal. */
#define JSON_STR(b, name, v)  (JSON_KEY(b, name), json_str((b), (v)))
#define JSON_I64(b, name, v)  (JSON_KEY(b, name), json_i64((b), (v)))
#define JSON_BOOL(b, name, v) (JSON_KEY(b, name), json_bool((b), (v)))
#define JSON_UUID(b, name, v) (JSON_KEY(b, name), json_uuid((b), (v)))
#define JSON_TIME(b, name, v) (JSON_KEY(b, name), json_time((b), (v)))
#define JSON_DATE(b, name, v) (JSON_KEY(b, name), json_date((b), (v)))
#define JSON_NULL(b, name)    (JSON_KEY(b, name), json_null((b)))
/* Appends a key and an integer or time. Appends null instead of the value if `has` is false. */
#define JSON_I64_OR_NULL(b, name, has, v)  ((has) ? JSON_I64(b, name, v) : JSON_NULL(b, name))
#define JSON_TIME_OR_NULL(b, name, has, v) ((has) ? JSON_TIME(b, name, v) : JSON_NULL(b, name))

#endif
