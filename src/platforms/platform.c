/* The table of all APIs, and names of outcomes. */
#include "platforms/platform.h"

#include "base/check.h"
#include "config/config.h"
#include "platforms/grant.h"

static const struct platform_desc *const table[PLATFORM_APIS] = {
#define PLATFORM_API_ROW(constant, desc) [constant] = &(desc),
    PLATFORM_API_LIST(PLATFORM_API_ROW)};

/* The connectors define the keys of their sections. */
#define PLATFORM_KEYS_DECLARATION(constant, name, title) extern const struct config_section name##_keys;
PLATFORM_LIST(PLATFORM_KEYS_DECLARATION)

const struct config_section *const config_platform_keys[PLATFORM_COUNT] = {
#define PLATFORM_KEYS_ROW(constant, name, title) [constant] = &name##_keys,
    PLATFORM_LIST(PLATFORM_KEYS_ROW)};

const struct platform_desc *platform_desc(enum platform_api api)
{
    CHECK((unsigned)api < PLATFORM_APIS);
    return table[api];
}

const struct platform_desc *platform_desc_by_name(struct str name)
{
    for (int i = 0; i < PLATFORM_APIS; i++)
        if (str_eq(name, str_from_cstr(table[i]->name)))
            return table[i];
    return NULL;
}

const char *outcome_kind_name(enum outcome_kind kind)
{
    static const char *const names[OUTCOME_KINDS] = {
        [OUTCOME_OK] = "ok",
        [OUTCOME_RETRY] = "retry",
        [OUTCOME_QUOTA_SPENT] = "quota_spent",
        [OUTCOME_TOKEN_REJECTED] = "token_rejected",
        [OUTCOME_RECONNECT] = "reconnect",
        [OUTCOME_APP_REJECTED] = "app_rejected",
        [OUTCOME_OTHER_FORM] = "other_form",
        [OUTCOME_SPLIT] = "split",
        [OUTCOME_MALFORMED] = "malformed",
        [OUTCOME_BAD_REQUEST] = "bad_request",
    };
    CHECK((unsigned)kind < OUTCOME_KINDS);
    return names[kind];
}

bool platform_permission_is_missing(const struct platform_permission *permission, struct str scopes)
{
    return !grant_has_scope(scopes, str_from_cstr(permission->scope));
}

bool platform_id_is_plain(struct str id)
{
    bool has_letter = false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-';
        if (!letter && c != '.' && c != '~')
            return false;
        has_letter |= letter;
    }
    return has_letter && id.len <= PLATFORM_ID_MAX;
}
