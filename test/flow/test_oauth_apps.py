"""Apps as the operator registers them, and the metadata that describe the authorization server."""
import re

from lib import oauth

ISSUER = "https://stats.example/x/v1"
WELL_KNOWN = "/.well-known/oauth-authorization-server"


def add(viewtally, *options, status=0, name="An App"):
    viewtally.ensure_database()
    return viewtally.run("app", "add", "--name", name, *options, status=status)


# -- app add ------------------------------------------------------------------------------------------------------------

def test_public_app_has_no_secret(viewtally):
    app = add(viewtally, "--redirect-uri", "https://a.example/b", "--redirect-uri=http://127.0.0.1/c", "--home-url", "https://a.example",
              "--json").json()
    assert re.fullmatch(r"app_[0-9A-Za-z]{22}", app["client_id"]) and app["client_secret"] is None
    assert app["name"] == "An App" and app["home_url"] == "https://a.example" and app["confidential"] is False
    assert app["redirect_uris"] == ["https://a.example/b", "http://127.0.0.1/c"]
    listed, = viewtally.run("app", "list", "--json").json()
    assert "client_secret" not in listed and listed["live_keys"] == 0 and listed["removed_at"] is None
    assert {**app, "redirect_uris": sorted(app["redirect_uris"])} == {"client_secret": None, **{n: listed[n] for n in app if n in listed}}


def test_secret_of_a_confidential_app_is_shown_once(viewtally):
    app = add(viewtally, "--redirect-uri", "https://a.example/b", "https://a.example/c", "--confidential", "--json").json()
    assert re.fullmatch(r"vtsecret_[0-9A-Za-z]{49}", app["client_secret"]) and len(app["redirect_uris"]) == 2
    assert oauth.rows(viewtally, "SELECT secret_hash FROM apps") == [(oauth.hash_of(app["client_secret"]),)]
    assert app["client_secret"] not in viewtally.run("app", "list").out + viewtally.run("app", "list", "--json").out
    fresh = viewtally.run("app", "rotate-secret", app["client_id"]).out.strip()
    assert oauth.rows(viewtally, "SELECT secret_hash FROM apps") == [(oauth.hash_of(fresh),)]
    viewtally.run("app", "remove", app["client_id"])
    assert "the app was removed" in viewtally.run("app", "rotate-secret", app["client_id"], status=1).err
    assert oauth.rows(viewtally, "SELECT secret_hash FROM apps") == [(oauth.hash_of(fresh),)]
    plain = add(viewtally, "--redirect-uri", "https://a.example/b", "--confidential").out
    assert re.fullmatch(r"client_id      app_\w{22}\nclient_secret  vtsecret_\w{49}\n", plain)


def test_app_add_rejects_invalid_options(viewtally):
    viewtally.run("migrate")
    fine = ["--redirect-uri", "https://a.example/b"]
    for options in ([], ["https://a.example/b"], ["--redirect-uri"], [*fine, "--home-url", "javascript:alert(1)"], [*fine, "--home-url", "http://a.example"], [*fine, "--home-url", "com.example.app:/x"],
                    [*fine, "--home-url", ""], [*fine * 21], [*fine, "--secret", "x"], [*fine, "x"]):
        assert add(viewtally, *options, status=2).err, options
    for name in ("", " ", "x" * 201, "a\nb", "a\x1bb", "\udcff"):
        assert "--name" in add(viewtally, *fine, status=2, name=name).err
    assert viewtally.run("app", "add", *fine, status=2).err
    assert viewtally.run("app", "list", "--json").json() == []


def test_unknown_app_is_an_error(viewtally):
    viewtally.run("migrate")
    for words in (["remove", "app_nobody"], ["rotate-secret", "app_nobody"]):
        assert "no app" in viewtally.run("app", *words, status=1).err
    public = oauth.add_app(viewtally)["client_id"]
    assert "public" in viewtally.run("app", "rotate-secret", public, status=1).err
    assert "cannot be used together" in viewtally.run("app", "remove", public, "--keep-keys", "--revoke-keys", status=2).err
    for words in (["remove"], ["rotate-secret"], ["frobnicate"], []):
        assert viewtally.run("app", *words, status=2).err
    assert "active" in viewtally.run("app", "list").out
    viewtally.run("app", "remove", public)
    assert "removed" in viewtally.run("app", "list").out


def test_app_name_is_escaped_for_the_terminal(viewtally):
    oauth.add_app(viewtally, name="café \u202e\u2028 \u009b31m")
    listed = viewtally.run("app", "list").out
    assert "café" in listed and "\x9b" not in listed and "\u2028" not in listed


# -- metadata -----------------------------------------------------------------------------------------------------------

def test_metadata_list_all_endpoints(make_viewtally):
    viewtally = make_viewtally({"server": {"base_url": ISSUER, "cors_origins": "https://page.example"}}).start()
    client = viewtally.client()
    for path in (WELL_KNOWN, WELL_KNOWN + "/x/v1"):
        # A browser gets JSON, too, because this is not a page.
        response = client.request("GET", path, headers={"Accept": "text/html", "Origin": "https://page.example"})
        assert response.status == 200 and response.headers["Content-Type"].startswith("application/json")
        assert response.headers["Access-Control-Allow-Origin"] == "https://page.example"
        clients = ["none", "client_secret_basic", "client_secret_post"]
        assert response.json() == {
            "issuer": ISSUER, "authorization_endpoint": ISSUER + "/oauth/authorize", "token_endpoint": ISSUER + "/oauth/token",
            "revocation_endpoint": ISSUER + "/oauth/revoke", "scopes_supported": ["read"], "response_types_supported": ["code"],
            "response_modes_supported": ["query"], "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": clients, "revocation_endpoint_auth_methods_supported": clients,
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True}
        head = client.request("HEAD", path)
        assert head.status == 200 and head.body == b"" and head.headers["ETag"] == response.headers["ETag"]
        assert client.request("POST", path).status == 405
    for path in (WELL_KNOWN + "/", WELL_KNOWN + "/v1", WELL_KNOWN + "/x/v1/", "/x/v1" + WELL_KNOWN, "/x" + WELL_KNOWN, WELL_KNOWN + "x"):
        assert client.request("GET", path).status == 404, path


def test_page_of_an_allowed_origin_exchanges_a_code(make_viewtally):
    viewtally = make_viewtally({"server": {"cors_origins": "https://page.example"}})
    author, app = viewtally.add_author(), oauth.add_app(viewtally)
    client = viewtally.start().client()
    origin = {"Origin": "https://page.example"}
    for endpoint in ("token", "revoke"):
        asked = client.request("OPTIONS", f"/v1/oauth/{endpoint}", headers={**origin, "Access-Control-Request-Method": "POST"})
        assert asked.status == 204 and asked.headers["Access-Control-Allow-Origin"] == "https://page.example"
    response = oauth.Grant(viewtally, app, author).exchange(client, origin)
    assert response.status == 200 and response.headers["Access-Control-Allow-Origin"] == "https://page.example"
    assert "Access-Control-Allow-Credentials" not in response.headers
    rejected = oauth.post(client, "token", {}, {"Origin": "https://evil.example"})
    assert "Access-Control-Allow-Origin" not in rejected.headers
    # No other origin may read the consent page.
    page = client.request("GET", "/v1/oauth/authorize?client_id=x", headers=origin)
    assert page.status == 400 and "Access-Control-Allow-Origin" not in page.headers
