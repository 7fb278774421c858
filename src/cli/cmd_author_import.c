/* viewtally author import: sets up the authors of a file in one transaction, so that a bad line changes
 * nothing and the file can be corrected and imported again. */
#include "base/plural.h"
#include "cli/author_file.h"
#include "cli/cmd_author_login.h"

#include "auth/api_key.h"
#include "base/clock.h"
#include "base/expiry_floor.h"
#include "base/file_sync.h"
#include "base/file_write.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/invite_link.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/shown_secret.h"
#include "store/accounts.h"
#include "store/erase.h"
#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 * 1024 * 1024 };

struct known_name {
    struct str name;
    int64_t row;
};

struct set_up_author {
    int64_t line, row;
    struct uuid id;
    struct str name, login;  /* login.p == NULL: the author has no sign-in name */
    struct invite_link link; /* link.link.p == NULL: none was created */
};

struct author_setup {
    const struct config *config;
    struct author_file file;
    const char *links_path; /* NULL: standard output */
    bool dry_run, has_links, renews_links, is_json, is_written;
    bool has_names; /* `names` contains the names of all authors in the database */
    VEC(struct known_name) names;
    VEC(struct set_up_author) authors;
    int64_t created, changed, unchanged, links;
};

/* ---- finding the author of a line ---- */

static bool collect_name(void *ctx, const struct author *a)
{
    struct author_setup *s = ctx;
    *VEC_ADD(&s->names) = (struct known_name){arena_copy(&s->file.arena, a->name), a->row};
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct known_name *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static enum err load_names(struct author_setup *s, struct store *store)
{
    if (s->has_names)
        return OK;
    s->has_names = true;
    const enum err err = store_list_authors(store, collect_name, s);
    if (s->names.count > 1)
        qsort(s->names.items, s->names.count, sizeof s->names.items[0], by_name);
    return err;
}

/* Finds the author who has the name. Sets `*row` to 0 if no author has the name, and to -1 if several authors
 * have it. */
static enum err find_name(struct author_setup *s, struct store *store, struct str name, int64_t *row)
{
    const struct known_name wanted = {.name = name};
    const enum err err = load_names(s, store);
    *row = 0;
    if (err || !name.p || !s->names.count)
        return err;
    const struct known_name *found = bsearch(&wanted, s->names.items, s->names.count, sizeof wanted, by_name);
    if (!found)
        return OK;
    const struct known_name *end = s->names.items + s->names.count;
    const bool is_repeated = (found > s->names.items && str_eq(found[-1].name, name)) ||
                             (found + 1 < end && str_eq(found[1].name, name));
    *row = is_repeated ? -1 : found->row;
    return OK;
}

/* Finds the author of a line by name, as find_name() does. Called if the line contains no sign-in name, or
 * one that no author has. If the line contains one, an author who already has another sign-in name does not
 * match. */
static enum err find_by_name(struct author_setup *s, struct store *store, struct arena *arena,
                             const struct author_line *line, int64_t *row)
{
    struct viewer viewer;
    enum err err = find_name(s, store, line->name, row);
    if (err || *row <= 0 || !line->login.p)
        return err;
    err = store_get_viewer(store, arena, *row, &viewer);
    if (!err && viewer.login.p)
        *row = 0;
    return err;
}

/* Finds the author of a line. Sets `*row` to 0 if the author does not exist yet. */
static enum err find_row(struct author_setup *s, struct store *store, struct arena *arena,
                         const struct author_line *line, int64_t *row)
{
    struct author author;
    struct viewer viewer;
    enum err err;
    *row = 0;
    if (line->has_id) {
        err = store_find_author(store, arena, &line->id, &author);
        *row = err ? 0 : author.row;
        return err == ERR_NOT_FOUND ? OK : err;
    }
    if (line->login.p) {
        err = store_get_login(store, arena, line->login, &viewer);
        if (err != ERR_NOT_FOUND) {
            *row = err ? 0 : viewer.author_row;
            return err;
        }
    }
    return find_by_name(s, store, arena, line, row);
}

/* ---- applying a line ---- */

static enum err insert_author(struct author_setup *s, struct store *store, const struct author_line *line,
                              int64_t *row)
{
    struct author author = {.id = line->has_id ? line->id : uuid_generate(),
                            .name = line->name,
                            .plan_active = !line->has_plan || line->plan_active,
                            .created_at = clock_wall_ms(),
                            .views_refreshed_at = TIME_NONE};
    const enum err err = store_insert_author(store, &author);
    *row = author.row;
    s->created += !err;
    return err;
}

/* Stores the name and the plan of the line. Sets `*changed` to true if one of them differs from the stored
 * value. */
static enum err update_author(struct store *store, struct arena *arena, const struct author_line *line,
                              int64_t row, bool *changed)
{
    struct author author;
    enum err err = store_get_author(store, arena, row, &author);
    if (err)
        return err;
    const bool renames = line->name.p && !str_eq(line->name, author.name);
    *changed = renames || (line->has_plan && line->plan_active != author.plan_active);
    if (renames)
        author.name = line->name;
    if (line->has_plan)
        author.plan_active = line->plan_active;
    const struct actor by = cli_operator();
    return *changed ? store_update_author(store, &author, clock_wall_ms(), &by) : OK;
}

/* Stores the sign-in name of the line, if it contains one that differs from the stored one. Returns
 * ERR_EXISTS if another author has the sign-in name. */
static enum err update_login(struct store *store, struct arena *arena, const struct author_line *line,
                             int64_t row, bool *changed)
{
    struct viewer viewer;
    enum err err = store_get_viewer(store, arena, row, &viewer);
    if (err || !line->login.p || (viewer.login.p && str_eq(viewer.login, line->login)))
        return err;
    err = login_check_available(store, arena, line->login, row);
    *changed = true;
    return err ? err : store_set_login_name(store, row, line->login);
}

static enum err add_link(struct author_setup *s, struct store *store, const struct viewer *viewer,
                         struct set_up_author *author)
{
    bool is_pending = false;
    enum err err = store_has_invitation(store, author->row, expiry_now_ms(), &is_pending);
    if (err || !s->has_links || viewer->password.p || (is_pending && !s->renews_links))
        return err;
    s->links++;
    return invite_link_insert(store, &s->file.arena, s->config, author->row, author->login, &author->link);
}

static enum err record_author(struct author_setup *s, struct store *store, struct arena *arena,
                              const struct author_line *line, int64_t row)
{
    struct viewer viewer;
    enum err err = store_get_viewer(store, arena, row, &viewer);
    if (err)
        return err;
    struct set_up_author *author = VEC_ADD(&s->authors);
    *author = (struct set_up_author){
        .line = line->line, .row = row, .id = viewer.id, .name = arena_copy(&s->file.arena, viewer.name)};
    if (viewer.login.p)
        author->login = arena_copy(&s->file.arena, viewer.login);
    return add_link(s, store, &viewer, author);
}

static enum err apply_found(struct author_setup *s, struct store *store, struct arena *arena,
                            const struct author_line *line, int64_t row)
{
    bool changed = false, login_changed = false;
    const bool is_new = row == 0;
    enum err err =
        is_new ? insert_author(s, store, line, &row) : update_author(store, arena, line, row, &changed);
    if (!err)
        err = update_login(store, arena, line, row, &login_changed);
    if (err == ERR_EXISTS) {
        author_file_reject(&s->file, line->line, "another author uses this login");
        return OK;
    }
    if (err)
        return err;
    s->changed += !is_new && (changed || login_changed);
    s->unchanged += !is_new && !changed && !login_changed;
    return record_author(s, store, arena, line, row);
}

/* Sets `*is_erased` to true if the line contains the id of an erased author. A file that is imported again
 * must not create an author who has been erased since. */
static enum err find_erased(struct store *store, const struct author_line *line, bool *is_erased)
{
    *is_erased = false;
    return line->has_id ? store_find_tombstone(store, &line->id, is_erased) : OK;
}

static enum err apply_line(struct author_setup *s, struct store *store, struct arena *arena,
                           const struct author_line *line)
{
    int64_t row;
    bool is_erased;
    enum err err = find_row(s, store, arena, line, &row);
    if (!err)
        err = find_erased(store, line, &is_erased);
    if (err)
        return err;
    if (!row && is_erased)
        author_file_reject(&s->file, line->line,
                           "this author was erased; to create the author again, first run viewtally author "
                           "add --id UUID");
    else if (row < 0)
        author_file_reject(&s->file, line->line, "several authors have this name: give the id or the login");
    else if (!row && !line->name.p)
        author_file_reject(&s->file, line->line, "there is no such author yet, and name is missing");
    else
        return apply_found(s, store, arena, line, row);
    return OK;
}

static int by_row(const void *a, const void *b)
{
    const struct set_up_author *x = a, *y = b;
    const int order = (x->row > y->row) - (x->row < y->row);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Rejects lines that name the same author in different ways, for example by id and by sign-in name. */
static void reject_repeated(struct author_setup *s)
{
    struct set_up_author *all = s->authors.items;
    if (s->authors.count < 2)
        return;
    qsort(all, s->authors.count, sizeof *all, by_row);
    for (size_t i = 1; i < s->authors.count; i++)
        if (all[i].row == all[i - 1].row)
            author_file_reject(&s->file, all[i].line, "this is the same author as in line %lld",
                               (long long)all[i - 1].line);
}

/* ---- printing the links and the summary ---- */

/* Quotes a CSV field. If the text begins like a formula, which a spreadsheet would run, puts an apostrophe in
 * front. */
static void append_field(struct buf *b, struct str text, char end)
{
    buf_append_char(b, '"');
    if (text.len && strchr("=+-@\t\r", text.p[0]))
        buf_append_char(b, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '"')
            buf_append_char(b, '"');
        buf_append_char(b, text.p[i]);
    }
    buf_append_char(b, '"');
    buf_append_char(b, end);
}

static void append_csv(struct buf *b, const struct author_setup *s)
{
    buf_append(b, STR("id,name,login,link,expires_at\n"));
    for (size_t i = 0; i < s->authors.count; i++) {
        const struct set_up_author *a = &s->authors.items[i];
        char expires[TIME_TEXT_LEN + 1] = "";
        if (!a->link.link.p)
            continue;
        time_format(a->link.expires_at, expires);
        cli_append_uuid(b, &a->id);
        buf_append_char(b, ',');
        append_field(b, a->name, ',');
        append_field(b, a->login.p ? a->login : STR(""), ',');
        buf_append(b, a->link.link);
        buf_printf(b, ",%.*s\n", TIME_TEXT_LEN, expires);
    }
}

static void append_json_links(struct buf *b, const struct author_setup *s)
{
    JSON_KEY(b, "links");
    json_open(b, '[');
    for (size_t i = 0; i < s->authors.count; i++) {
        const struct set_up_author *a = &s->authors.items[i];
        if (!a->link.link.p)
            continue;
        json_open(b, '{');
        JSON_UUID(b, "id", &a->id);
        JSON_STR(b, "name", a->name);
        JSON_STR(b, "login", a->login);
        JSON_STR(b, "link", a->link.link);
        JSON_TIME(b, "expires_at", a->link.expires_at);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void append_json(struct buf *b, const struct author_setup *s)
{
    json_open(b, '{');
    JSON_BOOL(b, "dry_run", s->dry_run);
    JSON_I64(b, "new", s->created);
    JSON_I64(b, "changed", s->changed);
    JSON_I64(b, "unchanged", s->unchanged);
    JSON_I64(b, "new_links", s->links);
    if (!s->dry_run && !s->links_path)
        append_json_links(b, s);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

/* Returns false with errno set on failure. */
static bool write_buffer(int fd, const struct buf *b)
{
    errno = EFBIG; /* the reason if the text exceeds OUTPUT_MAX */
    return !b->failed && file_write_all(fd, b->p, b->len) && fsync(fd) == 0;
}

static bool write_links(struct author_setup *s)
{
    struct buf b;
    buf_init(&b, OUTPUT_MAX);
    append_csv(&b, s);
    const int fd = open(s->links_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    s->is_written = fd >= 0;
    const bool written = fd >= 0 && write_buffer(fd, &b);
    const bool ok = file_close(fd, written) && file_sync_directory_of(s->links_path);
    if (!ok)
        (void)cli_fail(CLI_COULD_NOT, "%s: %s, so nothing was changed", s->links_path, strerror(errno));
    buf_fini(&b);
    return ok;
}

/* Writes the links. Called before the commit: if the links cannot be written, a rollback restores the earlier
 * links that they replace. */
static bool show_links(struct author_setup *s)
{
    struct buf b;
    if (s->links_path && !write_links(s))
        return false;
    if (s->links_path || !s->has_links)
        return true;
    buf_init(&b, OUTPUT_MAX);
    if (s->is_json)
        append_json(&b, s);
    else
        append_csv(&b, s);
    return shown_secret_print(&b);
}

/* Prints the summary. If the links are written to standard output, the summary goes to standard error; with
 * --json, it was already printed together with the links. */
static enum cli_exit print_summary(const struct author_setup *s)
{
    const bool links_shown = s->has_links && !s->links_path && !s->dry_run;
    FILE *to = links_shown ? stderr : stdout;
    struct buf b;
    if (s->is_json && links_shown)
        return CLI_DONE;
    if (s->is_json) {
        buf_init(&b, OUTPUT_MAX);
        append_json(&b, s);
        return cli_print(&b);
    }
    if (s->dry_run)
        (void)fprintf(to, "Dry run: nothing was changed. The import would do this:\n");
    (void)fprintf(to, "authors    %lld new, %lld changed, %lld unchanged\nlinks      %lld new\n",
                  (long long)s->created, (long long)s->changed, (long long)s->unchanged, (long long)s->links);
    return cli_flush();
}

/* ---- the command ---- */

static enum err apply_file(struct store *store, struct arena *arena, void *ctx)
{
    struct author_setup *s = ctx;
    enum err err = OK;
    for (size_t i = 0; i < s->file.lines.count && !err; i++) {
        arena_reset(arena);
        err = apply_line(s, store, arena, &s->file.lines.items[i]);
    }
    if (err)
        return err;
    reject_repeated(s);
    if (s->file.bad_lines || s->dry_run)
        return ERR_CANCELED;
    return show_links(s) ? OK : ERR_CANCELED;
}

static enum cli_exit set_up(struct cli *cli, struct author_setup *s, const char *path)
{
    const enum cli_exit code = author_file_read(&s->file, path);
    if (code)
        return code;
    const enum err err = s->file.bad_lines ? ERR_CANCELED : cli_transaction(cli, apply_file, s);
    if (err == ERR_UNKNOWN_OUTCOME && s->is_written)
        cli_note("%s contains the links, which are valid if the change was made", s->links_path);
    else if (err && s->is_written)
        (void)unlink(s->links_path);
    if (s->file.bad_lines)
        return cli_fail(CLI_PART, "%lld bad line%s, so nothing was changed", (long long)s->file.bad_lines,
                        plural(s->file.bad_lines, "", "s"));
    return err && !(s->dry_run && err == ERR_CANCELED) ? CLI_COULD_NOT : print_summary(s);
}

enum cli_exit author_import(struct cli *cli, const struct cli_arguments *arguments)
{
    struct author_setup s = {.config = &cli->config,
                             .links_path = cli_value(arguments, "links"),
                             .dry_run = cli_flag(arguments, "dry-run"),
                             .has_links = !cli_flag(arguments, "no-links"),
                             .renews_links = cli_flag(arguments, "new-links"),
                             .is_json = cli_flag(arguments, "json")};
    if (!s.has_links && (s.links_path || s.renews_links))
        return cli_fail(CLI_USAGE, "--no-links cannot be used with --links or --new-links");
    if (s.links_path && access(s.links_path, F_OK) == 0)
        return cli_fail(CLI_PART, "%s already exists, and nothing was changed: name a new file",
                        s.links_path);
    const enum cli_exit code = set_up(cli, &s, arguments->operands[0]);
    VEC_FREE(&s.names);
    VEC_FREE(&s.authors);
    author_file_fini(&s.file);
    return code;
}
