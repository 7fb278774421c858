/* The platforms. To add one, append a row to PLATFORM_LIST; docs/internals.md lists the other places. */
#ifndef VT_BASE_PLATFORMS_H
#define VT_BASE_PLATFORMS_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

/* X(enum constant, name, title), in the order of the JSON contract. The number is stored in the database:
 * append only. The name appears in the API, in the configuration and on the command line; the title is for
 * people. */
#define PLATFORM_LIST(X)                                                                                     \
    X(PLATFORM_TIKTOK, tiktok, "TikTok")                                                                     \
    X(PLATFORM_INSTAGRAM, instagram, "Instagram")                                                            \
    X(PLATFORM_YOUTUBE, youtube, "YouTube")                                                                  \
    X(PLATFORM_FACEBOOK, facebook, "Facebook")                                                               \
    X(PLATFORM_PINTEREST, pinterest, "Pinterest")

#define PLATFORM_CONSTANT(constant, name, title) constant,
enum platform { PLATFORM_LIST(PLATFORM_CONSTANT) };
#undef PLATFORM_CONSTANT

#define PLATFORM_ONE(constant, name, title) +1
enum { PLATFORM_COUNT = PLATFORM_LIST(PLATFORM_ONE) };
#undef PLATFORM_ONE

struct str platform_name(enum platform p);  /* "tiktok"; static */
struct str platform_title(enum platform p); /* "TikTok"; static */

/* By name; false if no platform has it. */
MUST_USE bool platform_parse(struct str name, enum platform *out);

/* A string literal for help and error texts: all names in order, each after a space. */
#define PLATFORM_NAME_AFTER_SPACE(constant, name, title) " " #name
#define PLATFORM_NAMES                                   PLATFORM_LIST(PLATFORM_NAME_AFTER_SPACE)

#endif
