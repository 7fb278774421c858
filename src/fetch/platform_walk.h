/* A walk loads the posts of all authors at one platform, author by author, into a post window. All walks
 * visit the authors in the same order. Each walk is only as fast as its platform, so a slow platform fills
 * only its own post window. */
#ifndef VT_FETCH_PLATFORM_WALK_H
#define VT_FETCH_PLATFORM_WALK_H

#include "fetch/author_plan.h"

struct platform_walk {
    bool ended;    /* no more authors to load */
    bool has_more; /* platform_walk_fill() stopped early: call it again soon */
    bool by_age;   /* age-based read intervals are used, because there are more posts than one run can read */
    int passes;    /* 2 if by_age: first the posts up to a day old of all authors, then the older ones */
    int64_t first_author;    /* row of the author with whom the walk begins */
    struct walk_position at; /* the author loaded last */
    struct post_window window;
    int64_t planned, loaded; /* numbers of posts that this run has to load, and that it has loaded */
};

/* Initializes the walk, except the post window, which the caller initializes. `active` is true if the
 * platform has a configured API; otherwise the walk has no authors to load. */
void platform_walk_init(struct platform_walk *w, int64_t first_author, bool active);

/* Loads the posts of further authors while there is room in the post window. */
MUST_USE enum err platform_walk_fill(struct platform_walk *w, struct author_plan *plan);

/* Returns true if all posts are loaded and the result of each is known. */
bool platform_walk_is_done(const struct platform_walk *w);

/* Returns the position at which the next run must continue: the first author with a post whose result is not
 * known yet or, if all loaded posts have a result, the author loaded last. Precondition:
 * platform_walk_is_done() is false. */
struct walk_position platform_walk_open_position(const struct platform_walk *w);

/* Returns, for each pass, the position that all walks have reached. */
struct walk_progress platform_walks_progress(const struct platform_walk walks[PLATFORM_COUNT]);

/* ---- the author with whom the next run begins, if this run does not finish ---- */

/* Reads the author with whom this run begins. `*first_author` is 1 if the last run finished all walks. */
MUST_USE enum err first_author_load(struct run *run, int64_t *first_author);
/* Stores the author with whom the next run begins. `current` is the author with whom this run began. `next`
 * is 0 if this run finished all walks. */
MUST_USE enum err first_author_save(struct run *run, int64_t current, int64_t next);

#endif
