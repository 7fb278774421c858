/* Parses an nginx configuration, or the output of `nginx -T`, into a tree of directives. The output of
 * `nginx -T` also contains the included files; their directives are inserted after the `include`. */
#ifndef VT_DOCTOR_NGINX_CONFIG_H
#define VT_DOCTOR_NGINX_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum { NGINX_WORDS_MAX = 64, NGINX_DEPTH_MAX = 32, NGINX_FILES_MAX = 256 };

/* A directive such as `listen 80;` or a block such as `server { … }`. words[0] is its name. */
struct nginx_directive {
    struct str words[NGINX_WORDS_MAX];
    int count; /* number of words; words after the first NGINX_WORDS_MAX are dropped */
    bool is_block;
    struct str file; /* the file that contains the directive */
    int line;
    struct nginx_directive *parent, *first, *last, *next; /* `first` and `last` are the children */
};

/* Parses the text, which must outlive the arena. `name` is the name of the file, for messages. Returns the
 * root, whose children are the directives outside of all blocks, or NULL after setting `error`. */
struct nginx_directive *nginx_parse(struct arena *a, struct str text, struct str name, struct error *error);

/* Returns the next child of `block` that has this name and comes after the child `after`. If `after` is NULL,
 * returns the first child with this name. Returns NULL if no such child follows. */
const struct nginx_directive *nginx_next_child(const struct nginx_directive *block,
                                               const struct nginx_directive *after, const char *name);

/* Returns the block that applies to the directives `name` in `block`, as nginx inherits them: `block` or the
 * nearest block around it that has such a directive. Returns NULL if no block has it. */
const struct nginx_directive *nginx_find_inherited(const struct nginx_directive *block, const char *name);

/* Returns the next directive after `d` in the order of the text, inside or outside of blocks; NULL at the
 * end. */
const struct nginx_directive *nginx_next_in_text(const struct nginx_directive *d);

/* Returns the i-th word; p == NULL if the directive has fewer words. */
struct str nginx_word(const struct nginx_directive *d, int i);

#endif
