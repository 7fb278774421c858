/* The words. Know no page; what stands in last_error is a verdict's name and a short code. */
#include "web/platform_text.h"

#include "base/clock.h"
#include "web/html.h"

enum { FEW_FAILURES = 3 };
static const int64_t ENDS_SOON_MS = 7 * DAY_MS;

static bool says_word(const struct credential *c, struct str word)
{
    struct str first;
    (void)str_cut(c->last_error, ' ', &first);
    return str_eq(first, word);
}

static bool says(const struct credential *c, enum verdict v)
{
    return says_word(c, str_from_cstr(verdict_name(v)));
}

static bool failed_lately(const struct credential *c)
{
    return c->failures > 0 && c->last_error.p &&
           (c->last_ok_at == TIME_NONE || c->last_error_at >= c->last_ok_at);
}

static struct platform_text failing(const struct credential *c)
{
    if (says(c, V_OPERATOR) || says(c, V_BUG))
        return (struct platform_text){ACCOUNT_OPERATOR_REQUIRED, "Not working",
                                      "%s does not accept this service's own registration. You cannot change "
                                      "that: tell whoever runs this service. Your numbers stay as they are "
                                      "until then."};
    if (says(c, V_QUOTA))
        return (struct platform_text){ACCOUNT_WAITING, "Waiting",
                                      "Today's share of questions to %s is used up. It goes on by itself; "
                                      "there is nothing you need to do."};
    if (says(c, V_RECONNECT) || says(c, V_TOKEN))
        return (struct platform_text){ACCOUNT_WAITING, "Not working",
                                      "%s does not let this service read the account at the moment. It is "
                                      "tried again with every refresh; should this stay, sign in again."};
    if (says_word(c, STR("missing")))
        return (struct platform_text){
            ACCOUNT_WAITING, "Nothing found",
            "%s showed none of your videos for this account. They may be private, or posted by another of "
            "your accounts: then connect that one. It is tried again with every refresh."};
    if (says_word(c, STR("insights")))
        return (struct platform_text){ACCOUNT_WAITING, "Views missing",
                                      "%s shows your posts, but not their views. Most likely you did not "
                                      "allow this service to read insights: "
                                      "sign in again and leave every permission switched on."};
    if (says_word(c, STR("sealed")))
        return (struct platform_text){
            ACCOUNT_OPERATOR_REQUIRED, "Not working",
            "This service cannot open what gives it access to %s any more. Connect the account again; should "
            "that not help, tell whoever runs this service."};
    if (c->failures < FEW_FAILURES)
        return (struct platform_text){ACCOUNT_WAITING, "Late",
                                      "The last try to read %s did not work. It is tried again with the next "
                                      "refresh."};
    return (struct platform_text){
        ACCOUNT_WAITING, "Not working",
        "%s could not be read for some time. It is tried again with every refresh; "
        "there is nothing you need to do. Your numbers stay as they are until then."};
}

/* A permission that nothing can renew but the author. */
static bool ends_soon(const struct credential *c, int64_t now)
{
    return platform_desc((enum platform_api)c->api)->refresh_before_s < 0 &&
           c->access_expires_at != TIME_NONE && c->access_expires_at - now < ENDS_SOON_MS;
}

struct platform_text platform_text_of_account(const struct credential *c, int64_t now)
{
    if (c->state == CREDENTIAL_RECONNECT_REQUIRED)
        return (struct platform_text){ACCOUNT_RECONNECT_REQUIRED, "Sign in again",
                                      "%s wants you to sign in again before it tells us more. That happens "
                                      "when a password was changed, access was taken back, or nothing was "
                                      "read for a long time. Your numbers stay as they are until then."};
    if (failed_lately(c))
        return failing(c);
    if (ends_soon(c, now))
        return (struct platform_text){ACCOUNT_RECONNECT_REQUIRED, "Ends soon",
                                      "The access that %s gave ends soon, and only you can renew it: sign in "
                                      "again."};
    if (c->last_ok_at == TIME_NONE)
        return (struct platform_text){ACCOUNT_WAITING, "Connected", "It is read with the next refresh."};
    return (struct platform_text){ACCOUNT_CONNECTED, "Fine", NULL};
}

void platform_text_write(struct buf *b, const char *sentence, const char *title)
{
    const char *gap = strstr(sentence, "%s");
    if (!gap) {
        html_text(b, str_from_cstr(sentence));
        return;
    }
    html_text(b, str_make(sentence, (size_t)(gap - sentence)));
    html_text(b, str_from_cstr(title));
    html_text(b, str_from_cstr(gap + 2));
}

enum platform_api platform_sign_in_api(enum platform_api api)
{
    return api == API_INSTAGRAM_FACEBOOK ? API_FACEBOOK : api;
}

const char *platform_text_of_link_failure(const struct outcome *o)
{
    switch (o->verdict) {
    case V_LATER:
    case V_QUOTA: return "%s does not answer at the moment. Please try again in a few minutes.";
    case V_OPERATOR:
    case V_BUG:
        return "%s does not accept this service's own registration. You cannot change that: tell whoever "
               "runs "
               "this service.";
    case V_TOKEN:
    case V_RECONNECT:
        return "%s did not confirm that it was you, or not everything was allowed that is needed to read "
               "your "
               "numbers. Try again, and leave every permission switched on.";
    default: return "%s answered with something that this service does not understand. Tell whoever runs it.";
    }
}
