/* Reads the input files and stages their valid lines. */
#include "base/check.h"
#include "import/import_batch.h"
#include "import/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRESS_LINES = 1000 };

static void note_unknown_field(struct import *im, uint64_t input_line)
{
    struct import_summary *s = im->summary;
    const struct str field = record_unknown_field(im->parser);
    if (!field.p || s->unknown_field_lines++)
        return;
    s->first_unknown_line = input_line;
    (void)snprintf(s->first_unknown_field, sizeof s->first_unknown_field, "%.*s", (int)field.len, field.p);
}

static enum err stage_line(struct import *im, uint64_t input_line, struct str line)
{
    struct record record;
    struct str why;
    enum err err;
    if (import_stage_export_line(im, input_line, line, &err))
        return err;
    if (record_is_blank(line))
        return OK;
    im->summary->lines++;
    if (!record_parse(im->parser, line, &record, &why)) {
        import_report_bad_line(im, input_line, why);
        return OK;
    }
    note_unknown_field(im, input_line);
    err = staging_add(&im->staging, input_line, line, &record);
    return err ? import_fail_temp(im, err) : OK;
}

static enum err read_lines(struct import *im, struct line_reader *reader, int file, int64_t done_before,
                           int64_t total)
{
    enum line_kind kind = LINE_TEXT;
    struct str line;
    enum err err = OK;
    while (!err && kind != LINE_NONE) {
        err = line_reader_next(reader, &kind, &line);
        if (err)
            return import_fail(im, err, "%s: %s", im->options->files[file], strerror(errno));
        const uint64_t input_line = input_line_make(file, reader->number);
        if (kind == LINE_TEXT) {
            err = stage_line(im, input_line, line);
        } else if (kind == LINE_TOO_LONG) {
            im->summary->lines++;
            import_report_bad_line(im, input_line, STR("the line is longer than 1 MiB"));
            import_break_export(im);
        }
        if (reader->number % PROGRESS_LINES == 0) {
            import_show_progress(im, IMPORT_STAGING, done_before + reader->bytes_read, total);
            err = err ? err : import_heartbeat(im);
        }
    }
    return err;
}

static bool is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

/* Returns the size of all files together, or 0 if one is not a regular file. */
static int64_t input_bytes(const struct import *im)
{
    int64_t total = 0;
    for (int i = 0; i < im->options->file_count; i++) {
        struct stat st;
        const char *name = im->options->files[i];
        int fd = im->options->fds ? im->options->fds[i] : is_stdin(name) ? STDIN_FILENO : -1;
        if ((fd >= 0 ? fstat(fd, &st) : stat(name, &st)) != 0 || !S_ISREG(st.st_mode))
            return 0;
        total += st.st_size;
    }
    return total;
}

static int open_file(const struct import *im, int file)
{
    const char *name = im->options->files[file];
    if (im->options->fds)
        return im->options->fds[file];
    return is_stdin(name) ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
}

static void close_file(const struct import *im, int fd)
{
    if (!im->options->fds && fd != STDIN_FILENO)
        (void)close(fd);
}

static enum err read_file(struct import *im, struct line_reader *reader, int file, int64_t *done,
                          int64_t total)
{
    const char *name = im->options->files[file];
    int fd = open_file(im, file);
    if (fd < 0)
        return import_fail(im, ERR_IO, "%s: %s", name, strerror(errno));
    line_reader_open(reader, fd);
    enum err err = read_lines(im, reader, file, *done, total);
    import_end_file(im);
    *done += reader->bytes_read;
    close_file(im, fd);
    return err;
}

enum err import_stage_input(struct import *im)
{
    struct line_reader reader;
    const int64_t total = input_bytes(im);
    int64_t done = 0;
    enum err err = OK;
    line_reader_init(&reader);
    for (int i = 0; i < im->options->file_count && !err; i++)
        err = read_file(im, &reader, i, &done, total);
    line_reader_fini(&reader);
    return err;
}
