/* The applications of the server (API, authorization server, web pages) and the mount table that assigns
 * requests to them. */
#ifndef VT_APP_APPLICATIONS_H
#define VT_APP_APPLICATIONS_H

#include "api/api.h"
#include "app/server_database.h"
#include "oauth/oauth.h"
#include "web/web.h"

struct redis;

struct applications {
    struct api api;
    struct oauth oauth;
    struct web web;
    struct router router;
    char *metadata_path; /* a prefix in the router */
    bool open;
};

/* `redis` NULL: not configured. */
void applications_open(struct applications *apps, uv_loop_t *loop, const struct config *config,
                       const struct server_database *db, struct redis *redis);

/* Applies reloaded configuration values. */
void applications_reconfigure(struct applications *apps, const struct config *config);

/* Starts to close handles on the loop and stops using Redis. Precondition: no request is running. Does
 * nothing unless open. */
void applications_close(struct applications *apps);

/* Call after the loop has ended. */
void applications_free(struct applications *apps);

#endif
