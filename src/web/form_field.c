/* Writes form fields as HTML. */
#include "web/form_field.h"

static void append(struct buf *b, const char *text)
{
    buf_append(b, str_from_cstr(text));
}

static void write_described_by(struct buf *b, const struct form_field *f)
{
    if (!f->hint && !f->error)
        return;
    HTML(b, " aria-describedby=\"");
    if (f->error) {
        append(b, f->id);
        HTML(b, "-error");
    }
    if (f->hint) {
        if (f->error)
            HTML(b, " ");
        append(b, f->id);
        HTML(b, "-hint");
    }
    HTML(b, "\"");
}

static void write_input(struct buf *b, const struct form_field *f)
{
    const char *type = f->type ? f->type : "text";
    HTML(b, "<input");
    html_attr(b, "id", str_from_cstr(f->id));
    html_attr(b, "name", str_from_cstr(f->id));
    html_attr(b, "type", str_from_cstr(type));
    html_attr(b, "autocomplete", str_from_cstr(f->autocomplete ? f->autocomplete : "off"));
    if (strcmp(type, "password") != 0)
        html_attr(b, "value", f->value);
    if (f->max_chars)
        html_attr_i64(b, "maxlength", f->max_chars);
    if (f->autocomplete && strcmp(f->autocomplete, "username") == 0)
        HTML(b, " autocapitalize=\"none\" spellcheck=\"false\"");
    append(b, f->readonly ? " readonly" : " required");
    if (f->error)
        HTML(b, " aria-invalid=\"true\"");
    write_described_by(b, f);
    HTML(b, ">");
}

static void write_note(struct buf *b, const struct form_field *f, const char *kind, const char *text)
{
    if (!text)
        return;
    HTML(b, "<span class=\"");
    append(b, kind);
    HTML(b, "\" id=\"");
    append(b, f->id);
    HTML(b, "-");
    append(b, kind);
    HTML(b, "\">");
    html_text(b, str_from_cstr(text));
    HTML(b, "</span>");
}

void form_field_write(struct buf *b, const struct form_field *f)
{
    HTML(b, "<div class=\"field\"><label for=\"");
    append(b, f->id);
    HTML(b, "\">");
    html_text(b, str_from_cstr(f->label));
    HTML(b, "</label>");
    write_input(b, f);
    write_note(b, f, "error", f->error);
    write_note(b, f, "hint", f->hint);
    HTML(b, "</div>\n");
}

void form_field_write_hidden(struct buf *b, const char *name, struct str value)
{
    HTML(b, "<input type=\"hidden\"");
    html_attr(b, "name", str_from_cstr(name));
    html_attr(b, "value", value);
    HTML(b, ">");
}
