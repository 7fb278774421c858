// Connects an app with a client library: discovery, PKCE, consent, exchange, use of the key, revocation. The author's requests are
// plain HTTP with the cookie of a signed-in author. Takes a JSON object as its argument and prints one.
//
// Runs in build/oauth, which contains node_modules.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto; // Node.js 18
const oauth = await import("oauth4webapi");
const openid = await import("openid-client");

const asked = JSON.parse(process.argv[2]);
const issuer = new URL(asked.issuer);
const account = new URL(`${asked.issuer}/account`);

// The author opens the consent page and allows the request. Returns the address of the redirect.
async function allow(url) {
    const headers = { Cookie: asked.cookie, Accept: "text/html" };
    const page = await fetch(url, { headers, redirect: "manual" });
    if (page.status !== 200) throw new Error(`consent page: ${page.status} ${await page.text()}`);
    const text = await page.text();
    const form = /<form method="post" action="([^"]*oauth\/authorize[^"]*)">(.*?)<\/form>/s.exec(text);
    const action = form[1].replaceAll("&amp;", "&");
    const token = /name="token" value="([^"]*)"/.exec(form[2])[1];
    const answer = await fetch(new URL(action, url), {
        method: "POST", headers: { ...headers, Origin: issuer.origin }, redirect: "manual",
        body: new URLSearchParams({ token, decision: "allow" }),
    });
    if (answer.status !== 303) throw new Error(`consent: ${answer.status} ${await answer.text()}`);
    return new URL(answer.headers.get("location"));
}

async function refusal(work) {
    try {
        await work();
    } catch (error) {
        return error.code ?? error.error ?? String(error);
    }
    return null;
}

async function withOpenidClient() {
    const auth = {
        none: openid.None, client_secret_basic: openid.ClientSecretBasic, client_secret_post: openid.ClientSecretPost,
    }[asked.auth](asked.client_secret ?? undefined);
    const config = await openid.discovery(issuer, asked.client_id, asked.client_secret ?? undefined, auth,
        { algorithm: "oauth2", execute: [openid.allowInsecureRequests] });
    const connect = async (change = (url) => url) => {
        const pkceCodeVerifier = openid.randomPKCECodeVerifier(), expectedState = openid.randomState();
        const url = openid.buildAuthorizationUrl(config, {
            redirect_uri: asked.redirect_uri, scope: "read", state: expectedState, code_challenge_method: "S256",
            code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        });
        return openid.authorizationCodeGrant(config, change(await allow(url)), { pkceCodeVerifier, expectedState });
    };
    const tokens = await connect();
    const read = await openid.fetchProtectedResource(config, tokens.access_token, account, "GET");
    const mixUp = await refusal(() => connect((url) => { url.searchParams.set("iss", "https://evil.example"); return url; }));
    await openid.tokenRevocation(config, tokens.access_token);
    const after = await refusal(() => openid.fetchProtectedResource(config, tokens.access_token, account, "GET"));
    return { pkce: config.serverMetadata().supportsPKCE(), tokens, account: await read.json(), mixUp, after };
}

async function withOauth4webapi() {
    const plain = { [oauth.allowInsecureRequests]: true };
    const client = { client_id: asked.client_id };
    const auth = {
        none: oauth.None, client_secret_basic: oauth.ClientSecretBasic, client_secret_post: oauth.ClientSecretPost,
    }[asked.auth](asked.client_secret ?? undefined);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...plain }));
    const connect = async (change = (url) => url) => {
        const verifier = oauth.generateRandomCodeVerifier(), state = oauth.generateRandomState();
        const url = new URL(as.authorization_endpoint);
        url.search = new URLSearchParams({
            client_id: asked.client_id, redirect_uri: asked.redirect_uri, response_type: "code", scope: "read", state,
            code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256",
        });
        const params = oauth.validateAuthResponse(as, client, change(await allow(url)), state);
        const response = await oauth.authorizationCodeGrantRequest(as, client, auth, params, asked.redirect_uri, verifier, plain);
        return oauth.processAuthorizationCodeResponse(as, client, response);
    };
    const tokens = await connect();
    const read = await oauth.protectedResourceRequest(tokens.access_token, "GET", account, undefined, undefined, plain);
    const mixUp = await refusal(() => connect((url) => { url.searchParams.delete("iss"); return url; }));
    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, tokens.access_token, plain));
    const after = await refusal(() => oauth.protectedResourceRequest(tokens.access_token, "GET", account, undefined, undefined, plain));
    return { pkce: as.code_challenge_methods_supported.includes("S256"), tokens, account: await read.json(), mixUp, after };
}

const result = asked.library === "openid-client" ? await withOpenidClient() : await withOauth4webapi();
process.stdout.write(JSON.stringify(result));
