/* Parses requests to the token endpoint: bodies as form and JSON, Basic and Bearer credentials, PKCE texts,
 * codes and keys. */
#include "oauth/basic_auth.h"
#include "oauth/codes.h"
#include "base/check.h"
#include "http/fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"client_id",    "client_secret", "grant_type", "code",
                                    "redirect_uri", "code_verifier", NULL};

static void check_fields(const struct fields *f, size_t size)
{
    for (int i = 0; names[i]; i++)
        CHECK(f->values[i].len <= size && (f->values[i].p || f->values[i].len == 0));
    (void)fields_find_repeated(f);
}

static void check_body(struct arena *a, struct str body)
{
    struct fields form = {.names = NULL}, json = {.names = NULL};
    if (fields_read_form(&form, a, names, body))
        check_fields(&form, body.len);
    if (fields_read_json(&json, a, names, body))
        check_fields(&json, body.len);
}

static void check_credentials(struct arena *a, struct str field)
{
    struct str id, secret, token;
    if (basic_auth_parse(a, field, &id, &secret))
        CHECK(id.len + secret.len < BASIC_DECODED_MAX);
    if (key_from_authorization(field, &token) == BEARER_PRESENT)
        CHECK(token.len > 0 && token.len < field.len);
    CHECK(key_locate_secret(STR("service_live_"), field) <= field.len);
    if (key_is_well_formed(CODE_PREFIX, field))
        CHECK(field.len == CODE_PREFIX.len + KEY_RANDOM_LEN + KEY_CHECK_LEN);
}

static void check_pkce(struct str text)
{
    char challenge[PKCE_CHALLENGE_LEN];
    CHECK(!pkce_matches(text, STR("short")));
    if (!pkce_is_verifier(text))
        return;
    CHECK(text.len >= 43 && text.len <= 128);
    pkce_challenge(text, challenge);
    CHECK(pkce_is_challenge(str_make(challenge, sizeof challenge)));
    CHECK(pkce_matches(str_make(challenge, sizeof challenge), text));
    challenge[0] ^= 1;
    CHECK(!pkce_matches(str_make(challenge, sizeof challenge), text));
}

/* The first byte selects the parser for the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (size == 0 || size > 16 << 10)
        return 0;
    const struct str text = str_make((const char *)data + 1, size - 1);
    arena_init(&arena, 4096);
    switch (data[0]) {
    case 'a': check_credentials(&arena, text); break;
    case 'p': check_pkce(text); break;
    default: check_body(&arena, text); break;
    }
    arena_fini(&arena);
    return 0;
}
