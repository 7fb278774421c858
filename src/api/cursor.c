/* Formats and parses cursors. The hash needs no secret key: with a forged cursor, a client can only list its
 * own author's videos from another position. */
#include "api/cursor.h"

#include "base/base64.h"
#include "base/hash.h"

#include <sodium.h>

enum { VERSION = 1, RAW_LEN = 1 + 8 + 16 + 8, SEARCH_LEN = 1 + 1 + 1 + 8 + 8 };

static void put_u64(uint8_t *out, uint64_t v)
{
    for (int i = 7; i >= 0; i--, v >>= 8)
        out[i] = (uint8_t)v;
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | p[i];
    return v;
}

/* Hashes each term with the hash of the previous terms as the seed, so that the hash depends on the
 * boundaries between the terms. */
static uint64_t hash_of_terms(const struct title_terms *terms)
{
    uint64_t hash = terms->count;
    for (size_t i = 0; i < terms->count; i++)
        hash = hash_64(terms->items[i], hash);
    return hash;
}

/* Writes the members that only a search uses, and returns their length. To keep the cursors of older releases
 * valid, writes nothing if the query is not a search, and omits the hash of the terms if there are none. */
static size_t put_search(uint8_t *out, const struct videos_query *q)
{
    if (!videos_query_is_search(q))
        return 0;
    out[0] = (uint8_t)q->sort;
    out[1] = q->has_platform ? (uint8_t)(q->platform + 1) : 0;
    out[2] = q->has_updated_after;
    put_u64(out + 3, q->has_updated_after ? (uint64_t)q->updated_after : 0);
    if (!q->terms)
        return SEARCH_LEN - 8;
    put_u64(out + 11, hash_of_terms(q->terms));
    return SEARCH_LEN;
}

static uint64_t binding_of(const struct videos_query *q, const struct uuid *author, const uint8_t *position)
{
    enum { LIST_LEN = 16 + 8 + 8 + 17 + 1 + 24 };
    uint8_t text[LIST_LEN + SEARCH_LEN] = {0};
    memcpy(text, author->b, 16);
    put_u64(text + 16, (uint64_t)q->posted_from);
    put_u64(text + 24, (uint64_t)q->posted_to);
    text[32] = q->has_book;
    if (q->has_book)
        memcpy(text + 33, q->book_id.b, 16);
    text[49] = (uint8_t)q->viral;
    memcpy(text + 50, position, 24);
    const size_t len = LIST_LEN + put_search(text + LIST_LEN, q);
    return hash_64(str_make((const char *)text, len), VERSION);
}

void cursor_format(const struct videos_query *q, const struct uuid *author,
                   const struct video_position *position, char out[CURSOR_TEXT_LEN])
{
    uint8_t raw[RAW_LEN];
    char text[CURSOR_TEXT_LEN + 1];
    raw[0] = VERSION;
    put_u64(raw + 1, (uint64_t)position->value);
    memcpy(raw + 9, position->id.b, 16);
    put_u64(raw + 25, binding_of(q, author, raw + 1));
    (void)sodium_bin2base64(text, sizeof text, raw, sizeof raw, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    memcpy(out, text, CURSOR_TEXT_LEN);
}

bool cursor_parse(const struct videos_query *q, const struct uuid *author, struct str text,
                  struct video_position *out)
{
    uint8_t raw[RAW_LEN];
    size_t len;
    if (text.len != CURSOR_TEXT_LEN || !base64_decode(text, BASE64_URL, raw, sizeof raw, &len) ||
        len != RAW_LEN || raw[0] != VERSION || get_u64(raw + 25) != binding_of(q, author, raw + 1))
        return false;
    out->value = (int64_t)get_u64(raw + 1);
    memcpy(out->id.b, raw + 9, 16);
    return true;
}
