/* A platform's walk over the authors, which keeps a window of their posts loaded. All walks visit the authors
 * in the same order, each at the pace of its platform: a slow platform fills only its own window. */
#ifndef VT_FETCH_PLATFORM_WALK_H
#define VT_FETCH_PLATFORM_WALK_H

#include "fetch/author_plan.h"

struct platform_walk {
    bool ended;    /* no more authors to load */
    bool has_more; /* platform_walk_fill() stopped early: call it again soon */
    bool by_age;   /* age-based read intervals: there are more posts than one run can read */
    int passes;    /* 2 with by_age: fresh posts of all authors first */
    int64_t first_author;
    struct walk_position at; /* the author loaded last */
    struct post_window window;
    int64_t planned, loaded; /* posts of this run */
};

/* The window is initialized by the caller. `active`: the platform has a configured API. */
void platform_walk_init(struct platform_walk *w, int64_t first_author, bool active);

/* Loads authors while there is room in the window. */
MUST_USE enum err platform_walk_fill(struct platform_walk *w, struct author_plan *plan);

/* Whether all posts are loaded and settled. */
bool platform_walk_is_done(const struct platform_walk *w);

/* The first author with posts that are not settled or not loaded. Precondition: not done. */
struct walk_position platform_walk_open_position(const struct platform_walk *w);

/* How far all walks have come. */
struct walk_progress platform_walks_progress(const struct platform_walk walks[PLATFORM_COUNT]);

/* ---- the author with whom the next run begins, if this one did not finish ---- */

/* 1 if the last run got through all authors. */
MUST_USE enum err first_author_load(struct run *run, int64_t *first_author);
/* `next`: 0 if this run got through all authors. */
MUST_USE enum err first_author_save(struct run *run, int64_t current, int64_t next);

#endif
