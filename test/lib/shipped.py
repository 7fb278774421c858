"""The nginx files shipped for operators, with addresses, paths and upstreams replaced for tests."""
import os
import pathlib
import pwd

NGINX = pathlib.Path(__file__).resolve().parents[2] / "packaging/nginx"
SHIPPED = NGINX / "viewtally.conf"


def replace_once(text, old, new):
    assert text.count(old) == 1, f"the text contains {old!r} {text.count(old)} times"
    return text.replace(old, new)


def site_conf(upstream, listen="127.0.0.1:@PORT@"):
    """The text of viewtally.conf with the address, the paths and the upstream of a test."""
    text = SHIPPED.read_text(encoding="utf-8").replace("/var/log/nginx/", "@DIR@/")
    text = replace_once(text, "listen 80;", f"listen {listen};")
    text = replace_once(text, "listen [::]:80;", "")
    if isinstance(upstream, str):
        return replace_once(text, "server 127.0.0.1:8080;", f"server {upstream};")
    text = replace_once(text, "server 127.0.0.1:8080;", "")
    for number, address in enumerate(upstream, 1):
        text = replace_once(text, f"# server unix:/run/viewtally/{number}.sock ", f"server {address} ")
    return text


def nginx_conf(upstream):
    """The text of nginx.conf with the user and the paths of a test, and with viewtally.conf inserted."""
    text = (NGINX / "nginx.conf").read_text(encoding="utf-8")
    text = adapted(text, "worker_connections 8192;")
    text = replace_once(text, "worker_rlimit_nofile 16384;", "")
    return replace_once(text, "include /etc/nginx/conf.d/viewtally.conf;", site_conf(upstream))


def adapted(text, connections):
    """A complete nginx.conf with the user, the paths and the number of processes of a test."""
    user = f"user {pwd.getpwuid(os.getuid()).pw_name};" if os.getuid() == 0 else ""
    text = replace_once(text, "user www-data;", user)
    text = replace_once(text, "worker_processes auto;", "worker_processes 1;")
    text = replace_once(text, "pid /run/nginx.pid;", "pid @DIR@/nginx.pid;")
    text = replace_once(text, connections, "worker_connections 512;")
    temporary = "".join(f" {kind}_temp_path @DIR@/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    text = replace_once(text, "http {\n", f"http {{{temporary}\n")
    return text.replace("/var/log/nginx/", "@DIR@/")
