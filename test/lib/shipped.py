"""The files shipped for operators, with paths and ports replaced for tests."""
import os
import pathlib
import pwd

SHIPPED = pathlib.Path(__file__).resolve().parents[2] / "scripts/nginx.conf"


def replace_once(text, old, new):
    assert text.count(old) == 1, f"scripts/nginx.conf contains {old!r} {text.count(old)} times"
    return text.replace(old, new)


def nginx_conf(upstream):
    """The text of a shipped file with ports, user and paths replaced."""
    text = SHIPPED.read_text(encoding="utf-8")
    user = f"user {pwd.getpwuid(os.getuid()).pw_name};" if os.getuid() == 0 else ""
    text = replace_once(text, "user www-data;", user)
    text = replace_once(text, "worker_processes auto;", "worker_processes 1;")
    text = replace_once(text, "pid /run/nginx.pid;", "pid @DIR@/nginx.pid;")
    text = replace_once(text, "worker_rlimit_nofile 16384;", "")
    text = replace_once(text, "worker_connections 8192;", "worker_connections 512;")
    temporary = "".join(f" {kind}_temp_path @DIR@/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    text = replace_once(text, "http {\n", f"http {{{temporary}\n")
    text = text.replace("/var/log/nginx/", "@DIR@/")
    text = replace_once(text, "listen 80;", "listen 127.0.0.1:@PORT@;")
    text = replace_once(text, "listen [::]:80;", "")
    if isinstance(upstream, str):
        return replace_once(text, "server 127.0.0.1:8080;", f"server {upstream};")
    text = replace_once(text, "server 127.0.0.1:8080;", "")
    for number, address in enumerate(upstream, 1):
        text = replace_once(text, f"# server unix:/run/viewtally/{number}.sock ", f"server {address} ")
    return text
