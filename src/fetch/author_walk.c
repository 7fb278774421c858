/* A platform's walk over the authors: all lanes go the same way round, each at the pace of its platform. */
#include "fetch/engine.h"

#include "base/check.h"
#include "store/platform_limits.h"

#include <stdlib.h>

/* Where the next run begins; of all APIs, under the first one's number. */
#define LIMIT_WALK STR("first_author")

/* In one go, so that the loop turns also where nobody has anything to ask. */
enum { FILL_AUTHORS = 500 };

int position_cmp(const struct position *a, const struct position *b)
{
    if (a->pass != b->pass)
        return a->pass < b->pass ? -1 : 1;
    if (a->wrapped != b->wrapped)
        return a->wrapped ? 1 : -1;
    return (a->author_row > b->author_row) - (a->author_row < b->author_row);
}

bool lane_is_done(const struct lane *lane)
{
    return lane->ended && !lane->part_count;
}

/* The author behind `at`; false: that was the last one of all passes. */
static enum err next_author(struct engine *e, struct lane *lane)
{
    for (;;) {
        int64_t row;
        enum err err = store_next_author(e->store, lane->at.author_row, &row);
        if (err && err != ERR_NOT_FOUND)
            return run_fail(e->run, err, "the database says: %s", err_name(err));
        if (!err && !(lane->at.wrapped && row >= e->first_author)) {
            lane->at.author_row = row;
            return OK;
        }
        if (!lane->at.wrapped) {
            lane->at.wrapped = true;
            lane->at.author_row = 0;
            continue;
        }
        if (lane->at.pass + 1 == lane->passes)
            return ERR_NOT_FOUND;
        lane->at = (struct position){.pass = lane->at.pass + 1, .author_row = e->first_author - 1};
    }
}

static void admit(struct engine *e, struct lane *lane, struct part *part)
{
    part->visit = visit_at(e, &lane->at);
    part->visit->parts_open++;
    list_add_last(&lane->parts, &part->link);
    lane->part_count++;
    lane->ask_count += part->open;
    lane->loaded += (int64_t)part->open;
}

enum err lane_fill(struct engine *e, struct lane *lane)
{
    struct plan plan;
    enum err err = OK;
    lane->filling = false;
    if (lane->ended || lane->ask_count >= WINDOW_ASKS || lane->part_count >= WINDOW_PARTS)
        return OK;
    plan_init(&plan);
    for (int n = 0; !err && lane->ask_count < WINDOW_ASKS && lane->part_count < WINDOW_PARTS; n++) {
        struct part *part = NULL;
        if (n == FILL_AUTHORS) {
            lane->filling = true;
            break;
        }
        err = next_author(e, lane);
        if (!err)
            err = plan_part(e, &plan, lane, lane->at.author_row, &part);
        if (part && part->open) {
            admit(e, lane, part);
        } else if (part) {
            lane->part_count++; /* as part_free() takes it off */
            part_free(e, part);
        }
    }
    plan_fini(&plan);
    lane->ended = err == ERR_NOT_FOUND;
    return lane->ended ? OK : err;
}

/* --- runs that do not come to their end --- */

enum err walk_restore(struct engine *e)
{
    struct platform_limit limit;
    e->first_author = 1;
    enum err err = store_get_limit(e->store, API_TIKTOK, LIMIT_WALK, &limit);
    if (!err && limit.value > 1)
        e->first_author = limit.value;
    return err && err != ERR_NOT_FOUND ? run_fail(e->run, err, "the database says: %s", err_name(err)) : OK;
}

/* The first author of whom something was still open. */
static struct position open_at(const struct lane *lane)
{
    struct position first = lane->at;
    for (const struct list *l = lane->parts.next; l != &lane->parts; l = l->next) {
        const struct part *part = LIST_ENTRY((struct list *)(uintptr_t)l, struct part, link);
        if (position_cmp(&part->visit->at, &first) < 0)
            first = part->visit->at;
    }
    return first;
}

void note_truncated(struct engine *e)
{
    struct position furthest_behind = {0};
    bool found = false;
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        const struct lane *lane = &e->lanes[p];
        if (lane_is_done(lane))
            continue;
        /* Those that were not even loaded. On the ladder it is not known which of them were due. */
        if (!lane->ended && !lane->ladder && lane->planned > lane->loaded)
            run_count(e->run, lane->platform, RUN_UNANSWERED, lane->planned - lane->loaded);
        const struct position at = open_at(lane);
        if (!found || position_cmp(&at, &furthest_behind) < 0)
            furthest_behind = at;
        found = true;
    }
    e->stopped_at_author = found ? furthest_behind.author_row : 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct gate *g = &e->gates[api];
        const struct lane *lane = &e->lanes[g->desc->platform];
        /* One that was left alone because it fails is not behind for being too many. */
        const bool behind = g->active && !lane_is_done(lane) && !g->closed && !g->breaker.until && !e->err &&
                            !list_is_empty(&g->ready);
        g->changed = g->changed || behind != g->behind;
        g->behind = behind;
    }
}

enum err walk_save(struct engine *e)
{
    const struct platform_limit limit = {
        .api = API_TIKTOK, .name = LIMIT_WALK, .value = e->stopped_at_author, .until = TIME_NONE};
    if (e->stopped_at_author <= 1 && e->first_author <= 1)
        return OK;
    enum err err = run_begin(e->run);
    if (err)
        return err;
    err = limit.value > 1 ? store_put_limit(e->store, &limit)
                          : store_delete_limit(e->store, API_TIKTOK, LIMIT_WALK);
    if (!err)
        return run_commit(e->run);
    run_rollback(e->run);
    return run_fail(e->run, err, "the database says: %s", err_name(err));
}
