/* One line of the import format (decision 9) as a record: checked as far as a line can be checked without the
 * database. Used by the importer and by the spool. */
#ifndef VT_IMPORT_RECORD_H
#define VT_IMPORT_RECORD_H

#include "base/str.h"
#include "base/uuid.h"
#include "store/model.h"

#include <stdint.h>

enum record_kind { RECORD_AUTHOR, RECORD_BOOK, RECORD_VIDEO, RECORD_READING };
enum { RECORD_KINDS = 4 };

/* An upsert changes what it names, so a line that does not name a field is not one that says null. */
enum given { GIVEN_NOT = 0, GIVEN_NULL, GIVEN_VALUE };

struct field {
    enum given given;
    union { /* meaningful only with GIVEN_VALUE */
        struct str text;
        struct uuid id;
        int64_t time_ms;
        int64_t count; /* 0 … COUNT_MAX */
        bool flag;
        enum platform platform;
    };
};

struct author_record {
    struct field id, name, plan_active;
};

struct book_record {
    struct field id, author_id, title, subtitle, created_at;
};

struct post_record {
    struct field platform, post_id, url, posted_at;
};

struct video_record {
    struct field id, author_id, book_id, title, thumbnail_url;
    size_t post_count; /* no platform twice */
    struct post_record posts[PLATFORM_COUNT];
};

struct reading_record {
    struct field platform, post_id, observed_at, baseline;
    struct field counts[COUNT_KINDS]; /* by enum count_kind */
};

struct record {
    enum record_kind kind;
    union {
        struct author_record author;
        struct book_record book;
        struct video_record video;
        struct reading_record reading;
    };
};

/* Longer lines are not for record_parse(); readers report and skip them. */
enum { RECORD_LINE_MAX = 1024 * 1024 };

struct record_parser;
struct record_parser *record_parser_new(void);
void record_parser_free(struct record_parser *p);

/* True for a line with nothing but JSON white space, which is ignored. */
bool record_is_blank(struct str line);

/* Parses one line. False: `*why` is the reason, a sentence without a full stop that names the field and holds
 * no byte of the line. Texts of the record and the reason live until the next call. What is required of every
 * record of its kind is there (`id`; platform, post_id and observed_at of a reading; a post's platform); what
 * is required only of a new row is the caller's to check. */
bool record_parse(struct record_parser *p, struct str line, struct record *out, struct str *why);

#endif
