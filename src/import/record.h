/* Parses one line of the import format (docs/data-in.md) and validates it as far as possible without the
 * database. */
#ifndef VT_IMPORT_RECORD_H
#define VT_IMPORT_RECORD_H

#include "base/str.h"
#include "base/uuid.h"
#include "store/model.h"

#include <stdint.h>

enum record_kind { RECORD_AUTHOR, RECORD_BOOK, RECORD_VIDEO, RECORD_READING };
enum { RECORD_KINDS = 4 };

/* Whether the line contains a field. A missing field is left unchanged; null clears it. */
enum given { GIVEN_NOT = 0, GIVEN_NULL, GIVEN_VALUE };

struct field {
    enum given given;
    union { /* valid only with GIVEN_VALUE */
        struct str text;
        struct uuid id;
        int64_t time_ms;
        int64_t count; /* 0 … COUNT_MAX; in an export, some fields may be larger (object_parser.h) */
        bool flag;
        int32_t date; /* days since 1970 */
        enum platform platform;
    };
};

/* A list of records. Its items are valid until the next line is parsed. */
struct field_list {
    void *items;
    size_t count;
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
    struct field_list post_list; /* of struct post_record; used only by record.c, other code uses `posts` */
    size_t post_count;           /* at most one per platform */
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

/* The maximum length of a line for record_parse(). */
enum { RECORD_LINE_MAX = 1024 * 1024 };

/* Whether an unknown field makes a line invalid. */
enum unknown_fields { UNKNOWN_FIELDS_REJECTED, UNKNOWN_FIELDS_IGNORED };

struct record_parser;
struct record_parser *record_parser_new(enum unknown_fields policy);
void record_parser_free(struct record_parser *p);

/* Returns true if the line is empty or contains only JSON white space. */
bool record_is_blank(struct str line);

/* Parses one line. Returns false if it is invalid and sets `*why` to the reason, which names the field. The
 * reason quotes nothing of the line except the name of an unknown field (escaped). Texts of the record and
 * the reason are valid until the next call.
 *
 * A line that lacks a required field is invalid. Every line requires `type`. An author, book or video
 * requires `id`; each of its posts requires `platform`; a reading requires `platform`, `post_id` and
 * `observed_at`. The caller must check the fields that are required only for a new row. */
bool record_parse(struct record_parser *p, struct str line, struct record *out, struct str *why);

/* If the line that record_parse() accepted last contains unknown fields, returns a text about the first of
 * them, such as `plan is not a field of an author (did you mean plan_active?)`, valid until the next call.
 * Otherwise returns p == NULL. */
struct str record_unknown_field(const struct record_parser *p);

#endif
