"""The libraries openid-client and oauth4webapi (unmodified, pinned in this directory) complete one-click connect."""
import json
import shutil
import subprocess

import pytest

from lib import npm, oauth
from lib.pages import sign_up
from lib.services import free_port
from lib.viewtally import ROOT, Viewtally

RUN_SECONDS = 60
CLIENT_AUTHENTICATIONS = ["none", "client_secret_basic", "client_secret_post"]


@pytest.fixture(scope="module")
def script():
    """connect.mjs in the directory of the packages that it imports."""
    installed = npm.install("oauth")
    fresh = shutil.copy(ROOT / "test/oauth/connect.mjs", installed / f"fresh-{free_port()}.mjs")
    return fresh.rename(installed / "connect.mjs")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    port = free_port()
    server = {"listen": f"127.0.0.1:{port}", "base_url": f"http://127.0.0.1:{port}/v1"}
    viewtally = Viewtally(tmp_path_factory.mktemp("clients"), {"server": server})
    viewtally.run("migrate")
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.apps = {False: oauth.add_app(viewtally), True: oauth.add_app(viewtally, confidential=True)}
    with viewtally:
        viewtally.browser = sign_up(viewtally, viewtally.author, "ann", "correct horse battery")
        yield viewtally


@pytest.mark.parametrize("auth", CLIENT_AUTHENTICATIONS)
@pytest.mark.parametrize("library", ["openid-client", "oauth4webapi"])
def test_client_library_connects(script, world, library, auth):
    app = world.apps[auth != "none"]
    asked = {"library": library, "auth": auth, "issuer": world.settings["server"]["base_url"], "redirect_uri": oauth.REDIRECT,
             "client_id": app["client_id"], "client_secret": app["client_secret"],
             "cookie": "; ".join(f"{name}={value}" for name, value in world.browser.cookies.items())}
    done = subprocess.run(["node", str(script), json.dumps(asked)], capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["pkce"] is True
    assert result["tokens"]["token_type"] == "bearer" and result["tokens"]["scope"] == "read"
    assert result["account"]["data"]["id"] == world.author == result["tokens"]["account"]["id"]
    # The library rejects a response with another issuer or without one, because the metadata announce it (RFC 9207).
    assert result["mixUp"] in ("OAUTH_INVALID_RESPONSE", "OAUTH_RESPONSE_INVALID", "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED"), result["mixUp"]
    assert result["after"] is not None
