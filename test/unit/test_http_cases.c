/* Replays the scripts in test/cases; the format is in test/cases/README.md. */
#include "unit.h"

#include "lib/http_rig.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES_MAX = 200, RESPONSES_MAX = 32, CUTS_MAX = 400 };
static const char DIRECTORY[] = "test/cases";

struct expected {
    int status;
    bool is_head;
    struct str body; /* p == NULL: any body */
};

struct script {
    char path[300];
    char *text;
    struct buf stream;
    size_t count;
    struct expected responses[RESPONSES_MAX];
    bool closes, has_end;
};

/* ---- parsing cases ---- */

static struct str repeat(struct script *s, struct str line)
{
    char *end;
    unsigned long n = strtoul(line.p, &end, 10);
    size_t used = (size_t)(end - line.p);
    if (used + 3 > line.len || end[0] != ':' || end[2] != '}')
        fail_msg("%s: a repetition must have the form \\{1000:a}", s->path);
    while (n-- > 0)
        buf_append_char(&s->stream, end[1]);
    return str_make(line.p + used + 3, line.len - used - 3);
}

static struct str escape(struct script *s, struct str line)
{
    static const char letters[] = "rnt\\", bytes[] = "\r\n\t\\";
    const char *at = line.len ? memchr(letters, line.p[0], 4) : NULL;
    if (at) {
        buf_append_char(&s->stream, bytes[at - letters]);
        return str_make(line.p + 1, line.len - 1);
    }
    if (line.len >= 3 && line.p[0] == 'x') {
        char hex[3] = {line.p[1], line.p[2], '\0'};
        buf_append_char(&s->stream, (char)strtoul(hex, NULL, 16));
        return str_make(line.p + 3, line.len - 3);
    }
    if (line.len && line.p[0] == '{')
        return repeat(s, str_make(line.p + 1, line.len - 1));
    fail_msg("%s: invalid escape", s->path);
    return line;
}

static void add_bytes(struct script *s, struct str line)
{
    while (line.len) {
        char c = line.p[0];
        line = str_make(line.p + 1, line.len - 1);
        if (c == '\\')
            line = escape(s, line);
        else
            buf_append_char(&s->stream, c);
    }
}

static void add_expected(struct script *s, struct str line)
{
    struct str rest, word;
    if (str_eq(line, STR("close")) || str_eq(line, STR("open"))) {
        s->closes = line.p[0] == 'c';
        s->has_end = true;
        return;
    }
    assert_true(s->count < RESPONSES_MAX);
    struct expected *e = &s->responses[s->count++];
    rest = str_cut(line, ' ', &word);
    e->status = (int)strtol(word.p, NULL, 10);
    e->is_head = rest.p && str_eq(rest, STR("HEAD"));
    e->body = e->is_head ? (struct str){NULL, 0} : rest;
}

static void add_line(struct script *s, struct str line)
{
    if (str_starts_with(line, STR(">> "))) {
        add_bytes(s, str_make(line.p + 3, line.len - 3));
    } else if (str_starts_with(line, STR("> ")) || str_eq(line, STR(">"))) {
        if (line.len > 2)
            add_bytes(s, str_make(line.p + 2, line.len - 2));
        buf_append(&s->stream, STR("\r\n"));
    } else if (str_starts_with(line, STR("< "))) {
        add_expected(s, str_make(line.p + 2, line.len - 2));
    } else if (line.len && !str_starts_with(line, STR("#"))) {
        fail_msg("%s: invalid line: %.*s", s->path, (int)line.len, line.p);
    }
}

static void read_script(struct script *s, const char *name)
{
    enum { FILE_MAX = 64 << 10 };
    *s = (struct script){.text = malloc(FILE_MAX)};
    buf_init(&s->stream, 1 << 20);
    (void)snprintf(s->path, sizeof s->path, "%s/%s", DIRECTORY, name);
    FILE *file = fopen(s->path, "rb");
    assert_non_null(file);
    struct str rest = str_make(s->text, fread(s->text, 1, FILE_MAX, file)), line;
    (void)fclose(file);
    assert_true(rest.len < FILE_MAX);
    s->text[rest.len] = '\0'; /* for strtol() */
    while (rest.p) {
        rest = str_cut(rest, '\n', &line);
        add_line(s, line);
    }
    if (!s->has_end || s->text[0] != '#')
        fail_msg("%s: must begin with a comment and end with close or open", s->path);
}

/* ---- replaying ---- */

static size_t final_responses(const struct peer *p, const struct script *s, struct peer_response *out,
                              size_t max)
{
    struct peer_response all[RESPONSES_MAX * 2];
    char heads[RESPONSES_MAX * 2 + 1] = "";
    size_t finals = 0;
    /* No case combines HEAD with interim responses, which would shift the indices in `heads`. */
    for (size_t i = 0; i < s->count; i++)
        heads[i] = s->responses[i].is_head ? 'H' : '.';
    size_t n = peer_responses(p, heads, all, RESPONSES_MAX * 2);
    for (size_t i = 0; i < n && finals < max; i++)
        if (all[i].status >= 200 && all[i].complete)
            out[finals++] = all[i];
    return finals;
}

static bool is_complete(struct peer *p, const struct script *s)
{
    struct peer_response responses[RESPONSES_MAX];
    peer_read(p);
    return p->ended || (!s->closes && final_responses(p, s, responses, RESPONSES_MAX) >= s->count);
}

static void expect_outcome(struct peer *p, const struct script *s, const char *how, size_t n)
{
    struct peer_response responses[RESPONSES_MAX];
    rig_until(p->rig, is_complete(p, s));
    rig_iterate_n(p->rig, 3);
    peer_read(p);
    size_t got = final_responses(p, s, responses, RESPONSES_MAX);
    bool same = got == s->count && p->ended == s->closes && !p->reset;
    for (size_t i = 0; same && i < got; i++)
        same = responses[i].status == s->responses[i].status &&
               (!s->responses[i].body.p || str_eq(responses[i].body, s->responses[i].body));
    if (!same)
        fail_msg("%s, %s %zu: %zu responses, %s%s: %.*s", s->path, how, n, got, p->ended ? "closed" : "open",
                 p->reset ? " (reset)" : "", (int)p->len, p->in ? p->in : "");
}

static void replay(struct rig *rig, const struct script *s, size_t cut, size_t step, const char *how)
{
    struct str rest = buf_str(&s->stream);
    struct peer p;
    peer_open(&p, rig);
    while (rest.len && !p.ended) {
        size_t n = step ? step : cut ? cut : rest.len;
        n = n < rest.len ? n : rest.len;
        (void)peer_send(&p, str_make(rest.p, n));
        rig_iterate_n(rig, 2);
        rest = str_make(rest.p + n, rest.len - n);
        cut = 0;
    }
    expect_outcome(&p, s, how, step ? step : buf_str(&s->stream).len - rest.len);
    peer_fini(&p);
}

static void replay_all_ways(struct rig *rig, const struct script *s)
{
    size_t len = s->stream.len, by = len / CUTS_MAX + 1;
    replay(rig, s, 0, 0, "whole");
    for (size_t cut = 1; cut < len; cut += by)
        replay(rig, s, cut, 0, "cut");
    replay(rig, s, 0, by, "in pieces of");
}

static void replay_case(void **state)
{
    struct script s;
    struct rig rig;
    read_script(&s, *state);
    rig_init(&rig, NULL, false);
    replay_all_ways(&rig, &s);
    rig_fini(&rig);
    buf_fini(&s.stream);
    free(s.text);
}

static int is_case(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 5 && strcmp(entry->d_name + len - 5, ".http") == 0;
}

int main(void)
{
    static struct CMUnitTest tests[CASES_MAX];
    struct dirent **entries;
    int n = scandir(DIRECTORY, &entries, is_case, alphasort);
    if (n <= 0 || n > CASES_MAX) {
        (void)fprintf(stderr, "%s: %s; run it from the top of the tree\n", DIRECTORY,
                      n < 0 ? "cannot be read" : "has no cases or too many");
        return 1;
    }
    for (int i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){
            .name = entries[i]->d_name, .test_func = replay_case, .initial_state = entries[i]->d_name};
    int failed = _cmocka_run_group_tests("cases", tests, (size_t)n, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return failed;
}
