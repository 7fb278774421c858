"""Reads the Prometheus text format, as much of it as our pages use."""
import re

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


class Metrics:
    def __init__(self, text):
        self.text = text
        self.types = {}
        self.samples = {}       # (name, frozenset of label pairs) -> float
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in self.types, f"{name} stands twice"
                self.types[name] = kind
            elif not line.startswith("#"):
                name, labels, value = SAMPLE.fullmatch(line).groups()
                key = (name, frozenset(LABEL.findall(labels or "")))
                assert key not in self.samples, f"{line} stands twice"
                self.samples[key] = float(value)

    def get(self, name, **labels):
        """The sum of the samples of that name that have these labels; 0 without any."""
        wanted = set(labels.items())
        return sum(value for (found, pairs), value in self.samples.items() if found == name and wanted <= pairs)


def scrape(instance):
    answer = instance.admin().get("/metrics")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", answer
    return Metrics(answer.body.decode())
