/* Loads the posts of the authors, one author after the other. */
#include "fetch/platform_walk.h"

#include "store/platform_limits.h"
#include "store/runs.h"

#include <limits.h>

/* The author with whom the next run begins. Stored as a limit of the first API, although it applies to all
 * APIs. */
#define LIMIT_FIRST_AUTHOR STR("first_author")

enum {
    WINDOW_POSTS = 4096, /* a post window with this many posts or more loads no further author */
    WINDOW_GROUPS = 256, /* maximum number of groups in a post window */
    FILL_AUTHORS = 500   /* authors per fill, so that the loop does not block if few authors have posts */
};

void platform_walk_init(struct platform_walk *w, int64_t first_author, bool active)
{
    w->passes = 1;
    w->ended = !active;
    w->first_author = first_author;
    w->at = (struct walk_position){.author_row = first_author - 1};
}

bool platform_walk_is_done(const struct platform_walk *w)
{
    return w->ended && !w->window.group_count;
}

/* Moves to the next author. Returns ERR_NOT_FOUND after the last author of the last pass. */
static enum err next_author(struct platform_walk *w)
{
    for (;;) {
        int64_t row;
        const enum err err = store_find_next_author(run_store(w->window.run), w->at.author_row, &row);
        if (err && err != ERR_NOT_FOUND)
            return run_fail_database(w->window.run, err);
        if (!err && !(w->at.wrapped && row >= w->first_author)) {
            w->at.author_row = row;
            return OK;
        }
        if (!w->at.wrapped) {
            w->at.wrapped = true;
            w->at.author_row = 0;
            continue;
        }
        if (w->at.pass + 1 == w->passes)
            return ERR_NOT_FOUND;
        w->at = (struct walk_position){.pass = w->at.pass + 1, .author_row = w->first_author - 1};
    }
}

static enum err load_next_author(struct platform_walk *w, struct author_plan *plan)
{
    struct author_posts *group;
    enum err err = next_author(w);
    if (err)
        return err;
    err = author_plan_read(plan, w->at.author_row);
    if (err)
        return err;
    const struct plan_selection selection = {
        .window = &w->window, .by_age = w->by_age, .pass = w->passes > 1 ? w->at.pass : READ_ALL_AGES};
    err = author_plan_load(plan, &selection, &group);
    if (!group)
        return err;
    post_window_add(&w->window, group, &w->at);
    w->loaded += (int64_t)group->open;
    return err;
}

static bool has_room(const struct platform_walk *w)
{
    return w->window.post_count < WINDOW_POSTS && w->window.group_count < WINDOW_GROUPS;
}

enum err platform_walk_fill(struct platform_walk *w, struct author_plan *plan)
{
    w->has_more = false;
    for (int n = 0; !w->ended && has_room(w); n++) {
        if (n == FILL_AUTHORS) {
            w->has_more = true;
            return OK;
        }
        const enum err err = load_next_author(w, plan);
        w->ended = err == ERR_NOT_FOUND;
        if (err && !w->ended)
            return err;
    }
    return OK;
}

struct walk_position platform_walk_open_position(const struct platform_walk *w)
{
    struct walk_position first = w->at;
    for (const struct list *l = w->window.groups.next; l != &w->window.groups; l = l->next) {
        const struct author_posts *group = LIST_ENTRY((struct list *)(uintptr_t)l, struct author_posts, link);
        if (walk_position_cmp(&group->results->at, &first) < 0)
            first = group->results->at;
    }
    return first;
}

struct walk_progress platform_walks_progress(const struct platform_walk walks[PLATFORM_COUNT])
{
    struct walk_progress progress;
    for (int pass = 0; pass < WALK_PASSES_MAX; pass++) {
        struct walk_position *reached = &progress.reached[pass];
        *reached = (struct walk_position){.pass = INT_MAX};
        for (int p = 0; p < PLATFORM_COUNT; p++)
            if (!walks[p].ended && pass < walks[p].passes && walk_position_cmp(&walks[p].at, reached) < 0)
                *reached = walks[p].at;
    }
    return progress;
}

/* --- the author with whom the next run begins --- */

enum err first_author_load(struct run *run, int64_t *first_author)
{
    struct platform_limit limit;
    const enum err err = store_get_platform_limit(run_store(run), API_TIKTOK, LIMIT_FIRST_AUTHOR, &limit);
    *first_author = !err && limit.value > 1 ? limit.value : 1;
    return err && err != ERR_NOT_FOUND ? run_fail_database(run, err) : OK;
}

static enum err write_first_author(struct store *store, void *ctx)
{
    const int64_t *next = ctx;
    const struct platform_limit limit = {
        .api = API_TIKTOK, .name = LIMIT_FIRST_AUTHOR, .value = *next, .until = TIME_NONE};
    return *next > 1 ? store_put_platform_limit(store, &limit)
                     : store_delete_platform_limit(store, API_TIKTOK, LIMIT_FIRST_AUTHOR);
}

enum err first_author_save(struct run *run, int64_t current, int64_t next)
{
    return next <= 1 && current <= 1 ? OK : run_transact(run, write_first_author, &next);
}
