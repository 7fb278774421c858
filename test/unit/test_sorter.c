/* Compares the external sort with qsort(), with buffers so small that sorted runs are merged over several
 * levels. */
#include "import/sorter.h"

#include "import/tempfile.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/vt-sorter-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir); /* fails if a file is left */
}

static struct sort_record random_record(unsigned *seed, uint64_t sequence, int spread)
{
    struct sort_record r = {
        .observed_at = rand_r(seed) % spread - spread / 2,
        .sequence = sequence,
        .video_row = rand_r(seed),
        .platform = rand_r(seed) % 5,
        .baseline = rand_r(seed) % 2,
    };
    r.author.b[0] = (uint8_t)(rand_r(seed) % 3 * 100); /* includes bytes above 127, which compare unsigned */
    r.author.b[15] = (uint8_t)(rand_r(seed) % 3);
    for (int k = 0; k < COUNT_KINDS; k++)
        r.counts[k] = rand_r(seed) - 1;
    return r;
}

static int by_keys(const void *a, const void *b)
{
    const struct sort_record *x = a, *y = b;
    if (x->observed_at != y->observed_at)
        return x->observed_at < y->observed_at ? -1 : 1;
    for (int i = 0; i < 16; i++)
        if (x->author.b[i] != y->author.b[i])
            return x->author.b[i] - y->author.b[i];
    return x->sequence < y->sequence ? -1 : 1;
}

static void sorts(size_t n, size_t in_memory, int spread)
{
    unsigned seed = (unsigned)(n * 31 + in_memory);
    struct sort_record *all = calloc(n + 1, sizeof *all), out;
    bool has;
    struct sorter *s = sorter_new(dir, in_memory * (sizeof *all + sizeof(void *)));
    for (size_t i = 0; i < n; i++) {
        all[i] = random_record(&seed, i, spread);
        assert_int_equal(sorter_add(s, &all[i]), OK);
    }
    qsort(all, n, sizeof *all, by_keys);
    assert_int_equal(sorter_finish(s), OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sorter_next(s, &out, &has), OK);
        assert_true(has);
        assert_memory_equal(&out, &all[i], sizeof out);
    }
    assert_int_equal(sorter_next(s, &out, &has), OK);
    assert_false(has);
    sorter_free(s);
    free(all);
}

static void sorts_empty_and_small_inputs(void **state)
{
    (void)state;
    sorts(0, 10, 10);
    sorts(1, 10, 10);
    sorts(1, 1, 10);
    sorts(10, 10, 1000);
}

static void sorts_inputs_around_the_size_of_the_buffer(void **state)
{
    (void)state;
    for (size_t n = 95; n <= 105; n++)
        sorts(n, 100, 50);
    for (size_t n = 299; n <= 301; n++)
        sorts(n, 100, 1000000);
}

/* In the first three cases, each sorted run has one record. Of such runs, 32 are merged into a run of the
 * next level, and 1,024 into a run of the level above. */
static void sorts_inputs_that_need_several_merge_levels(void **state)
{
    (void)state;
    sorts(33, 1, 1000);
    sorts(1025, 1, 1000);
    sorts(3000, 1, 100000);
    sorts(20000, 7, 100000);
    sorts(50000, 1000, 3);
}

static void sorter_can_be_freed_in_every_state(void **state)
{
    (void)state;
    unsigned seed = 1;
    struct sort_record r;
    bool has;
    sorter_free(sorter_new(dir, 1000));
    for (int finish = 0; finish < 2; finish++) {
        struct sorter *s = sorter_new(dir, 1000);
        for (uint64_t i = 0; i < 500; i++) {
            r = random_record(&seed, i, 1000);
            assert_int_equal(sorter_add(s, &r), OK);
        }
        if (finish) {
            assert_int_equal(sorter_finish(s), OK);
            assert_int_equal(sorter_next(s, &r, &has), OK);
        }
        sorter_free(s);
    }
    sorter_free(NULL);
}

static enum err count_call(void *ctx)
{
    int *left = ctx;
    return --*left ? OK : ERR_CANCELED;
}

/* Adds `n` records to a sorter that merges as soon as it has 32 runs of 100 records. */
static enum err add_records(struct sorter *s, size_t n)
{
    unsigned seed = 1;
    enum err err = OK;
    for (size_t i = 0; i < n && !err; i++) {
        const struct sort_record r = random_record(&seed, i, 1000);
        err = sorter_add(s, &r);
    }
    return err;
}

static void merging_calls_the_heartbeat_after_every_1000_records(void **state)
{
    (void)state;
    int left = 100;
    struct sorter *s = sorter_new(dir, 100 * (sizeof(struct sort_record) + sizeof(void *)));
    sorter_set_heartbeat(s, count_call, &left);
    assert_int_equal(add_records(s, 3300), OK);
    assert_int_equal(left, 100 - 3); /* for 3,200 records in 32 runs */
    assert_int_equal(add_records(s, 1), OK);
    assert_int_equal(left, 100 - 6); /* the runs were merged, and a run of 100 records was added */
    sorter_free(s);
}

static void failing_heartbeat_ends_the_merge(void **state)
{
    (void)state;
    int left = 5;
    struct sorter *s = sorter_new(dir, 100 * (sizeof(struct sort_record) + sizeof(void *)));
    sorter_set_heartbeat(s, count_call, &left);
    assert_int_equal(add_records(s, 3300), OK);
    assert_int_equal(add_records(s, 1), ERR_CANCELED);
    sorter_free(s);
}

static void missing_directory_is_an_error(void **state)
{
    (void)state;
    unsigned seed = 1;
    enum err err = OK;
    struct sorter *s = sorter_new("/nowhere/at/all", 1);
    for (uint64_t i = 0; i < 3 && !err; i++) {
        struct sort_record r = random_record(&seed, i, 10);
        err = sorter_add(s, &r);
    }
    assert_int_not_equal(err, OK);
    sorter_free(s);
}

static void temporary_files_have_no_name_in_the_directory(void **state)
{
    (void)state;
    struct temp_file f;
    struct temp_reader a, b;
    char chunk[1000], back[1000];
    assert_int_equal(temp_file_open(&f, dir), OK);
    for (int i = 0; i < 500; i++) {
        memset(chunk, i, sizeof chunk);
        assert_int_equal(temp_file_write(&f, chunk, sizeof chunk), OK);
    }
    assert_int_equal(temp_file_flush(&f), OK);
    assert_int_equal(f.size, 500000);
    DIR *d = opendir(dir);
    struct dirent *e;
    while ((e = readdir(d)) != NULL)
        assert_true(e->d_name[0] == '.' && strlen(e->d_name) < 3);
    closedir(d);
    temp_reader_open(&a, &f, 0, 500000);
    temp_reader_open(&b, &f, 499000, 500000);
    for (int i = 0; i < 500; i++) {
        memset(chunk, i, sizeof chunk);
        assert_true(temp_reader_has_more(&a));
        assert_int_equal(temp_reader_read(&a, back, sizeof back), OK);
        assert_memory_equal(chunk, back, sizeof back);
    }
    assert_false(temp_reader_has_more(&a));
    assert_int_equal(temp_reader_read(&b, back, sizeof back), OK);
    assert_memory_equal(chunk, back, sizeof back);
    temp_reader_close(&a);
    temp_reader_close(&b);
    assert_int_equal(temp_file_truncate(&f), OK);
    assert_int_equal(f.size, 0);
    temp_file_close(&f);
    temp_file_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_empty_and_small_inputs),
        cmocka_unit_test(sorts_inputs_around_the_size_of_the_buffer),
        cmocka_unit_test(sorts_inputs_that_need_several_merge_levels),
        cmocka_unit_test(sorter_can_be_freed_in_every_state),
        cmocka_unit_test(merging_calls_the_heartbeat_after_every_1000_records),
        cmocka_unit_test(failing_heartbeat_ends_the_merge),
        cmocka_unit_test(missing_directory_is_an_error),
        cmocka_unit_test(temporary_files_have_no_name_in_the_directory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
