/* Manages the posts of an author during a run. */
#include "fetch/author_posts.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUP_BLOCK = 4096 };

void post_window_init(struct post_window *w, enum platform platform, struct run *run,
                      struct result_set *results, struct pending_writes *writes)
{
    *w = (struct post_window){.platform = platform, .run = run, .results = results, .writes = writes};
    list_init(&w->groups);
}

struct author_posts *author_posts_new(struct post_window *window)
{
    struct author_posts *group = xcalloc(1, sizeof *group);
    list_init(&group->link);
    group->window = window;
    arena_init(&group->arena, GROUP_BLOCK);
    return group;
}

void post_window_add(struct post_window *w, struct author_posts *group, const struct walk_position *at)
{
    CHECK(group->open > 0);
    group->results = result_set_get(w->results, at);
    group->results->open_groups++;
    list_add_last(&w->groups, &group->link);
    w->group_count++;
    w->post_count += group->open;
}

void author_posts_free(struct author_posts *group)
{
    CHECK(group->open == 0 && group->references == 0);
    for (size_t i = 0; i < group->account_count; i++) {
        struct fetch_account *account = &group->accounts[i];
        /* With one post per call, no single response shows that all posts are missing, but the counts of all
         * calls together do. */
        if (account->missing > 1 && !account->seen && !group->by_key)
            fetch_account_record_failure(account, group->window->writes, "missing", STR("all"));
        list_remove(&account->link);
    }
    list_remove(&group->link);
    arena_fini(&group->arena);
    free(group);
}

static void free_if_unused(struct author_posts *group)
{
    if (group->open || group->references)
        return;
    group->window->group_count--;
    author_posts_free(group);
}

void author_posts_acquire(struct author_posts *group)
{
    if (group)
        group->references++;
}

void author_posts_release(struct author_posts *group)
{
    if (!group)
        return;
    CHECK(group->references > 0);
    group->references--;
    free_if_unused(group);
}

/* --- results of posts --- */

static void store_reading(const struct pending_post *post)
{
    const struct author_posts *group = post->group;
    struct reading reading = {.video_row = post->video_row,
                              .platform = group->window->platform,
                              .post_id_hash = hash_64(post->record.post_id, 0),
                              .lacks_views = post->counts[COUNT_VIEWS] == COUNT_NONE};
    memcpy(reading.counts, post->counts, sizeof reading.counts);
    result_set_add(group->window->results, group->results, post->video_posted_at, &reading);
}

void pending_post_set_result(struct pending_post *post, enum post_result result)
{
    static const enum run_counter counters[] = {
        [POST_READ] = RUN_READ,           [POST_NO_DATA] = RUN_NO_DATA, [POST_MISSING] = RUN_MISSING,
        [POST_PERMANENT] = RUN_PERMANENT, [POST_UNREAD] = RUN_UNREAD,
    };
    struct author_posts *group = post->group;
    struct post_window *window = group->window;
    CHECK(group->open > 0);
    list_remove(&post->link);
    run_count(window->run, window->platform, counters[result], 1);
    if (result == POST_READ)
        store_reading(post);
    window->post_count--;
    if (--group->open > 0)
        return;
    group->results->open_groups--;
    free_if_unused(group);
}

static void abandon_posts(struct list *posts)
{
    while (!list_is_empty(posts))
        pending_post_set_result(LIST_ENTRY(posts->next, struct pending_post, link), POST_UNREAD);
}

void call_batch_abandon(struct call_batch *batch)
{
    abandon_posts(&batch->posts);
    call_batch_free(batch);
}

void fetch_account_abandon(struct fetch_account *account)
{
    struct author_posts *group = account->group;
    account->abandoned = true;
    author_posts_acquire(
        group); /* otherwise, setting the result of the group's last post would free the account */
    while (!list_is_empty(&account->retries)) {
        struct call_batch *batch = LIST_ENTRY(account->retries.next, struct call_batch, link);
        list_remove(&batch->link);
        call_batch_abandon(batch);
    }
    abandon_posts(&account->queue[CALL_READ]);
    abandon_posts(&account->queue[CALL_RESOLVE]);
    fetch_account_update_ready(account);
    author_posts_release(group);
}

void api_queue_close(struct api_queue *q)
{
    q->throttle->closed = true;
    while (!list_is_empty(&q->ready))
        fetch_account_abandon(LIST_ENTRY(q->ready.next, struct fetch_account, link));
}

/* --- records of accounts --- */

void fetch_account_record_success(struct fetch_account *account, struct pending_writes *writes)
{
    if (!account->row || account->success_recorded || account->failure_recorded)
        return;
    account->success_recorded = true;
    const struct account_update update = {
        .kind = ACCOUNT_SUCCEEDED, .row = account->row, .at = clock_wall_ms()};
    pending_writes_add_account(writes, &update);
}

void fetch_account_record_failure(struct fetch_account *account, struct pending_writes *writes,
                                  const char *what, struct str code)
{
    struct account_update update = {
        .kind = ACCOUNT_FAILED, .row = account->row, .version = account->version, .at = clock_wall_ms()};
    if (!account->row || account->failure_recorded)
        return;
    account->failure_recorded = true;
    (void)snprintf(update.text, sizeof update.text, "%s %.*s", what, (int)code.len, code.p ? code.p : "");
    pending_writes_add_account(writes, &update);
}
