/* Form fields as HTML: a label, an input, a hint and an error message, linked for assistive technology. */
#ifndef VT_WEB_FORM_FIELD_H
#define VT_WEB_FORM_FIELD_H

#include "web/html.h"

struct form_field {
    const char *id, *label, *type; /* `id` is also the name; type NULL: "text" */
    const char *autocomplete;      /* NULL: "off" */
    const char *hint;              /* NULL: none */
    const char *error;             /* what is wrong with the value; NULL: nothing */
    struct str value;              /* not written for a password */
    int max_chars;                 /* 0: no maxlength */
    bool readonly;
};

/* Writes the field as a block. */
void form_field_write(struct buf *b, const struct form_field *field);

/* Writes `<input type="hidden">`. */
void form_field_write_hidden(struct buf *b, const char *name, struct str value);

#endif
