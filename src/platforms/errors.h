/* The tables of documented errors, declared for the connectors and for the test that checks every row. */
#ifndef VT_PLATFORMS_ERRORS_H
#define VT_PLATFORMS_ERRORS_H

#include "platforms/response_reader.h"

extern const struct error_row tiktok_errors[], youtube_errors[], pinterest_errors[];

#endif
