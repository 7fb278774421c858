"""A receiver of webhooks: an HTTPS server that records the messages and responds as the test demands."""
import base64
import hashlib
import hmac
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import wait
from .certificates import Authority


class Message:
    """A received request."""

    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body
        self.id = headers["webhook-id"]
        self.endpoint, self.event = self.id.split(".")
        self.json = json.loads(body)

    def signed_with(self, secret):
        """Returns True if one of the signatures was made with the secret."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        text = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return expected in self.headers["webhook-signature"].split(" ")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        receiver = self.server.receiver
        message = Message(self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"])))
        with receiver.lock:
            receiver.messages.append(message)
            answer = receiver.answers.get(self.path, 200)
        if isinstance(answer, threading.Event):
            answer.wait(60)
            answer = 200
        status, fields, body = answer if isinstance(answer, tuple) else (answer, {}, b"")
        self.send_response(status)
        for name, value in fields.items():
            for one in value if isinstance(value, tuple) else (value,):
                self.send_header(name, one)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512        # with the default of 5, connections time out on a busy machine, and their attempts fail

    def process_request(self, *request):
        with self.receiver.lock:
            self.receiver.connections += 1
        super().process_request(*request)

    def process_request_thread(self, *request):
        try:
            super().process_request_thread(*request)
        finally:
            with self.receiver.lock:
                self.receiver.connections -= 1

    def handle_error(self, *_):
        pass            # a client that disconnects is not an error


class Receiver:
    """`answers` maps paths to a status, (status, fields, body), or an Event that holds the response back. A tuple as the value
    of a field repeats the field."""

    def __init__(self, directory, port=0):
        self.authority = Authority(directory)
        self.messages, self.answers, self.lock = [], {}, threading.Lock()
        self.connections = 0        # open ones
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.authority.issue("receiver", "DNS:localhost,IP:127.0.0.1"))
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.receiver = self
        # The handshake takes place in the thread of the connection, so that a client that sends nothing blocks no other.
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def origin(self):
        return f"https://localhost:{self._server.server_address[1]}"

    def url(self, path="/hook"):
        return self.origin + path

    def config(self):
        """The section of the configuration with which the server may reach this receiver."""
        return {"ca_file": self.authority.ca, "allowed_networks": "127.0.0.0/8, ::1"}

    def received(self, path="/hook"):
        with self.lock:
            return [message for message in self.messages if message.path == path]

    def events(self, path="/hook"):
        return [message.event for message in self.received(path)]

    def wait_for(self, count, path="/hook"):
        """Waits while messages arrive. Hundreds of them take longer than wait.DEFAULT_SECONDS on a busy machine."""
        while (before := len(self.received(path))) < count:
            wait.until(lambda n=before: len(self.received(path)) > n, f"{count} messages at {path} ({before} have arrived)")
        return self.received(path)

    def wait_until_idle(self):
        """Waits until no connection is open. Call it after the server was killed, so that all messages that it has sent
        are in `messages` before those of the next server."""
        wait.until(lambda: self.connections == 0, "the connections of the receiver to end")

    def close(self):
        for answer in self.answers.values():
            if isinstance(answer, threading.Event):
                answer.set()
        self._server.shutdown()
        self._server.server_close()
