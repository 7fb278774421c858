/* Lists and prunes the directory. Names are parsed strictly. Only regular files are listed, so only they are
 * pruned. */
#include "backup/backup_dir.h"

#include "backup/backup_file.h"
#include "base/check.h"
#include "store/backups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 100000 };

static int compare(const void *a, const void *b)
{
    const struct backup_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void add(struct backup_list *list, int fd, const char *name)
{
    struct backup_entry e;
    struct stat st;
    if (!backup_name_parse(str_from_cstr(name), &e.time_ms, &e.id) ||
        fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return;
    memcpy(e.name, name, strlen(name) + 1); /* the parser has checked the length */
    e.bytes = st.st_size;
    struct backup_entry *to = VEC_TRY_ADD(&list->entries, ENTRIES_MAX);
    if (to)
        *to = e;
}

enum err backup_dir_list(const char *directory, struct backup_list *list, struct error *error)
{
    const struct dirent *entry;
    *list = (struct backup_list){.entries = {0}};
    DIR *dir = opendir(directory);
    if (!dir)
        return error_set(
            error, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
            "the backup directory %s cannot be read: %s (create it, or mount its volume; it must "
            "belong to the user of the server)",
            directory, strerror(errno));
    while ((entry = readdir(dir)) != NULL)
        add(list, dirfd(dir), entry->d_name);
    (void)closedir(dir);
    if (list->entries.count)
        qsort(list->entries.items, list->entries.count, sizeof *list->entries.items, compare);
    return OK;
}

enum err backup_dir_select_own(struct backup_list *list, struct store *s)
{
    const uint32_t own = backup_id_of(store_id(s));
    size_t kept = 0;
    for (size_t i = 0; i < list->entries.count; i++) {
        const struct backup_entry e = list->entries.items[i];
        int64_t until = INT64_MAX;
        const enum err err = e.id == own ? OK : store_descends_from(s, e.id, &until);
        if (err && err != ERR_NOT_FOUND)
            return err;
        if (!err && e.time_ms <= until)
            list->entries.items[kept++] = e;
    }
    list->entries.count = kept;
    return OK;
}

static bool delete_file(const char *directory, const char *name, struct error *error)
{
    char path[FILE_PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    errno = ENAMETOOLONG;
    if (n > 0 && (size_t)n < sizeof path && (unlink(path) == 0 || errno == ENOENT))
        return true;
    error_set(error, ERR_IO, "cannot delete %s/%s: %s", directory, name, strerror(errno));
    return false;
}

/* For each of the first `count` backups in the list, sets keep[i] to true if the rule keeps the backup,
 * otherwise to false. */
static void select_kept(const struct backup_pruning *p, const struct backup_list *list, size_t count,
                        bool *keep)
{
    int64_t *times = xcalloc(count, sizeof *times);
    for (size_t i = 0; i < count; i++)
        times[i] = list->entries.items[i].time_ms;
    retention_select(&p->rule, times, count, keep);
    free(times);
}

int64_t backup_dir_prune(const struct backup_pruning *p, const struct backup_list *list, struct error *error)
{
    size_t count = list->entries.count;
    int64_t pruned = 0;
    while (count && list->entries.items[count - 1].time_ms > p->now_ms)
        count--;
    if (!count)
        return 0;
    bool *keep = xcalloc(count, sizeof *keep);
    select_kept(p, list, count, keep);
    for (size_t i = 0; i < count; i++) {
        const struct backup_entry *e = &list->entries.items[i];
        if (keep[i] || (!p->dry_run && !delete_file(p->directory, e->name, error)))
            continue;
        pruned++;
        if (p->deleted)
            p->deleted(p->ctx, e);
    }
    free(keep);
    return pruned;
}

void backup_dir_delete_drafts(const char *directory, uint32_t id)
{
    const struct dirent *entry;
    DIR *dir = opendir(directory);
    while (dir && (entry = readdir(dir)) != NULL) {
        struct str target;
        int64_t t;
        uint32_t draft_id;
        if (backup_draft_is_of(str_from_cstr(entry->d_name), &target) &&
            backup_name_parse(target, &t, &draft_id) && draft_id == id)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        (void)closedir(dir);
}
