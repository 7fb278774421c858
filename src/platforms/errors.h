/* The documented errors of each platform, one row a code, for the connector itself and for the test that
 * walks them. */
#ifndef VT_PLATFORMS_ERRORS_H
#define VT_PLATFORMS_ERRORS_H

#include "platforms/response_reader.h"

extern const struct error_row tiktok_errors[], youtube_errors[], pinterest_errors[];

#endif
