/* The applications of the server (API, authorization server, web pages), and the router that assigns requests
 * to them. */
#ifndef VT_APP_APPLICATIONS_H
#define VT_APP_APPLICATIONS_H

#include "api/api.h"
#include "app/server_database.h"
#include "oauth/oauth.h"
#include "reference/docs_pages.h"
#include "web/web.h"

struct redis;

struct applications {
    struct api api;
    struct oauth oauth;
    struct web web;
    struct router router;
    struct failure_log *failures;
    struct description *description;
    struct reference *reference;
    char *metadata_path; /* mount prefix of the OAuth metadata; must outlive the router */
    bool open;
};

/* Opens all applications and fills in the router. `redis` is NULL if Redis is not configured. */
void applications_open(struct applications *apps, uv_loop_t *loop, const struct config *config,
                       const struct server_database *db, struct redis *redis);

/* Applies reloaded configuration values. */
void applications_reconfigure(struct applications *apps, const struct config *config);

/* Stops using Redis and starts to close the handles; the loop completes the close. Does nothing if the
 * applications are not open. Precondition: no request is in progress. */
void applications_close(struct applications *apps);

/* Frees the applications. Call after the loop has ended. */
void applications_free(struct applications *apps);

#endif
