"""Runs build/MODE/store_driver, which drives a PostgreSQL store (test/pg/store_driver.c)."""
import os
import queue
import subprocess
import threading

from . import pgdriver, wait

SECONDS = 60


def path():
    return pgdriver.path().with_name("store_driver")


class StoreDriver:
    def __init__(self, url, password_file="", env=None):
        environment = {**os.environ, "PGPASSFILE": "/nonexistent", **(env or {})}
        self.process = subprocess.Popen([path(), url, *([str(password_file)] if password_file else [])], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.log = []
        self._answers = queue.Queue()
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_log)]
        for thread in self._threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            self._answers.put(line.rstrip("\n"))

    def _read_log(self):
        self.log.extend(line.replace('\\"', '"') for line in self.process.stderr)

    @property
    def logged(self):
        return "".join(self.log)

    def until_logged(self, part):
        return wait.until(lambda: next((line for line in list(self.log) if part in line), None), f"log line with {part!r}, not {self.logged}")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self, seconds=SECONDS):
        """Returns the next answer as [error, text]. The answers come in the order of the commands."""
        try:
            return self._answers.get(timeout=seconds).split("\t", 1)
        except queue.Empty:
            raise AssertionError(f"no answer; exit status {self.process.poll()}\n{self.logged}") from None

    def has_answered(self):
        return not self._answers.empty()

    def run(self, line):
        self.send(line)
        return self.answer()

    def ok(self, *lines):
        """Runs commands that must succeed, and returns the result of the last one."""
        text = None
        for line in lines:
            error, text = self.run(line)
            assert error == "ok", (line, error, text, self.logged)
        return text

    def fields(self, line):
        """Runs a command that prints name=value pairs."""
        head, _, settings = self.ok(line).partition(" settings=")
        return {**dict(word.split("=", 1) for word in head.split()), "settings": settings}

    def authors(self):
        """Returns {row: (name, revision)}."""
        *words, error = self.ok("authors").split()
        assert error == "ok", (error, self.logged)
        return {int(row): (name, int(rev)) for row, name, rev, _ in (word.split(":") for word in words)}

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        assert status == 0, f"exit status {status}\n{self.logged}"

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            self.process.kill()
            self.process.wait()
        else:
            self.stop()
