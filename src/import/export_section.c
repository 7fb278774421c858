/* The first and the last line of an export are recognized by their beginning, without parsing them. */
#include "import/export_section.h"

#include "base/check.h"
#include "import/author_export.h"

enum err export_sections_open(struct export_sections *s, const char *dir)
{
    *s = (struct export_sections){.file.fd = -1};
    return temp_file_open(&s->file, dir);
}

void export_sections_close(struct export_sections *s)
{
    temp_file_close(&s->file);
    VEC_FREE(&s->complete);
}

bool export_section_is_first_line(struct str line)
{
    return str_starts_with(line, STR(EXPORT_FIRST_LINE));
}

void export_section_begin(struct export_sections *s, uint64_t input_line)
{
    CHECK(!s->is_open);
    s->is_open = true;
    s->is_broken = false;
    s->open = (struct export_section){.from = s->file.size, .first_line = input_line};
}

void export_section_abandon(struct export_sections *s)
{
    s->is_open = false;
}

enum err export_section_add(struct export_sections *s, uint64_t input_line, struct str line)
{
    const bool is_last = str_starts_with(line, STR(EXPORT_LAST_LINE));
    enum err err = OK;
    CHECK(s->is_open);
    if (!s->is_broken)
        err = staged_line_add(&s->file, input_line, line);
    if (err || !is_last)
        return err;
    s->open.to = s->file.size;
    if (!s->is_broken)
        *VEC_ADD(&s->complete) = s->open;
    s->is_open = false;
    return OK;
}

enum err export_section_open_reader(struct export_sections *s, const struct export_section *section,
                                    struct staged_line_reader *reader)
{
    return staged_line_reader_open(reader, &s->file, section->from, section->to);
}
