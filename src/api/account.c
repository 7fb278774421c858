/* GET /account: the account to which the key belongs. */
#include "api/api.h"

static bool on_account(void *ctx, const struct author *author, const struct api_key *key)
{
    struct request *r = ctx;
    struct str prefix = endpoint_call_of(r)->api->envelope.key_prefix;
    struct buf *b = envelope_begin(r);
    JSON_KEY(b, "data");
    json_open(b, '{');
    JSON_STR(b, "name", author->name);
    JSON_UUID(b, "id", &author->id);
    JSON_KEY(b, "plan");
    json_open(b, '{');
    JSON_BOOL(b, "active", author->plan_active);
    json_close(b, '}');
    JSON_TIME(b, "created_at", author->created_at);
    JSON_I64(b, "books_count", author->books_count);
    JSON_I64(b, "videos_count", author->videos_count);
    JSON_TIME_OR_NULL(b, "views_refreshed_at", author->views_refreshed_at != TIME_NONE,
                      author->views_refreshed_at);
    JSON_KEY(b, "key");
    json_open(b, '{');
    JSON_STR(b, "name", key->name);
    JSON_STR(b, "prefix",
             arena_printf(&r->arena, "%.*s…%.*s", (int)prefix.len, prefix.p, KEY_SUFFIX_LEN, key->suffix));
    JSON_TIME(b, "created_at", key->created_at);
    JSON_TIME_OR_NULL(b, "last_used_at", key->last_used_at != TIME_NONE, key->last_used_at);
    json_close(b, '}');
    json_close(b, '}');
    return true;
}

static enum next account_done_step(struct request *r)
{
    enum err err = endpoint_call_of(r)->read.err;
    return err ? envelope_store_error(r, err) : envelope_end(r);
}

static enum next account_step(struct request *r)
{
    struct endpoint_call *call = endpoint_call_of(r);
    r->step = account_done_step;
    return store_read_account(&call->read, call->owner.key_row, on_account, r);
}

const struct endpoint account_endpoint = {
    .route = {.path = "/account",
              .name = "/v1/account",
              .methods = ROUTE_GET,
              .flags = ENDPOINT_BY_KEY,
              .start = account_step},
};
