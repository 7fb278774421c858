/* Names and titles of the platforms. */
#include "base/platforms.h"

#include "base/check.h"

struct str platform_name(enum platform p)
{
#define PLATFORM_NAME(constant, name, title) [constant] = {#name, sizeof #name - 1},
    static const struct str names[PLATFORM_COUNT] = {PLATFORM_LIST(PLATFORM_NAME)};
    CHECK((unsigned)p < PLATFORM_COUNT);
    return names[p];
}

struct str platform_title(enum platform p)
{
#define PLATFORM_TITLE(constant, name, title) [constant] = {title, sizeof(title) - 1},
    static const struct str titles[PLATFORM_COUNT] = {PLATFORM_LIST(PLATFORM_TITLE)};
    CHECK((unsigned)p < PLATFORM_COUNT);
    return titles[p];
}

bool platform_parse(struct str name, enum platform *out)
{
    for (int i = 0; i < PLATFORM_COUNT; i++)
        if (str_eq(name, platform_name((enum platform)i))) {
            *out = (enum platform)i;
            return true;
        }
    return false;
}
