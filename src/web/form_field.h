/* Form fields as HTML: a label, an input, a hint and an error message, linked for assistive technology. */
#ifndef VT_WEB_FORM_FIELD_H
#define VT_WEB_FORM_FIELD_H

#include "web/html.h"

struct form_field {
    const char *id, *label, *type; /* `id` is also the name; if `type` is NULL, "text" */
    const char *autocomplete;      /* if NULL, "off" */
    const char *hint;              /* may be NULL */
    const char *error;             /* why the value is invalid; NULL if it is valid */
    struct str value;              /* ignored if `type` is "password" */
    int max_chars;                 /* maxlength; if 0, no limit */
    bool readonly;
};

/* Writes the field with its label, hint and error message. */
void form_field_write(struct buf *b, const struct form_field *field);

/* Writes `<input type="hidden">`. */
void form_field_write_hidden(struct buf *b, const char *name, struct str value);

#endif
