/* Tests the generated references in docs/: each command and each configuration key has an entry that explains
 * it. */
#include "app/serve.h"
#include "cli/arguments.h"
#include "base/nearest_word.h"
#include "cli/example_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static char *written(bool (*write)(FILE *to))
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_true(write(to));
    assert_int_equal(fclose(to), 0);
    return text;
}

static bool write_commands(FILE *to)
{
    return cli_write_reference(to, &serve_command);
}

static void command_reference_contains_options_synopsis_and_exit_statuses(void **state)
{
    static const char *const expected[] = {
        "\n## viewtally serve\n",           "\n## viewtally import\n",
        "\n### viewtally key create\n",     "\nviewtally key create --author AUTHOR --name NAME [--json]\n",
        "\n| `--author AUTHOR` | ",         "\n### viewtally platform probe\n",
        "\n### viewtally secrets rotate\n", "Exit status 1: "};
    char *text = written(write_commands);
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_non_null(strstr(text, expected[i]));
    free(text);
}

/* If a command and its subcommands had no description, the section of the command would be empty. */
static void every_action_is_described(void **state)
{
    static const struct cli_command *const commands[] = {
        &cli_app,     &cli_audit,   &cli_author,   &cli_backup,      &cli_book,    &cli_check_config,
        &cli_demo,    &cli_doctor,  &cli_events,   &cli_healthcheck, &cli_import,  &cli_key,
        &cli_migrate, &cli_move,    &cli_platform, &cli_reading,     &cli_refresh, &cli_reload,
        &cli_restore, &cli_secrets, &cli_status,   &cli_video,       &cli_webhook, &serve_command};
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        for (const struct cli_action *a = commands[i]->actions; a->run; a++) {
            assert_true(a->summary || a->description);
            assert_true((a->operands != NULL) == (a->operands_max > 0));
            for (const struct cli_option *o = a->options; o && o->name; o++)
                assert_true(o->help && o->help[strlen(o->help) - 1] == '.');
        }
}

static void every_action_has_examples_that_parse(void **state)
{
    (void)state;
    assert_true(cli_check_examples(&serve_command));
}

static void outdated_example_is_detected(void **state)
{
    (void)state;
    static const struct cli_command *const commands[] = {&cli_author, &cli_import, &cli_refresh};
    static const char *const good[] = {
        "viewtally author add --name 'Ada \"Lovelace' --id $(uuidgen -r)",
        "zcat a.gz | viewtally import --dry-run - >out | less # a comment with --nonsense",
        "viewtally refresh --wait=3 --config a.ini",
        "date >a; viewtally refresh && date",
    };
    static const char *const bad[] = {
        "viewtally author add --nme Ada",
        "viewtally author add",
        "viewtally author frobnicate",
        "viewtally author",
        "viewtally",
        "viewtally frobnicate",
        "viewtally import",
        "viewtally refresh now",
        "viewtally author add --name 'Ada",
        "less file",
        "viewtally refresh | viewtally nope",
        "",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(example_check_line(good[i], commands, 3));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(example_check_line(bad[i], commands, 3));
}

static void lists_every_configuration_key(void **state)
{
    char *text = written(config_write_reference), row[128];
    const struct config_key *key;
    (void)state;
    for (size_t i = 0; (key = config_key_at(i)); i++) {
        (void)snprintf(row, sizeof row, "\n| `%s` | ", key->name);
        assert_non_null(strstr(text, row));
    }
    assert_non_null(strstr(text, "\n## [server]\n"));
    free(text);
}

static const char *nearest(const char *typed)
{
    static const char *const words[] = {"author", "name", "json", "key", "keep-keys", "plan_active"};
    struct nearest_word n = nearest_word_of(str_from_cstr(typed));
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        nearest_word_compare(&n, words[i]);
    return n.best ? n.best : "";
}

static void suggests_the_nearest_word_only_if_it_is_near(void **state)
{
    (void)state;
    assert_string_equal(nearest("autor"), "author");
    assert_string_equal(nearest("jsno"), "json");
    assert_string_equal(nearest("kye"), "key");
    assert_string_equal(nearest("keepkeys"), "keep-keys");
    assert_string_equal(nearest("plan"), "plan_active");
    assert_string_equal(nearest("keep"), "keep-keys");
    assert_string_equal(nearest("plan_"), "");
    assert_string_equal(nearest("pl"), "");
    assert_string_equal(nearest("frobnicate"), "");
    assert_string_equal(nearest("x"), "");
    assert_string_equal(nearest(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_reference_contains_options_synopsis_and_exit_statuses),
        cmocka_unit_test(every_action_is_described),
        cmocka_unit_test(every_action_has_examples_that_parse),
        cmocka_unit_test(outdated_example_is_detected),
        cmocka_unit_test(lists_every_configuration_key),
        cmocka_unit_test(suggests_the_nearest_word_only_if_it_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
