/* The program: commands are in cli/, the server is app.c. */
#include "app/serve.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv, &serve_command);
}
