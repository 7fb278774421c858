/* Checks the versions of the libraries in this binary. */
#include "doctor/library_versions.h"

#include "base/build_info.h"

#include <stdlib.h>

/* The oldest versions that have no defect that affects viewtally. vendor/manifest describes these defects. */
static const struct build_library lowest[] = {
    {"libuv", "1.50.0"}, {"llhttp", "9.4.2"},  {"hiredis", "1.2.0"},
    {"curl", "8.6.0"},   {"sqlite", "3.51.3"}, {"libpq", "17"},
};

int doctor_compare_versions(const char *a, const char *b)
{
    for (;;) {
        char *a_end, *b_end;
        const long x = strtol(a, &a_end, 10), y = strtol(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        if (*a_end != '.' && *b_end != '.')
            return 0;
        a = *a_end == '.' ? a_end + 1 : "0";
        b = *b_end == '.' ? b_end + 1 : "0";
    }
}

void doctor_report_libraries(struct doctor *d, const struct build_library *libraries, int count)
{
    int old = 0;
    for (size_t i = 0; i < sizeof lowest / sizeof *lowest; i++)
        for (int l = 0; l < count; l++)
            if (strcmp(libraries[l].name, lowest[i].name) == 0 &&
                doctor_compare_versions(libraries[l].version, lowest[i].version) < 0) {
                old++;
                doctor_error(d, "build viewtally with the pinned libraries (make), or install newer ones",
                             "%s %s has defects that affect viewtally; %s or newer is needed",
                             libraries[l].name, libraries[l].version, lowest[i].version);
            }
    if (!old)
        doctor_ok(d, "all libraries have versions that work with viewtally");
}

static void check_versions(struct doctor *d)
{
    doctor_report_libraries(d, build_libraries, build_library_count);
}

static const struct doctor_check checks[] = {
    {"versions", NEEDS_NOTHING, check_versions},
};
const struct doctor_group doctor_libraries = DOCTOR_GROUP("libraries", checks);
