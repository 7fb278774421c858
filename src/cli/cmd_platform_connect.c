/* viewtally platform connect: stores an account with tokens from standard input. */
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/cmd_platform.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "vault/token_vault.h"
#include "platforms/jsonr.h"
#include "store/write.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

enum { INPUT_MAX_BYTES = 64 << 10 };

struct connecting {
    const char *author; /* an id or a sign-in name */
    struct linked_account account;
    struct seal_keys *keys;
    struct account_record record;
    int64_t row;
    struct error error;
    bool no_author;
};

/* Reads all of standard input. Prints an error on failure, and returns the exit status. */
static enum cli_exit read_input(char *text, size_t *len)
{
    *len = 0;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, text + *len, INPUT_MAX_BYTES - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cli_fail(CLI_COULD_NOT, "cannot read standard input: %s", strerror(errno));
        if (n == 0)
            return CLI_DONE;
        *len += (size_t)n;
        if (*len == INPUT_MAX_BYTES)
            return cli_fail(CLI_USAGE, "standard input must be shorter than 64 KiB");
    }
}

static bool read_text(struct yyjson_val *root, const char *name, bool must, struct str *out)
{
    struct yyjson_val *v = jsonr_get(root, name);
    *out = jsonr_text(v);
    if (out->p ? out->len > 0 || !must : !must && (!v || jsonr_is_null(v)))
        return true;
    (void)cli_fail(CLI_USAGE, "%s must be a string in the JSON object on standard input", name);
    return false;
}

static bool read_seconds(struct yyjson_val *root, const char *name, int64_t *out)
{
    struct yyjson_val *v = jsonr_get(root, name);
    *out = 0;
    if (!v || jsonr_is_null(v) || (jsonr_integer(v, out) && *out > 0))
        return true;
    (void)cli_fail(CLI_USAGE, "%s must be a positive number of seconds", name);
    return false;
}

/* Parses the tokens. Error messages do not quote the input, which is secret. Unknown members are ignored,
 * because token responses have further ones. */
static bool read_grant(struct arena *a, struct str text, struct token_grant *out)
{
    struct yyjson_val *root = jsonr_parse(a, text);
    if (!jsonr_is_object(root)) {
        (void)cli_fail(CLI_USAGE,
                       "standard input must be a JSON object such as "
                       "{\"access_token\": \"…\", \"refresh_token\": \"…\", \"expires_in\": 3600}");
        return false;
    }
    /* In responses of Pinterest, the lifetime of the refresh token has another name. */
    const char *life =
        jsonr_get(root, "refresh_token_expires_in") ? "refresh_token_expires_in" : "refresh_expires_in";
    return read_text(root, "access_token", true, &out->access_token) &&
           read_text(root, "refresh_token", false, &out->refresh_token) &&
           read_text(root, "scope", false, &out->scopes) &&
           read_seconds(root, "expires_in", &out->expires_in_s) &&
           read_seconds(root, life, &out->refresh_expires_in_s);
}

static enum err save(struct store *store, struct arena *arena, void *ctx)
{
    struct connecting *c = ctx;
    struct author author;
    enum err err = named_author_find(store, arena, c->author, &author);
    c->no_author = err == ERR_NOT_FOUND;
    if (err)
        return err;
    err = account_record_init(&c->record, author.row, &c->account, clock_wall_ms(), &c->error);
    if (err)
        return err;
    return account_record_store(&c->record, c->keys, store, &c->row);
}

static enum cli_exit print_connected(const struct connecting *c, bool json)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    if (json) {
        json_open(&out, '{');
        JSON_I64(&out, "id", c->row);
        json_close(&out, '}');
    } else {
        buf_append_i64(&out, c->row);
    }
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

static enum cli_exit explain(const struct connecting *c, enum err err)
{
    if (err == ERR_EXISTS)
        return cli_fail(CLI_PART, "the account belongs to another author (see viewtally platform list)");
    if (c->no_author)
        return named_author_print_not_found();
    if (err == ERR_INVALID)
        return cli_fail(CLI_USAGE, "%s",
                        *c->error.text ? c->error.text : "the key file was replaced just now: try again");
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_USAGE, "the key file was removed");
    return CLI_COULD_NOT;
}

static enum cli_exit connect_with(struct cli *cli, struct connecting *c, bool json)
{
    struct error error;
    enum err err = seal_keys_open(&c->keys, cli->config.secrets.key_file, &error);
    if (err)
        return cli_fail(CLI_USAGE, "%s", error.text);
    err = cli_transaction(cli, save, c);
    seal_keys_close(c->keys);
    return err ? explain(c, err) : print_connected(c, json);
}

/* Returns the descriptor of a platform. Instagram has two descriptors, for the values "instagram" and
 * "facebook" of `login`; for other platforms, `login` must be NULL. Returns NULL for an unknown platform or
 * login. */
static const struct platform_desc *desc_of(const char *platform, const char *login)
{
    const struct platform_desc *desc = platform_desc_by_name(str_from_cstr(platform));
    if (!login || !desc)
        return desc;
    if (desc->api == API_INSTAGRAM && strcmp(login, "facebook") == 0)
        return platform_desc(API_INSTAGRAM_FACEBOOK);
    return desc->api == API_INSTAGRAM && strcmp(login, "instagram") == 0 ? desc : NULL;
}

static enum cli_exit check_options(const struct cli *cli, const struct cli_arguments *arguments,
                                   struct connecting *c)
{
    const char *account = cli_value(arguments, "account");
    const struct platform_desc *desc =
        desc_of(cli_value(arguments, "platform"), cli_value(arguments, "login"));
    c->author = cli_value(arguments, "author");
    if (!desc)
        return cli_fail(CLI_USAGE, "--platform must be one of:" PLATFORM_NAMES ", or instagram-facebook; "
                                   "--login (instagram or facebook) applies to --platform instagram only");
    if (!*account)
        return cli_fail(CLI_USAGE, "--account must not be empty");
    if (!*cli->config.secrets.key_file)
        return cli_fail(CLI_USAGE,
                        "tokens are only stored encrypted: create a key with viewtally secrets init FILE "
                        "and set [secrets] key_file = FILE");
    c->account = (struct linked_account){
        .api = desc->api, .id = str_from_cstr(account), .name = str_from_cstr(cli_value(arguments, "name"))};
    return CLI_DONE;
}

enum cli_exit platform_connect(struct cli *cli, const struct cli_arguments *arguments)
{
    struct connecting *c = xcalloc(1, sizeof *c);
    char *text = xcalloc(1, INPUT_MAX_BYTES);
    struct arena arena;
    size_t len = 0;
    arena_init(&arena, INPUT_MAX_BYTES);
    enum cli_exit code = check_options(cli, arguments, c);
    if (!code)
        code = read_input(text, &len);
    if (!code && !read_grant(&arena, str_make(text, len), &c->account.grant))
        code = CLI_USAGE;
    if (!code)
        code = connect_with(cli, c, cli_flag(arguments, "json"));
    arena_wipe(&arena);
    arena_fini(&arena);
    sodium_memzero(text, INPUT_MAX_BYTES);
    sodium_memzero(c, sizeof *c);
    free(text);
    free(c);
    return code;
}
