/* A fixture for tests of the connectors of Meta (Facebook and Instagram): calls, requests and responses
 * without a network. Tests write JSON with ' instead of ", which is unambiguous because no sample contains
 * a '. */
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

/* Initializes a call for the posts with these ids (a list that ends with NULL), with tier 0, no dropped
 * metrics, and no chosen views source. */
void graph_rig_init(struct graph_rig *r, const struct platform_desc *desc, const char *const *ids);
void graph_rig_fini(struct graph_rig *r);

/* Returns a copy of `text`, in the arena of `r`, in which each ' is replaced by ". */
struct str graph_rig_json(struct graph_rig *r, const char *text);

/* Returns the JSON of one operation of a batch response, with status and body, or `null` if `body` is NULL.
 */
struct str graph_rig_entry(struct graph_rig *r, int code, const char *body);
/* Returns the JSON list of the entries. */
struct str graph_rig_batch(struct graph_rig *r, const struct str *entries, size_t count);

/* Adds a header to the next responses. */
void graph_rig_header(struct graph_rig *r, const char *name, const char *value);

/* Calls parse() of the connector with a response that has the headers in `headers`. Returns the outcome and
 * also stores it in `got`. The body is allocated with its exact size, so that AddressSanitizer detects
 * overruns. graph_rig_parse_text() takes the body as JSON for graph_rig_json(). */
struct outcome graph_rig_parse(struct graph_rig *r, int status, struct str body);
struct outcome graph_rig_parse_text(struct graph_rig *r, int status, const char *text);

/* Calls build() of the connector and stores the request in `request`. */
void graph_rig_build(struct graph_rig *r);

/* Returns the form field `name` of the request's body, decoded. */
struct str graph_rig_field(struct graph_rig *r, const char *name);

void assert_counts(const struct platform_item *item, int64_t views, int64_t likes, int64_t comments,
                   int64_t shares, int64_t saves);
/* Compares the kind and the code, and for OUTCOME_RETRY also the scope. */
void assert_outcome(struct outcome o, enum outcome_kind kind, enum outcome_scope scope, const char *code);

#endif
