/* Form fields: a label, its input, what to know and what is wrong, tied together for everybody. */
#ifndef VT_WEB_FORM_FIELD_H
#define VT_WEB_FORM_FIELD_H

#include "web/html.h"

struct form_field {
    const char *id, *label, *type; /* type NULL: text. `id` is the name too */
    const char *autocomplete;      /* NULL: off */
    const char *hint;              /* NULL: none */
    const char *fault;             /* NULL: nothing is wrong */
    struct str value;              /* never of a password */
    int max_chars;                 /* 0: no limit said */
    bool readonly;
};

/* A block with the field. */
void form_field_write(struct buf *b, const struct form_field *field);

/* `<input type="hidden">` */
void form_field_write_hidden(struct buf *b, const char *name, struct str value);

#endif
