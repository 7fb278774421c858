/* Tests the spool directory: listing, opening and moving files, and writing reports, also if the directory
 * contains entries that are not regular files. */
#include "refresh/spool_dir.h"

#include "lib/temp_db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW INT64_C(1782864000000)

static struct temp_db t;
static struct spool_dir d;
static char root[96];
static struct buf out;

static int set_up(void **state)
{
    (void)state;
    struct buf why;
    buf_init(&why, 4096);
    temp_dir_init(&t);
    buf_init(&out, 1 << 16);
    (void)snprintf(root, sizeof root, "%s/spool", t.dir);
    const enum err err = spool_dir_open(&d, root, &why);
    buf_fini(&why);
    return err;
}

static int tear_down(void **state)
{
    (void)state;
    spool_dir_close(&d);
    buf_fini(&out);
    temp_db_fini(&t);
    return 0;
}

static void put(const char *name, const char *content)
{
    int fd = openat(d.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(close(fd), 0);
}

static void set_time(const char *name, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(d.fd, name, times, 0), 0);
}

static void put_at(const char *name, int64_t seconds)
{
    put(name, "x");
    set_time(name, seconds);
}

static struct file_identity identity_of(const char *name)
{
    struct file_identity id;
    assert_int_equal(spool_dir_identify(&d, str_from_cstr(name), &id), OK);
    return id;
}

static bool exists(const char *name)
{
    return faccessat(d.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_content(const char *name, const char *expected)
{
    char found[256] = "";
    int fd = openat(d.fd, name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    (void)close(fd);
    assert_string_equal(found, expected);
}

static enum err move(const char *name, const struct file_identity *id, enum spool_place place)
{
    buf_reset(&out, SIZE_MAX);
    return spool_dir_move(&d, str_from_cstr(name), id, place, NOW, &out);
}

static void assert_out(const char *expected)
{
    assert_int_equal(out.len, strlen(expected));
    assert_memory_equal(out.p, expected, out.len);
}

/* --- tests --- */

static void creates_missing_directories_and_explains_errors(void **state)
{
    (void)state;
    struct spool_dir other;
    struct buf why;
    char path[160];
    struct stat st;
    assert_int_equal(fstatat(d.fd, "done", &st, 0), 0);
    assert_int_equal(fstatat(d.fd, "bad", &st, 0), 0);
    put("plain", "x");
    buf_init(&why, 4096);
    (void)snprintf(path, sizeof path, "%s/no/spool", t.dir);
    assert_int_equal(spool_dir_open(&other, path, &why), ERR_NOT_FOUND);
    buf_append_char(&why, '\n');
    (void)snprintf(path, sizeof path, "%s/plain", root);
    assert_int_equal(spool_dir_open(&other, path, &why), ERR_NOT_FOUND);
    buf_append_char(&why, '\0');
    assert_non_null(strstr(why.p, "no/spool: No such file or directory\n"));
    assert_non_null(strstr(why.p, "plain: Not a directory"));
    buf_fini(&why);
    spool_dir_close(&other);
}

static void lists_only_matching_regular_files(void **state)
{
    (void)state;
    char longest[SPOOL_NAME_MAX + 2];
    struct spool_list list;
    memset(longest, 'n', sizeof longest);
    memcpy(longest + SPOOL_NAME_MAX + 1 - 7, ".ndjson", 8);
    put(longest, "x"); /* one byte longer than allowed */
    put("a.ndjson.tmp", "x");
    put(".a.ndjson", "x");
    put(".ndjson", "x");
    put("a.json", "x");
    put("A.NDJSON", "x");
    assert_false(spool_dir_has_any(root));
    assert_int_equal(mkdirat(d.fd, "d.ndjson", 0700), 0);
    assert_int_equal(mkfifoat(d.fd, "f.ndjson", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", d.fd, "l.ndjson"), 0);
    assert_int_equal(symlinkat("nowhere", d.fd, "m.ndjson"), 0);
    assert_false(spool_dir_has_any(root));
    assert_int_equal(spool_dir_list(&d, &t.arena, &list), OK);
    assert_int_equal(list.count, 0);
    assert_int_equal(list.ignored, 4);
    put("b\n\x1b[31m \xff.ndjson", "x");
    assert_true(spool_dir_has_any(root));
    assert_int_equal(spool_dir_list(&d, &t.arena, &list), OK);
    assert_int_equal(list.count, 1);
}

static void sorts_by_time_then_name(void **state)
{
    (void)state;
    static const char *const order[] = {"z.ndjson", "b.ndjson", "c.ndjson", "a.ndjson"};
    struct spool_list list;
    put_at("a.ndjson", 3000);
    put_at("c.ndjson", 2000);
    put_at("b.ndjson", 2000);
    put_at("z.ndjson", 1000);
    assert_int_equal(spool_dir_list(&d, &t.arena, &list), OK);
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(str_eq(list.entries[i].name, str_from_cstr(order[i])));
}

static void opening_does_not_block_and_does_not_follow_links(void **state)
{
    (void)state;
    int fd;
    struct file_identity id, again;
    assert_int_equal(mkdirat(d.fd, "d.ndjson", 0700), 0);
    assert_int_equal(mkfifoat(d.fd, "f.ndjson", 0600), 0);
    put("real", "x");
    assert_int_equal(symlinkat("real", d.fd, "l.ndjson"), 0);
    assert_int_equal(spool_dir_open_file(&d, STR("d.ndjson"), &fd, &id), ERR_NOT_FOUND);
    assert_int_equal(spool_dir_open_file(&d, STR("f.ndjson"), &fd, &id), ERR_NOT_FOUND);
    assert_int_equal(spool_dir_open_file(&d, STR("l.ndjson"), &fd, &id), ERR_NOT_FOUND);
    assert_int_equal(spool_dir_open_file(&d, STR("none.ndjson"), &fd, &id), ERR_NOT_FOUND);
    put("a.ndjson", "12345");
    assert_int_equal(spool_dir_open_file(&d, STR("a.ndjson"), &fd, &id), OK);
    assert_int_equal(id.size, 5);
    assert_int_equal(spool_file_identify(fd, &again), OK);
    assert_true(file_identity_eq(&id, &again));
    put("a.ndjson", "123456");
    assert_int_equal(spool_file_identify(fd, &again), OK);
    assert_false(file_identity_eq(&id, &again));
    (void)close(fd);
}

static void detects_that_a_program_has_a_file_open_for_writing(void **state)
{
    (void)state;
    struct file_identity id;
    int fd, writer;
    put("a.ndjson", "12345");
    assert_int_equal(spool_dir_open_file(&d, STR("a.ndjson"), &fd, &id), OK);
    assert_false(spool_file_has_writer(fd));
    writer = openat(d.fd, "a.ndjson", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(spool_file_has_writer(fd));
    assert_true(spool_file_has_writer(fd));
    (void)close(writer);
    assert_false(spool_file_has_writer(fd));
    (void)close(fd);
}

static void move_never_overwrites(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        char content[16];
        (void)snprintf(content, sizeof content, "%d", i);
        put("a.ndjson", content);
        const struct file_identity id = identity_of("a.ndjson");
        assert_int_equal(move("a.ndjson", &id, SPOOL_DONE), OK);
        assert_int_equal(move("a.ndjson", &id, SPOOL_DONE), ERR_NOT_FOUND);
    }
    assert_content("done/a.ndjson", "0");
    assert_content("done/a.2026-07-01T00-00-00.000Z.ndjson", "1");
    assert_content("done/a.2026-07-01T00-00-00.001Z.ndjson", "2");
    assert_false(exists("a.ndjson"));
}

static void replaced_file_is_not_moved(void **state)
{
    (void)state;
    put("a.ndjson", "old");
    const struct file_identity id = identity_of("a.ndjson");
    put("b", "new");
    assert_int_equal(renameat(d.fd, "b", d.fd, "a.ndjson"), 0);
    assert_int_equal(move("a.ndjson", &id, SPOOL_DONE), ERR_NOT_FOUND);
    assert_content("a.ndjson", "new");
    put("c.ndjson", "short");
    const struct file_identity grows = identity_of("c.ndjson");
    put("c.ndjson", "longer than before");
    assert_int_equal(move("c.ndjson", &grows, SPOOL_BAD), ERR_NOT_FOUND);
    assert_true(exists("c.ndjson"));
}

static char one_line[] = "1: bad\n", again[] = "again\n";

static bool write_text(void *ctx, int fd)
{
    const char *text = ctx;
    if (!text) {
        (void)!write(fd, "half", 4);
        errno = ENOSPC;
        return false;
    }
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static void report_is_written_atomically(void **state)
{
    (void)state;
    assert_int_equal(spool_dir_report(&d, STR("a.ndjson"), write_text, NULL), ERR_FULL);
    assert_false(exists("bad/a.ndjson.errors"));
    assert_false(exists("bad/.a.ndjson.errors"));
    put("bad/.a.ndjson.errors", "left by a crash; longer than the report");
    assert_int_equal(spool_dir_report(&d, STR("a.ndjson"), write_text, one_line), OK);
    assert_content("bad/a.ndjson.errors", "1: bad\n");
    assert_false(exists("bad/.a.ndjson.errors"));
    assert_int_equal(spool_dir_report(&d, STR("a.ndjson"), write_text, again), OK);
    assert_content("bad/a.ndjson.errors", "1: bad\n");
}

static void bad_file_gets_a_name_that_has_no_report_yet_and_is_found_by_its_identity(void **state)
{
    (void)state;
    put("bad/a.ndjson.errors", "report of a file that was removed");
    put("a.ndjson", "x");
    const struct file_identity id = identity_of("a.ndjson");
    assert_int_equal(spool_dir_find_bad(&d, &id, &out), ERR_NOT_FOUND);
    assert_int_equal(move("a.ndjson", &id, SPOOL_BAD), OK);
    assert_out("a.2026-07-01T00-00-00.000Z.ndjson");
    buf_reset(&out, SIZE_MAX);
    assert_int_equal(spool_dir_find_bad(&d, &id, &out), OK);
    assert_out("a.2026-07-01T00-00-00.000Z.ndjson");
}

static void pruning_deletes_finished_files_also_with_a_time_in_their_names(void **state)
{
    (void)state;
    char name[SPOOL_NAME_MAX + 1], path[2][SPOOL_NAME_MAX + 64];
    memset(name, 'n', sizeof name);
    memcpy(name + SPOOL_NAME_MAX - 7, ".ndjson", 8);
    for (int i = 0; i < 2; i++) {
        put(name, i ? "2" : "1");
        const struct file_identity id = identity_of(name);
        assert_int_equal(move(name, &id, SPOOL_DONE), OK);
        (void)snprintf(path[i], sizeof path[i], "done/%.*s", (int)out.len, out.p);
    }
    assert_string_not_equal(path[0], path[1]);
    put("done/.hidden.ndjson", "3");
    put("done/notes.txt", "4");
    spool_dir_prune_finished(&d, INT64_MAX);
    assert_false(exists(path[0]));
    assert_false(exists(path[1]));
    assert_true(exists("done/.hidden.ndjson"));
    assert_true(exists("done/notes.txt"));
}

static void longest_name_leaves_room_for_all_suffixes(void **state)
{
    (void)state;
    char name[SPOOL_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    memcpy(name + SPOOL_NAME_MAX - 7, ".ndjson", 8);
    for (int i = 0; i < 2; i++) {
        put(name, i ? "2" : "1");
        const struct file_identity id = identity_of(name);
        assert_int_equal(move(name, &id, SPOOL_BAD), OK);
        assert_int_equal(spool_dir_report(&d, buf_str(&out), write_text, one_line), OK);
    }
}

/* The modification times descend in the order in which readdir() returns the files. So a list of the first
 * files that readdir() returns would contain the newest files. */
static void long_list_contains_the_oldest_files(void **state)
{
    enum { FILES = 2 * SPOOL_FILES_MAX + 2 };
    (void)state;
    struct arena a;
    struct spool_list list;
    const struct dirent *entry;
    int64_t seconds = FILES;
    char name[32];
    arena_init(&a, 4096);
    for (int i = 0; i < FILES; i++) {
        (void)snprintf(name, sizeof name, "%05d.ndjson", i);
        put(name, "x");
    }
    DIR *dir = opendir(root);
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (spool_dir_is_candidate(str_from_cstr(entry->d_name)))
            set_time(entry->d_name, seconds--);
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(seconds, 0);
    assert_int_equal(spool_dir_list(&d, &a, &list), OK);
    assert_int_equal(list.count, SPOOL_FILES_MAX);
    for (int64_t i = 0; i < SPOOL_FILES_MAX; i++)
        assert_int_equal(list.entries[i].identity.modified_ns, (i + 1) * 1000000000);
    arena_fini(&a);
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DIR_TEST(creates_missing_directories_and_explains_errors),
        DIR_TEST(lists_only_matching_regular_files),
        DIR_TEST(sorts_by_time_then_name),
        DIR_TEST(long_list_contains_the_oldest_files),
        DIR_TEST(opening_does_not_block_and_does_not_follow_links),
        DIR_TEST(detects_that_a_program_has_a_file_open_for_writing),
        DIR_TEST(move_never_overwrites),
        DIR_TEST(replaced_file_is_not_moved),
        DIR_TEST(report_is_written_atomically),
        DIR_TEST(bad_file_gets_a_name_that_has_no_report_yet_and_is_found_by_its_identity),
        DIR_TEST(pruning_deletes_finished_files_also_with_a_time_in_their_names),
        DIR_TEST(longest_name_leaves_room_for_all_suffixes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
