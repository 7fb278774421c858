/* Applies the results of the items of a call to the pending posts. */
#include "fetch/post_outcome.h"

#include "base/check.h"
#include "base/clock.h"

static void record_miss(struct pending_post *post, struct pending_writes *writes)
{
    struct platform_post *record = &post->record;
    record->misses++;
    record->requested_at = clock_wall_ms();
    if (record->missed_since == TIME_NONE)
        record->missed_since = record->requested_at;
    pending_writes_add_post(writes, record);
}

static void clear_misses(struct platform_post *record)
{
    record->misses = 0;
    record->missed_since = TIME_NONE;
}

/* Returns the next account to try for a post that `tried` cannot read, or NULL if none exists. */
static struct fetch_account *next_account(const struct fetch_account *tried, struct pending_post *post)
{
    const struct author_posts *group = post->group;
    if (!tried->row) {
        /* The API key cannot read private videos, so try the author's account. If no run has ever read the
         * post, try the account only at the first miss. If the post has an account, this account must be
         * reconnected, and no other account can read the post. */
        if (!group->account_count || post->record.credential_row ||
            (post->read_at == TIME_NONE && post->record.misses))
            return NULL;
        post->by_owner = true;
        return &group->accounts[0];
    }
    if (post->record.credential_row || ++post->accounts_tried >= (int)group->account_count)
        return NULL;
    return &group->accounts[post->accounts_tried];
}

void post_set_missing(struct api_call *call, struct pending_writes *writes, struct pending_post *post,
                      bool record)
{
    struct fetch_account *next = next_account(call->account, post);
    post->group->by_key -= !call->account->row;
    if (next) {
        post->reads_own_id = false;
        fetch_account_add(next, post);
        return;
    }
    if (post->is_denied) {
        pending_post_set_result(post, POST_NO_DATA);
        return;
    }
    /* If an account has read the post before, only this account can show that it is missing. The API key, for
     * example, cannot read private videos. */
    if (record && (!post->record.credential_row || post->record.credential_row == call->account->row))
        record_miss(post, writes);
    call->account->missing += post->group->account_count == 1;
    pending_post_set_result(post, POST_MISSING);
}

static void set_read(const struct api_call *call, struct pending_writes *writes, struct pending_post *post,
                     const struct platform_item *item)
{
    struct platform_post *record = &post->record;
    const bool several = post->group->account_count > 1 || post->by_owner;
    const int64_t row = call->account->row && several ? call->account->row : record->credential_row;
    const int source = item->views_source ? item->views_source : record->views_source;
    const bool changed = record->misses || record->views_source != source || record->credential_row != row;
    memcpy(post->counts, item->counts, sizeof post->counts);
    clear_misses(record);
    record->views_source = source;
    record->credential_row = row;
    if (changed)
        pending_writes_add_post(writes, record);
    pending_post_set_result(post, POST_READ);
}

/* Stores the id that CALL_RESOLVE returned. From now on the post is read with this id. A views source that
 * was chosen before belongs to another object. */
static void set_resolved(const struct api_call *call, struct pending_writes *writes,
                         struct pending_post *post, const struct platform_item *item)
{
    struct platform_post *record = &post->record;
    clear_misses(record);
    record->resolved_id = arena_copy(&post->group->arena, item->resolved);
    if (!str_eq(record->resolved_id, record->post_id))
        record->views_source = VIEWS_SOURCE_NONE;
    pending_writes_add_post(writes, record);
    fetch_account_add(call->account, post);
}

/* Reads the post with its own id, without storing this. */
static void read_with_own_id(const struct api_call *call, struct pending_post *post)
{
    post->reads_own_id = true;
    fetch_account_add(call->account, post);
}

/* Records that the platform is still processing the post. If this continues, the post is read once a day like
 * a missing post. */
static void set_unresolved(struct pending_writes *writes, struct pending_post *post)
{
    record_miss(post, writes);
    pending_post_set_result(post, POST_NO_DATA);
}

static void set_permanent(struct pending_writes *writes, struct pending_post *post)
{
    post->record.is_permanent = true;
    pending_writes_add_post(writes, &post->record);
    pending_post_set_result(post, POST_PERMANENT);
}

/* Tries the next account. If none exists, the post does not count as missing, whatever other accounts report:
 * this account would have reported a deleted post. */
static void set_denied(struct api_call *call, struct pending_writes *writes, struct pending_post *post)
{
    post->is_denied = true;
    post_set_missing(call, writes, post, false);
}

static bool is_missing(const struct platform_item *item, bool ok)
{
    return item->state == ITEM_MISSING || (ok && item->state == ITEM_PENDING);
}

/* Applies the result of one item. Returns false if the post stays in the batch. */
static bool apply_item(struct api_call *call, struct pending_writes *writes, struct pending_post *post,
                       const struct platform_item *item, bool ok, bool all_missing)
{
    const bool resolves = call->request.kind == CALL_RESOLVE;
    if (resolves && item->resolved.len && item->state == ITEM_OK)
        set_resolved(call, writes, post, item);
    else if (resolves && item->resolved.len)
        read_with_own_id(call, post);
    else if (is_missing(item, ok))
        post_set_missing(call, writes, post, !all_missing);
    else if (resolves && (item->state == ITEM_OK || item->state == ITEM_NO_DATA))
        set_unresolved(writes, post);
    else if (item->state == ITEM_OK)
        set_read(call, writes, post, item);
    else if (item->state == ITEM_NO_DATA)
        pending_post_set_result(post, POST_NO_DATA);
    else if (item->state == ITEM_DENIED && ok)
        set_denied(call, writes, post);
    else if (item->state == ITEM_PERMANENT)
        set_permanent(writes, post);
    else
        return false;
    return true;
}

/* Returns true if the author has several accounts, and it is unknown which of them can read the post. */
static bool has_unknown_account(const struct pending_post *post)
{
    return post->group->account_count > 1 && !post->record.credential_row;
}

/* Returns true if the response contains none of the posts, so that the account is the likely cause. Returns
 * false if the account itself was requested with the posts, because then the posts are proven to be deleted.
 * Also returns false if the API key has returned posts of the author or may still return some: then the
 * account reads only the posts that the API key cannot read, and these may all be deleted. Posts that may
 * belong to another account of the author do not count. */
static bool are_all_missing(const struct api_call *call, bool ok)
{
    const struct platform_call *request = &call->request;
    struct list *l = &call->batch->posts;
    size_t missing = 0;
    if (!call->account->row || request->kind == CALL_RESOLVE || request->with_account ||
        call->account->group->by_key)
        return false;
    for (size_t i = 0; i < request->item_count; i++) {
        l = l->next;
        if (!is_missing(&request->items[i], ok))
            return false;
        missing += !has_unknown_account(LIST_ENTRY(l, struct pending_post, link));
    }
    return missing > 1;
}

void post_outcomes_apply(struct api_call *call, struct pending_writes *writes, bool ok)
{
    struct list *posts = &call->batch->posts, *l = posts->next;
    const bool all_missing = are_all_missing(call, ok);
    call->account->seen += ok && call->request.with_account;
    if (all_missing)
        fetch_account_record_failure(call->account, writes, "missing", STR("all"));
    for (size_t i = 0; i < call->request.item_count; i++) {
        const struct platform_item *item = &call->request.items[i];
        struct pending_post *post = LIST_ENTRY(l, struct pending_post, link);
        CHECK(l != posts);
        l = l->next;
        call->account->seen +=
            item->state == ITEM_OK || item->state == ITEM_NO_DATA || item->state == ITEM_PERMANENT;
        if (apply_item(call, writes, post, item, ok, all_missing))
            call->batch->count--;
    }
}
