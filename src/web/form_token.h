/* Protection of forms against cross-site request forgery (CSRF): each form carries a token that is derived
 * from a secret of the browser and bound to the signed-in author. Viewers without a session get the secret in
 * a cookie of its own. */
#ifndef VT_WEB_FORM_TOKEN_H
#define VT_WEB_FORM_TOKEN_H

#include "web/web.h"

/* Returns the token for the forms of this page. Generates the secret if the browser has none. */
struct str web_form_token(struct request *r);

/* Loads the secret from the form cookie, for a viewer without a session. */
void form_token_load_secret(struct request *r);
/* Sets the form cookie if web_form_token() generated a secret. Call once, after the last step. */
void form_token_save_secret(struct request *r);

/* Returns true if page_context->form has the right token. */
bool form_token_is_valid(const struct request *r);

/* Returns false if the browser reports that the form comes from another site (Sec-Fetch-Site, Origin). Old
 * browsers report nothing; then the token alone decides. */
bool form_origin_is_valid(struct request *r);

#endif
