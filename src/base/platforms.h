/* The list of platforms. To add a platform, append a row to PLATFORM_LIST; docs/internals.md lists the other
 * files to change. */
#ifndef VT_BASE_PLATFORMS_H
#define VT_BASE_PLATFORMS_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

/* X(enum constant, name, title), in the order in which the JSON API lists platforms. The value of the
 * constant is stored in the database, so never reorder or remove rows. The name appears in the API, in the
 * configuration and on the command line; the title is the name that people see. */
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

/* Finds a platform by name. Returns false if no platform has this name. */
MUST_USE bool platform_parse(struct str name, enum platform *out);

/* A string literal with all names, each after a space, for help and error texts. */
#define PLATFORM_NAME_AFTER_SPACE(constant, name, title) " " #name
#define PLATFORM_NAMES                                   PLATFORM_LIST(PLATFORM_NAME_AFTER_SPACE)

#endif
