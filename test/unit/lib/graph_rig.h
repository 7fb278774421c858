/* For tests of Meta's connectors: calls, requests and responses without a network. JSON is written with '
 * instead of ", because no sample contains a '. */
#ifndef VT_TEST_GRAPH_RIG_H
#define VT_TEST_GRAPH_RIG_H

#include "unit.h"

#include "platforms/graph.h"

enum { RIG_ITEMS_MAX = 50 };

struct graph_rig {
    struct arena arena;
    const struct platform_desc *desc;
    struct platform_options options;
    struct platform_item items[RIG_ITEMS_MAX];
    struct platform_call call;
    struct http_request request;
    struct http_header headers[4]; /* of the next responses */
    size_t header_count;
    struct outcome got;
};

/* A call for posts of these ids (NULL ends them), tier 0, nothing dropped, no views source chosen. */
void meta_init(struct graph_rig *r, const struct platform_desc *desc, const char *const *ids);
void meta_fini(struct graph_rig *r);

struct str meta_json(struct graph_rig *r, const char *text);

/* One operation of a batch response: status and body; NULL: `null`. */
struct str meta_entry(struct graph_rig *r, int code, const char *body);
/* The entries as a list; NULL ends them. */
struct str meta_batch(struct graph_rig *r, const struct str *entries, size_t count);

void meta_header(struct graph_rig *r, const char *name, const char *value);

/* Calls parse(); the outcome is also in `got`. The body is allocated with its exact size, so that overruns
 * are detected. */
struct outcome meta_parse(struct graph_rig *r, int status, struct str body);
struct outcome meta_parse_text(struct graph_rig *r, int status, const char *text);

/* The request that build() returns for the call. */
void meta_build(struct graph_rig *r);

/* The form field `name` of the request's body, decoded. */
struct str meta_field(struct graph_rig *r, const char *name);

void assert_counts(const struct platform_item *item, int64_t views, int64_t likes, int64_t comments,
                   int64_t shares, int64_t saves);
void assert_outcome(struct outcome o, enum outcome_kind kind, enum outcome_scope scope, const char *code);

#endif
