/* The command line's first step: only --version is known so far. */
#include <stdio.h>
#include <string.h>

#include "base/build_info.h"

static void print_version(void)
{
    printf("viewtally %s (%s, %s)\n", build_version, build_commit, build_mode);
    for (int i = 0; i < build_library_count; i++)
        printf("%s %s\n", build_libraries[i].name, build_libraries[i].version);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        print_version();
        return 0;
    }
    fprintf(stderr, "usage: viewtally --version\n");
    return 2;
}
