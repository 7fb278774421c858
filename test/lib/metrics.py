"""Parses the subset of the Prometheus text format that /metrics uses."""
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
                assert name not in self.types, f"{name} has two types"
                self.types[name] = kind
            elif not line.startswith("#"):
                name, labels, value = SAMPLE.fullmatch(line).groups()
                key = (name, frozenset(LABEL.findall(labels or "")))
                assert key not in self.samples, f"duplicate sample: {line}"
                self.samples[key] = float(value)

    def get(self, name, **labels):
        """Returns the sum of the samples with this name and these labels; 0 if there are none."""
        wanted = set(labels.items())
        return sum(value for (found, pairs), value in self.samples.items() if found == name and wanted <= pairs)


def scrape(instance):
    """Fetches and parses /metrics of a running instance."""
    response = instance.admin().get("/metrics")
    assert response.status == 200 and response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8", response
    return Metrics(response.body.decode())
