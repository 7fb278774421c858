/* The version of this binary and of the libraries in it. scripts/gen-build-info generates the values. */
#ifndef VT_BASE_BUILD_INFO_H
#define VT_BASE_BUILD_INFO_H

struct build_library {
    const char *name;
    const char *version;
};

extern const char build_version[]; /* "0.2.0" */
extern const char build_commit[];  /* abbreviated hash, followed by "-dirty" if the work tree had changes; or
                                      "unknown" */
extern const char build_mode[];    /* "release", "debug", "asan", "cov" or "fuzz" */
extern const struct build_library build_libraries[];
extern const int build_library_count;

#endif
