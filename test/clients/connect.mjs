// Connects an app with an OAuth library: consent, exchange, use of the key, revocation. Takes a JSON object as its argument and
// prints one. The author's requests are plain HTTP with the cookie of a signed-in author. Runs in build/clients.
import * as arctic from "arctic";
import OAuth2Strategy from "passport-oauth2";
import { AuthorizationCode } from "simple-oauth2";
import { createHash, randomBytes } from "node:crypto";

const asked = JSON.parse(process.argv[2]);
const { issuer, client_id, client_secret, redirect_uri } = asked;
const endpoints = { authorize: `${issuer}/oauth/authorize`, token: `${issuer}/oauth/token`, revoke: `${issuer}/oauth/revoke` };

// The author opens the consent page and allows the request. Returns the parameters of the redirect.
async function allow(url) {
    const headers = { Cookie: asked.cookie, Accept: "text/html" };
    const page = await (await fetch(url, { headers, redirect: "manual" })).text();
    const form = /<form method="post" action="([^"]*oauth\/authorize[^"]*)">(.*?)<\/form>/s.exec(page);
    const answer = await fetch(new URL(form[1].replaceAll("&amp;", "&"), url), {
        method: "POST", headers: { ...headers, Origin: new URL(issuer).origin }, redirect: "manual",
        body: new URLSearchParams({ token: /name="token" value="([^"]*)"/.exec(form[2])[1], decision: "allow" }),
    });
    if (answer.status !== 303) throw new Error(`consent: ${answer.status} ${await answer.text()}`);
    return new URL(answer.headers.get("location")).searchParams;
}

const libraries = {
    async "simple-oauth2"() {
        const client = new AuthorizationCode({
            client: { id: client_id, secret: client_secret },
            auth: { tokenHost: new URL(issuer).origin, tokenPath: "/v1/oauth/token", authorizePath: "/v1/oauth/authorize", revokePath: "/v1/oauth/revoke" },
        });
        const code_verifier = randomBytes(32).toString("base64url");
        const code_challenge = createHash("sha256").update(code_verifier).digest("base64url");
        const url = client.authorizeURL({ redirect_uri, scope: "read", state: "s", code_challenge, code_challenge_method: "S256" });
        const token = await client.getToken({ code: (await allow(url)).get("code"), redirect_uri, code_verifier });
        return { key: token.token.access_token, revoke: () => token.revoke("access_token") };
    },
    async "passport-oauth2"() {
        const strategy = new OAuth2Strategy({
            authorizationURL: endpoints.authorize, tokenURL: endpoints.token, clientID: client_id, clientSecret: client_secret,
            callbackURL: redirect_uri, scope: "read", state: true, pkce: true,
        }, (key, refresh, params, profile, done) => done(null, { key }));
        const session = {};
        const step = (query) => new Promise((resolve, reject) => Object.assign(Object.create(strategy), {
            redirect: resolve, success: resolve, error: reject, fail: (why) => reject(new Error(JSON.stringify(why))),
        }).authenticate({ session, query, headers: {}, connection: {} }, {}));
        const { key } = await step(Object.fromEntries(await allow(await step({}))));
        return { key }; // the library has no revocation
    },
    async arctic() {
        const client = new arctic.OAuth2Client(client_id, client_secret, redirect_uri);
        const verifier = arctic.generateCodeVerifier();
        const url = client.createAuthorizationURLWithPKCE(endpoints.authorize, arctic.generateState(), arctic.CodeChallengeMethod.S256, verifier, ["read"]);
        const tokens = await client.validateAuthorizationCode(endpoints.token, (await allow(url)).get("code"), verifier);
        return { key: tokens.accessToken(), revoke: () => client.revokeToken(endpoints.revoke, tokens.accessToken()) };
    },
};

const { key, revoke } = await libraries[asked.library]();
const status = async () => (await fetch(`${issuer}/account`, { headers: { Authorization: `Bearer ${key}` } })).status;
const before = await status();
await revoke?.();
console.log(JSON.stringify({ before, after: revoke ? await status() : null }));
