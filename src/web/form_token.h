/* Protection of forms against cross-site request forgery (CSRF): each form contains a token that is derived
 * from a secret of the browser and bound to the signed-in author. The secret is that of the session cookie. A
 * browser without a session has a form cookie with a secret instead. */
#ifndef VT_WEB_FORM_TOKEN_H
#define VT_WEB_FORM_TOKEN_H

#include "web/web.h"

/* Returns the token for the forms of this page. Generates a secret if the browser has none. */
struct str web_form_token(struct request *r);

/* Loads the secret from the form cookie into page_context->secret. Call if the browser has no session. */
void form_token_load_secret(struct request *r);
/* Sets the form cookie if web_form_token() has generated a secret. Call once, after the page was written and
 * before its header fields are sent (in http_app.finish). */
void form_token_save_secret(struct request *r);

/* Returns true if page_context->form contains the valid token. */
bool form_token_is_valid(const struct request *r);

/* Returns false if the browser reports that the form was sent from another site (Sec-Fetch-Site, Origin).
 * Returns true if an old browser reports neither; the token is then the only protection. */
bool form_origin_is_valid(struct request *r);

#endif
