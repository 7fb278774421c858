"""packaging/nginx/viewtally.conf in /etc/nginx/conf.d beside other sites, with Debian's own nginx.conf and default site."""
import pathlib
import re

import pytest

from lib.client import exchange
from lib.shipped import adapted, replace_once, site_conf

ETC = pathlib.Path("/etc/nginx")


def debian_conf(conf_d, *sites):
    """Debian's nginx.conf with the files of conf.d and sites-enabled in the places of its include lines."""
    text = adapted((ETC / "nginx.conf").read_text(encoding="utf-8"), "worker_connections 768;")
    text = replace_once(text, "include /etc/nginx/conf.d/*.conf;", conf_d)
    return replace_once(text, "include /etc/nginx/sites-enabled/*;", "\n".join(sites))


def default_site():
    """Debian's default site, which is enabled after the installation of nginx."""
    text = (ETC / "sites-available/default").read_text(encoding="utf-8")
    text = replace_once(text, "listen 80 default_server;", "listen 127.0.0.1:@PORT@ default_server;")
    return re.sub(r"\n\s*listen \[::\]:80 default_server;", "", text)


OTHER_SITE = """server { listen 127.0.0.1:@PORT@; server_name other.example.com; location / { return 200 "another site"; } }"""


@pytest.fixture
def make_sites(make_viewtally, make_nginx):
    """make_sites(edit, TEXT …) starts a server, and an nginx with edit(viewtally.conf) in conf.d and these enabled sites."""
    if not (ETC / "sites-available/default").exists():
        pytest.skip("this nginx is not Debian's: it has no default site")

    def make(edit, *sites):
        server = make_viewtally()
        server.run("migrate")
        server.start()
        return make_nginx(debian_conf(edit(site_conf(server.address)), *sites))
    return make


def unchanged(text):
    return text


def get(nginx, host, path="/v1/openapi.json"):
    """Returns (status, body) of a request with this Host field."""
    data = exchange(nginx.address, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("host", ["api.example.com", "127.0.0.1", "localhost:8080", "[::1]", "API.EXAMPLE.COM."])
def test_site_without_server_name_serves_every_host_despite_the_default_site(make_sites, host):
    status, body = get(make_sites(unchanged, default_site()), host)
    assert status == 200 and b'"openapi"' in body


def test_other_site_with_a_server_name_still_gets_its_requests(make_sites):
    nginx = make_sites(unchanged, default_site(), OTHER_SITE)
    assert get(nginx, "other.example.com") == (200, b"another site")
    assert get(nginx, "api.example.com")[0] == 200


def test_site_with_a_server_name_leaves_other_hosts_to_the_default_site(make_sites):
    def named(text):
        return replace_once(replace_once(text, "# server_name api.example.com;", "server_name api.example.com;"), "server_name ~.;", "")

    nginx = make_sites(named, default_site())
    assert get(nginx, "api.example.com")[0] == 200
    assert get(nginx, "www.example.com")[0] == 404 and b"openapi" not in get(nginx, "www.example.com")[1]
