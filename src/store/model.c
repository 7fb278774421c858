/* Names of the platforms. */
#include "store/model.h"

#include "base/check.h"

static const struct str names[PLATFORM_COUNT] = {
    [PLATFORM_TIKTOK] = {"tiktok", 6},       [PLATFORM_INSTAGRAM] = {"instagram", 9},
    [PLATFORM_YOUTUBE] = {"youtube", 7},     [PLATFORM_FACEBOOK] = {"facebook", 8},
    [PLATFORM_PINTEREST] = {"pinterest", 9},
};

struct str platform_name(enum platform p)
{
    CHECK((unsigned)p < PLATFORM_COUNT);
    return names[p];
}

bool platform_parse(struct str name, enum platform *out)
{
    for (int i = 0; i < PLATFORM_COUNT; i++)
        if (str_eq(name, names[i])) {
            *out = (enum platform)i;
            return true;
        }
    return false;
}
