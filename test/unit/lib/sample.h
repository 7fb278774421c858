/* Answers of the platforms as files, for tests and for fuzzing. The first line: api, function (read resolve
 * refresh link), tier or step, status of HTTP. Then, in any order: where it is from, its mark, its date; what
 * the call asks for; words (key: YouTube's, young: posted an hour ago, batch, source=1: the chosen definition
 * of a view, dropped=a,b: metrics found dead,
 * account: the account is asked for beside the posts); headers of the answer; what has to come out of it, as
 * sample_print() has it. Behind the first empty line the body, byte by byte:
 *
 *     tiktok read 0 200
 *     # developers.tiktok.com … [V] 2026
 *     ids: 1,2
 *     options: key
 *     x-ratelimit-reset: 12
 *     > ok call ok
 *     > item 1 ok 10433 512 31 12 -
 *
 *     {"data":…
 *
 * sample_play() holds what holds for any bytes whatever. */
#ifndef VT_TEST_SAMPLE_H
#define VT_TEST_SAMPLE_H

#include "base/buf.h"
#include "platforms/platform.h"

enum sample_function { SAMPLE_READ, SAMPLE_RESOLVE, SAMPLE_REFRESH, SAMPLE_LINK };
enum { SAMPLE_ITEMS = 100, SAMPLE_HEADERS = 16 };

struct sample {
    enum platform_api api;
    enum sample_function function;
    int tier;
    struct str expected; /* the lines with '>' as they stand */
    struct platform_options options;
    bool by_key;
    struct platform_item items[SAMPLE_ITEMS];
    struct http_header headers[SAMPLE_HEADERS];
    struct http_response response;
    struct platform_call call;
    struct platform_link link;
    struct token_grant grant;
    struct outcome outcome;
    struct buf note; /* expected lines, joined */
};

#define SAMPLE_NOW INT64_C(1795262400000) /* 2026-11-21T12:00:00Z */

/* False: no sample. `text` has to live as long. */
bool sample_parse(struct sample *s, struct str text);
void sample_play(struct arena *a, struct sample *s);
void sample_print(const struct sample *s, struct buf *out);
void sample_fini(struct sample *s);

/* Calls `fn` with each file of test/data/platforms, by name; `text` lives until it returns. Returns how many.
 */
typedef void (*sample_fn)(void *ctx, const char *name, struct str text);
int sample_for_each(sample_fn fn, void *ctx);

#endif
