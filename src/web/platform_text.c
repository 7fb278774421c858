/* Texts about linked accounts. The text depends on credential.last_error, which begins with the name of an
 * outcome or of a failure of this service. */
#include "web/platform_text.h"

#include "base/clock.h"
#include "web/html.h"

enum { FEW_FAILURES = 3 };
static const int64_t ENDS_SOON_MS = 7 * DAY_MS;

static bool last_error_is(const struct credential *c, struct str word)
{
    struct str first;
    (void)str_cut(c->last_error, ' ', &first);
    return str_eq(first, word);
}

static bool last_outcome_is(const struct credential *c, enum outcome_kind v)
{
    return last_error_is(c, str_from_cstr(outcome_kind_name(v)));
}

static bool failed_lately(const struct credential *c)
{
    return c->failures > 0 && c->last_error.p &&
           (c->last_ok_at == TIME_NONE || c->last_error_at >= c->last_ok_at);
}

static struct platform_text text_of_failure(const struct credential *c)
{
    if (last_outcome_is(c, OUTCOME_APP_REJECTED) || last_outcome_is(c, OUTCOME_BAD_REQUEST))
        return (struct platform_text){
            ACCOUNT_OPERATOR_REQUIRED, "Not working",
            "%s rejects the registration of this service. You cannot fix this: "
            "please tell the people who run this service. Your numbers stay as they "
            "are until this is fixed."};
    if (last_outcome_is(c, OUTCOME_RECONNECT) || last_outcome_is(c, OUTCOME_TOKEN_REJECTED))
        return (struct platform_text){ACCOUNT_WAITING, "Not working",
                                      "%s does not let this service read the account at the moment. Every "
                                      "refresh tries again. If this message stays, sign in again."};
    if (last_error_is(c, STR("missing")))
        return (struct platform_text){
            ACCOUNT_WAITING, "Nothing found",
            "%s shows none of your videos for this account. They may be private, or posted by another of "
            "your accounts; in that case, connect that account. Every refresh tries again."};
    if (last_error_is(c, STR("insights")))
        return (struct platform_text){ACCOUNT_WAITING, "Views missing",
                                      "%s shows your posts but not their views. Most likely you did not "
                                      "allow this service to read insights: sign in again and leave every "
                                      "permission switched on."};
    if (last_error_is(c, STR("sealed")))
        return (struct platform_text){ACCOUNT_OPERATOR_REQUIRED, "Not working",
                                      "This service can no longer use its access to %s. Connect the account "
                                      "again. If that does not help, please tell the people who run this "
                                      "service."};
    if (c->failures < FEW_FAILURES)
        return (struct platform_text){ACCOUNT_WAITING, "Late",
                                      "The last attempt to read %s failed. The next refresh tries again."};
    return (struct platform_text){
        ACCOUNT_WAITING, "Not working",
        "%s has been unreadable for some time. Every refresh tries again; you do not "
        "need to do anything. Until one succeeds, your numbers stay as they are."};
}

/* Returns true if the access to the account expires soon and only the author can renew it. */
static bool ends_soon(const struct credential *c, int64_t now)
{
    return platform_desc((enum platform_api)c->api)->refresh_before_s < 0 &&
           c->access_expires_at != TIME_NONE && c->access_expires_at - now < ENDS_SOON_MS;
}

struct platform_text platform_text_of_account(const struct credential *c, bool is_configured, int64_t now)
{
    if (!is_configured)
        return (struct platform_text){ACCOUNT_OPERATOR_REQUIRED, "Not working",
                                      "This service is no longer set up for %s. You cannot fix this: please "
                                      "ask the people who run this service to set it up again. Your numbers "
                                      "stay as they are until then."};
    if (c->state == CREDENTIAL_RECONNECT_REQUIRED)
        return (struct platform_text){
            ACCOUNT_RECONNECT_REQUIRED, "Sign in again",
            "%s requires you to sign in again. This happens after a password change, "
            "if access was revoked, or if nothing was read for a long time. Your "
            "numbers stay as they are until you sign in again."};
    if (failed_lately(c))
        return text_of_failure(c);
    if (ends_soon(c, now))
        return (struct platform_text){ACCOUNT_RECONNECT_REQUIRED, "Ends soon",
                                      "Access to %s ends soon, and only you can renew it: sign in again."};
    if (c->last_ok_at == TIME_NONE)
        return (struct platform_text){ACCOUNT_WAITING, "Connected",
                                      "The next refresh reads this account for the first time."};
    return (struct platform_text){ACCOUNT_CONNECTED, "Connected", NULL};
}

void platform_text_write(struct buf *b, const char *template, const char *platform_name)
{
    const char *placeholder = strstr(template, "%s");
    if (!placeholder) {
        html_text(b, str_from_cstr(template));
        return;
    }
    html_text(b, str_make(template, (size_t)(placeholder - template)));
    html_text(b, str_from_cstr(platform_name));
    html_text(b, str_from_cstr(placeholder + 2));
}

enum platform_api platform_sign_in_api(enum platform_api api)
{
    return api == API_INSTAGRAM_FACEBOOK ? API_FACEBOOK : api;
}

const char *platform_text_of_link_failure(const struct outcome *o)
{
    switch (o->kind) {
    case OUTCOME_RETRY:
    case OUTCOME_QUOTA_SPENT: return "%s cannot be used at the moment. Please try again in a few minutes.";
    case OUTCOME_APP_REJECTED:
    case OUTCOME_BAD_REQUEST:
        return "%s rejects the registration of this service. You cannot fix this: please tell the people who "
               "run this service.";
    case OUTCOME_TOKEN_REJECTED:
    case OUTCOME_RECONNECT:
        return "%s did not confirm that it was you, or a permission that this service needs was not given. "
               "Please try again, and leave every permission switched on.";
    default:
        return "%s sent a response that this service does not understand. Please tell the people who run "
               "this service.";
    }
}
