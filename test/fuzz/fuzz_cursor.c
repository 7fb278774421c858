/* Parses arbitrary bytes as a cursor of /videos. Checks that formatting the position of an accepted cursor
 * gives the same text. */
#include "api/cursor.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct videos_query *q, const struct uuid *author, struct str text)
{
    char again[CURSOR_TEXT_LEN];
    struct video_position position;
    if (!cursor_parse(q, author, text, &position))
        return;
    cursor_format(q, author, &position, again);
    CHECK(str_eq(str_make(again, sizeof again), text));
}

/* Parses the bytes as a cursor. Then uses them as a position: the cursor of this position must be accepted,
 * and must be rejected after one of its bits has been flipped. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct uuid author = {{1}};
    const struct videos_query q = {.posted_from = 1, .posted_to = INT64_MAX, .viral = VIRAL_ANY};
    struct video_position position = {.value = 0}, parsed;
    char text[CURSOR_TEXT_LEN];
    check_text(&q, &author, str_make((const char *)data, size));
    if (size < 8 + sizeof position.id + 2)
        return 0;
    memcpy(&position.value, data, 8);
    memcpy(&position.id, data + 8, sizeof position.id);
    cursor_format(&q, &author, &position, text);
    CHECK(cursor_parse(&q, &author, str_make(text, sizeof text), &parsed));
    CHECK(parsed.value == position.value && uuid_eq(&parsed.id, &position.id));
    text[data[24] % sizeof text] ^= (char)(1 << data[25] % 8);
    CHECK(!cursor_parse(&q, &author, str_make(text, sizeof text), &parsed));
    return 0;
}
