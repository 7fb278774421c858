"""Runs the program of an arm64 package under qemu-user: it creates a database, and serves a request."""

# $1 is the package. The libc is the one of Debian's arm64, which the development packages bring along.
SMOKE = r"""
rm -rf /tmp/smoke && mkdir /tmp/smoke
dpkg-deb -x "$1" /tmp/smoke/root
viewtally() { qemu-aarch64-static /tmp/smoke/root/usr/bin/viewtally "$@"; }
printf '[server]\nlisten = 127.0.0.1:0\n[admin]\nlisten =\n[store]\npath = /tmp/smoke/viewtally.db\n' >/tmp/smoke/config.ini
export VIEWTALLY_CONFIG=/tmp/smoke/config.ini
viewtally --version
viewtally migrate
author=$(viewtally author add --name Ada)
key=$(viewtally key create --author "$author" --name smoke)
timeout 300 qemu-aarch64-static /tmp/smoke/root/usr/bin/viewtally serve >/tmp/smoke/out 2>/tmp/smoke/err & pid=$!
until grep -q '^listening on ' /tmp/smoke/out; do kill -0 $pid || { cat /tmp/smoke/err; exit 1; }; sleep 0.1; done
url=http://$(sed -n 's/^listening on //p' /tmp/smoke/out)/v1/account
curl -fsS --max-time 30 -H "Authorization: Bearer $key" "$url" | grep -q '"success":true'
kill -TERM $pid
wait $pid
echo "arm64: migrate, key, GET /account and SIGTERM work under qemu"
"""


def run_under_qemu(builder, package):
    path = "/" + str(package.relative_to(builder.root))
    print(builder.run(f"set -- {path}; {SMOKE}").splitlines()[-1])
