"""A spool directory, fed as a program should: files are written elsewhere and renamed into it."""
import os
import pathlib

from .viewtally import encode_lines


class Spool:
    def __init__(self, directory):
        self.path = pathlib.Path(directory)
        self.path.mkdir(parents=True, exist_ok=True)
        self._staging = self.path.with_name(self.path.name + ".unfinished")
        self._staging.mkdir(exist_ok=True)

    def drop(self, name, lines, modified=None):
        """Moves a complete file into the spool, replacing a file of the same name. `modified`: seconds since 1970."""
        temporary = self._staging / "file"
        temporary.write_bytes(encode_lines(lines))
        if modified is not None:
            os.utime(temporary, (modified, modified))
        os.rename(temporary, self.path / name)

    def _names(self, *below):
        place = self.path.joinpath(*below)
        return sorted(entry.name for entry in place.iterdir() if below or entry.name not in ("done", "bad")) if place.is_dir() else []

    @property
    def waiting(self):
        return self._names()

    @property
    def done(self):
        return self._names("done")

    @property
    def bad(self):
        return self._names("bad")

    def errors(self, name):
        """Returns the report of a bad file as a list of (line, reason)."""
        text = (self.path / "bad" / (name + ".errors")).read_text(encoding="utf-8")
        return [(int(line), reason) for line, reason in (row.split(": ", 1) for row in text.splitlines())]
