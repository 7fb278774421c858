/* One small transaction that writes several tables, and a look at the file that tells whether it is there as
 * a whole: for tests that break something in the middle of it. */
#ifndef VT_TEST_WHOLE_STEP_H
#define VT_TEST_WHOLE_STEP_H

#include "lib/temp_db.h"

/* Author 1 with video 1, and a first step with 1 view. */
void add_stepped_video(struct temp_db *t);

/* A reading of `views` on video 1, its gain, an event with that value, the author touched; committed, or
 * rolled back on an error. */
enum err write_step(struct store *s, int64_t views);

/* The views of the last whole step. Fails the test when the tables do not agree about it or the file is
 * damaged. */
int64_t whole_views(const char *path);

#endif
