"""Correct and faulty servers for test/unit/test_http_client.c. Usage: http_peers.py DIRECTORY

Prints a line "NAME PORT" for each server, then "ready", and exits when its standard input ends. The certificates are created in
DIRECTORY; its ca.crt is the authority that has issued the valid certificates.
"""
import gzip
import http.server
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from lib import wait                                        # noqa: E402
from lib.certificates import Authority                      # noqa: E402
from lib.services import free_port                          # noqa: E402

END = threading.Event()
MEBIBYTE = 1 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def respond(self, body, status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Length", len(body))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        getattr(self, "on" + self.path.split("?")[0].replace("/", "_"))()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.respond(f"{self.path} {self.headers['Content-Type']} {self.headers['Authorization']} ".encode() + body)

    def on_ok(self):
        self.respond(b'{"n":1}', X_App_Usage='{"call_count":28}', Content_Type="application/json")

    def on_fields(self):
        self.respond("\n".join(f"{name.lower()}: {value}" for name, value in self.headers.items()).encode())

    def on_target(self):
        self.respond(self.path.encode())

    def on_gzip(self):
        self.respond(gzip.compress(b"a" * 100000), Content_Encoding="gzip")

    def on_bomb(self):
        self.respond(gzip.compress(bytes(100 * MEBIBYTE)), Content_Encoding="gzip")

    def on_broken_gzip(self):
        self.respond(b"\x1f\x8bnothing of the kind", Content_Encoding="gzip")

    def on_big(self):
        self.respond(bytes(10 * MEBIBYTE))

    def on_endless(self):
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while not END.is_set():
            self.wfile.write(bytes(65536))

    def on_headers(self):
        self.respond(b"", **{f"X_{i}": "v" * 1000 for i in range(80)})

    def on_many_headers(self):
        self.respond(b"", **{f"X_{i}": "v" for i in range(250)})

    def on_trickle(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not END.wait(0.02):
            self.wfile.write(b"a")

    def on_silent(self):
        END.wait()

    def on_truncated(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"a" * 10)
        self.close_connection = True

    def on_reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def on_redirect(self):
        self.respond(b"elsewhere", 302, Location="/ok")

    def on_garbage(self):
        self.wfile.write(b"\x00\xff nothing of HTTP\r\n\r\n")
        self.close_connection = True

    def on_interim(self):
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
        self.on_ok()

    def on_teapot(self):
        self.respond(b'{"error":"short and stout"}', 418)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)

    def finish_request(self, request, client_address):
        """The handshake runs in the thread of the connection, so that a silent client does not block others."""
        try:
            if self.context:
                request = self.context.wrap_socket(request, server_side=True)
            super().finish_request(request, client_address)
            request.close()
        except OSError:
            pass

    def handle_error(self, request, client_address):
        pass


def serve(name, certificate=None):
    server = Server(certificate)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(name, server.server_address[1], flush=True)
    return server.server_address[1]


def accept(name, handle):
    """Listens on a port and calls `handle` for each connection in a thread of its own."""
    listening = socket.create_server(("127.0.0.1", 0))

    def run():
        while True:
            threading.Thread(target=handle, args=listening.accept(), daemon=True).start()
    threading.Thread(target=run, daemon=True).start()
    print(name, listening.getsockname()[1], flush=True)


def tunnel(target):
    """Returns the handler of a proxy that connects every tunnel to port `target`."""
    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def handle(client, _):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        if not head.startswith(b"CONNECT "):
            return client.close()
        with socket.create_connection(("127.0.0.1", target)) as server:
            client.sendall(b"HTTP/1.1 200 OK\r\nX-Proxy: 1\r\n\r\n")
            threading.Thread(target=pump, args=(server, client), daemon=True).start()
            pump(client, server)
    return handle


def refuse(client, _):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def hold_open(client, _):
    END.wait()
    client.close()


def nginx(directory, certificate):
    """Starts an HTTP/2 server. Bodies contain the protocol and the number of the connection."""
    port, program = free_port(), shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    (directory / "nginx.conf").write_text(f"""
        daemon off; worker_processes 1; pid {directory}/nginx.pid; error_log {directory}/nginx.log;
        events {{ worker_connections 256; }}
        http {{
            access_log off;
            client_body_temp_path {directory}/t1; proxy_temp_path {directory}/t2; fastcgi_temp_path {directory}/t3;
            uwsgi_temp_path {directory}/t4; scgi_temp_path {directory}/t5;
            server {{
                listen 127.0.0.1:{port} ssl http2;
                ssl_certificate {certificate[0]}; ssl_certificate_key {certificate[1]};
                location = /silent {{ proxy_pass http://127.0.0.1:{plain_port}; proxy_buffering off; }}
                location / {{ return 200 "$server_protocol $connection"; }}
            }}
        }}""", encoding="ascii")
    process = subprocess.Popen([program, "-c", str(directory / "nginx.conf"), "-e", str(directory / "nginx.log")],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_listening():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except OSError:
            return process.poll() is not None
    wait.until(is_listening, "nginx")
    print("http2", port, flush=True)
    return process


directory = pathlib.Path(sys.argv[1])
ours, strange = Authority(directory), Authority(directory / "strange")
good = ours.issue("good", "DNS:localhost,IP:127.0.0.1")
good_port = serve("good", good)
serve("wrong_name", ours.issue("wrong", "DNS:example.org,IP:127.0.0.9"))
serve("expired", ours.issue("expired", "DNS:localhost,IP:127.0.0.1", days=-3))
serve("stranger", strange.issue("stranger", "DNS:localhost,IP:127.0.0.1"))
plain_port = serve("plain")
accept("mute", hold_open)
accept("refusing", refuse)
accept("proxy", tunnel(good_port))
print("nobody", free_port(), flush=True)
second = nginx(directory, good)
print("ready", 0, flush=True)
sys.stdin.read()
END.set()
second.send_signal(signal.SIGTERM)
second.wait()
os._exit(0)         # threads may still be running
