/* A small transaction that writes several tables, for tests that interrupt it, and a check that the file
 * contains all of its changes or none. */
#ifndef VT_TEST_WHOLE_STEP_H
#define VT_TEST_WHOLE_STEP_H

#include "lib/temp_db.h"

/* Inserts author 1 and video 1, and writes a first step with 1 view. */
void add_video_with_first_step(struct temp_db *t);

/* Writes a reading of `views` for video 1, its gain, an event with the value `views`, and the refresh time
 * of the author. Commits, or rolls back on an error. */
enum err write_step(struct store *s, int64_t views);

/* Returns the views of the last complete step. Fails the test if the tables disagree or the file is damaged.
 */
int64_t views_of_last_step(const char *path);

#endif
