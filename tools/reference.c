/* Prints the parts of the documentation that are tables of the program: reference cli | configuration |
 * example | commands. scripts/gen-docs calls it. */
#include "app/serve.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    bool ok = false;
    if (argc == 2 && strcmp(argv[1], "cli") == 0)
        ok = cli_write_reference(stdout, &serve_command);
    else if (argc == 2 && strcmp(argv[1], "configuration") == 0)
        ok = config_write_reference(stdout);
    else if (argc == 2 && strcmp(argv[1], "example") == 0)
        ok = config_write_example(stdout);
    else if (argc == 2 && strcmp(argv[1], "commands") == 0)
        ok = cli_write_list(stdout, &serve_command);
    else
        (void)fprintf(stderr, "usage: reference cli | configuration | example | commands\n");
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
