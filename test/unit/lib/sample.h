/* Platform responses stored as files, for tests and fuzzing.
 *
 * The first line contains the API, the function (read, resolve, refresh or link), the tier or step, and the
 * HTTP status. Then follow, in any order:
 *
 *   # TEXT      the source of the response, its mark (such as [V]) and its date
 *   ids: IDS    the posts that the call requests
 *   options:    words that set the call: key (YouTube's API key), young (posted an hour ago), batch,
 *               source=1 (the stored source of views), dropped=a,b (metrics to omit), combined, account,
 *               personal (the members combined, with_account and is_personal)
 *   NAME: VALUE a header of the response
 *   > LINE      an expected line of sample_print()
 *
 * The body follows the first empty line, unchanged:
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
 * sample_play() checks only properties that hold for any body. */
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
    struct str expected; /* the lines that begin with '>', unchanged */
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

/* Parses a sample. Returns false if `text` is not a valid sample. `text` must outlive `s`. */
bool sample_parse(struct sample *s, struct str text);
/* Lets the connector parse the response of the sample, and stores the result in `s`. Aborts if the result
 * violates a property that holds for any body. */
void sample_play(struct arena *a, struct sample *s);
/* Appends the result, in the form of the lines that begin with '>'. */
void sample_print(const struct sample *s, struct buf *out);
void sample_fini(struct sample *s);

/* Calls `fn` for each file of test/data/platforms, in the order of names. `text` is valid until `fn` returns.
 * Returns the number of files. */
typedef void (*sample_fn)(void *ctx, const char *name, struct str text);
int sample_for_each(sample_fn fn, void *ctx);

#endif
