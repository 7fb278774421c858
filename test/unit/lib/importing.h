/* A fixture for imports into a temporary database: writes files, imports them, and collects the rejected
 * lines. */
#ifndef VT_TEST_IMPORTING_H
#define VT_TEST_IMPORTING_H

#include "base/buf.h"
#include "import/import.h"

#include "lib/temp_db.h"

/* The time of test imports: ten days after TEST_DAY. */
#define IMPORT_NOW (TEST_DAY + INT64_C(10) * DAY_MS)

struct importing {
    struct temp_db db;
    struct import_options options; /* files is set by import_files() */
    struct import_summary summary;
    struct buf bad; /* "NAME:LINE: reason\n" of the last import, NAME without the directory */
    enum err err;
};

void importing_init(struct importing *t);
void importing_fini(struct importing *t);

/* Returns the path of a file in the test's directory, valid until the end of the test. */
const char *write_file(struct importing *t, const char *name, struct str content);

/* Imports the files whose paths are the arguments, ended by NULL. Stores the result in `t`. */
void import_files(struct importing *t, const char *first, ...) __attribute__((sentinel));

/* Writes and imports one file, "f". */
void import_text(struct importing *t, const char *text);

/* Checks that the last import rejected exactly these lines. */
void assert_bad(const struct importing *t, const char *expected);

/* Lines of the import format. */
#define A1 "aaaaaaaa-0000-4000-8000-000000000001"
#define A2 "aaaaaaaa-0000-4000-8000-000000000002"
#define B1 "bbbbbbbb-0000-4000-8000-000000000001"
#define B2 "bbbbbbbb-0000-4000-8000-000000000002"
#define V1 "cccccccc-0000-4000-8000-000000000001"
#define V2 "cccccccc-0000-4000-8000-000000000002"
#define V3 "cccccccc-0000-4000-8000-000000000003"

#define AUTHOR(id, more)       "{\"type\":\"author\",\"id\":\"" id "\"" more "}\n"
#define BOOK(id, author, more) "{\"type\":\"book\",\"id\":\"" id "\",\"author_id\":\"" author "\"" more "}\n"
#define VIDEO(id, author, more)                                                                              \
    "{\"type\":\"video\",\"id\":\"" id "\",\"author_id\":\"" author "\"" more "}\n"
#define POST(platform, post_id, posted_at)                                                                   \
    "{\"platform\":\"" platform "\",\"post_id\":\"" post_id "\",\"posted_at\":\"" posted_at "\"}"
#define POSTS(list) ",\"posts\":[" list "]"
#define READING(platform, post_id, at, more)                                                                 \
    "{\"type\":\"reading\",\"platform\":\"" platform "\",\"post_id\":\"" post_id "\",\"observed_at\":\"" at  \
    "\"" more "}\n"
#define NAME(n)  ",\"name\":\"" n "\""
#define TITLE(t) ",\"title\":\"" t "\""
#define VIEWS(n) ",\"views\":" #n

#endif
