/* Finds the exports in the input of an import and stages their lines unparsed. A section is one export, from
 * its first to its last line. Lines that belong to no export may precede and follow it. */
#ifndef VT_IMPORT_EXPORT_SECTION_H
#define VT_IMPORT_EXPORT_SECTION_H

#include "base/vec.h"
#include "import/staged_lines.h"

struct export_section {
    int64_t from, to;    /* range of the section in the temporary file */
    uint64_t first_line; /* the first line of the section, as an input line (staging.h) */
};

struct export_sections {
    struct temp_file file;
    VEC(struct export_section) complete;
    bool is_open;
    bool is_broken; /* the open section is skipped, and its rejection has been reported, because a line was
                       too long or the input must not contain exports */
    struct export_section open; /* valid if is_open */
};

/* Creates the temporary file in the directory `dir`. */
MUST_USE enum err export_sections_open(struct export_sections *s, const char *dir);
void export_sections_close(struct export_sections *s);

/* Returns true if the line is the first line of an export, so that a section must begin with it. */
bool export_section_is_first_line(struct str line);
/* Begins a section with the line `input_line`. Precondition: no section is open. */
void export_section_begin(struct export_sections *s, uint64_t input_line);
/* Adds a line to the open section. Ends the section if the line is the last line of an export. */
MUST_USE enum err export_section_add(struct export_sections *s, uint64_t input_line, struct str line);
/* Drops the open section, whose last line is missing. */
void export_section_abandon(struct export_sections *s);

/* Opens a reader of the section's lines. On failure, close it nevertheless. */
MUST_USE enum err export_section_open_reader(struct export_sections *s, const struct export_section *section,
                                             struct staged_line_reader *reader);

#endif
