/* Parses JSON objects with tables: for each kind of object, a table lists the fields with their types and the
 * members of the record that receive them. Numbers are read as raw text, so that counts of any size are
 * checked exactly. Only record.c and export_record.c include this header. */
#ifndef VT_IMPORT_OBJECT_PARSER_H
#define VT_IMPORT_OBJECT_PARSER_H

#include "base/arena.h"
#include "import/record.h"

#include <yyjson.h>

enum { OBJECT_TEXT_MAX = 2000, OBJECT_POST_ID_MAX = 255 }; /* maximum lengths in bytes */

enum field_type {
    FIELD_TYPE, /* the field `type`, which the caller has already read */
    FIELD_ID,   /* a UUID */
    FIELD_TEXT,
    FIELD_URL,
    FIELD_TIME,
    FIELD_DATE, /* YYYY-MM-DD */
    FIELD_FLAG,
    FIELD_COUNT, /* 0 to COUNT_MAX */
    FIELD_TOTAL, /* 0 to GAINED_MAX */
    FIELD_SUM,   /* 0 to INT64_MAX */
    FIELD_PLATFORM,
    FIELD_LIST, /* a list of objects, which rule->list describes; its member is a struct field_list */
};

struct list_rule;
struct field_rule {
    const char *name;
    enum field_type type;
    size_t offset; /* of the member in the record: a struct field or a struct field_list */
    bool required, nullable;
    size_t min_len, max_len; /* only for FIELD_TEXT, in bytes */
    const struct list_rule *list;
};

/* Defines a rule for a field that is stored in `member` of `struct record_type`. Further members of the rule
 * may follow. */
#define FIELD(field_name, field_kind, record_type, member, ...)                                              \
    {                                                                                                        \
        .name = field_name, .type = field_kind, .offset = offsetof(struct record_type, member), __VA_ARGS__  \
    }

/* A kind of object: a line, or an item of a list within a line. */
struct object_kind {
    const char *name, *with_article;
    const struct field_rule *rules; /* ends with a rule without a name */
};

struct list_rule {
    struct object_kind item;
    size_t item_size;
    size_t max; /* maximum number of items */
};

enum { OBJECT_POOL_LINE_MAX = 4096 /* a line up to this length is parsed without an allocation */ };

struct object_parser {
    yyjson_doc *doc; /* the document of the last line; texts of the record point into it */
    void *pool;
    size_t pool_size;
    struct arena items; /* items of lists */
    const char *list;   /* name of the list whose item is being read, for messages; NULL: none */
    size_t item;        /* index of the item that is being read */
    enum unknown_fields unknown_fields;
    bool has_unknown; /* the line contains an unknown field; `unknown` describes the first one */
    char unknown[400];
    char why[400];
};

void object_parser_init(struct object_parser *p, enum unknown_fields policy);
void object_parser_fini(struct object_parser *p);

/* Reads a line as a JSON object. Returns NULL and sets p->why if the line is not a JSON object. The object is
 * valid until the next call. */
yyjson_val *object_parser_read(struct object_parser *p, struct str line);

/* Parses the fields of `object` into the record at `out`. Returns false and sets p->why if a field is
 * invalid, missing, repeated, or (depending on the policy) unknown. */
MUST_USE bool object_parser_parse(struct object_parser *p, yyjson_val *object, const struct object_kind *kind,
                                  void *out);

/* Sets p->why to the formatted text and returns false. */
bool object_parser_reject(struct object_parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the reason to "FIELD problem", or to "LIST[INDEX].FIELD problem" for a field of an item. Returns
 * false. */
bool object_parser_reject_field(struct object_parser *p, const char *field, const char *problem);

#endif
