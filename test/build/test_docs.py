"""The documents: links and file names resolve, prose lines and the README are short, generated documents are up to date."""
import importlib.machinery
import importlib.util
import re

import pytest

from lib.viewtally import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MAX_README_BYTES = 9 * 1024
MAX_PROSE = 120
SUBJECTS = {"install", "operating", "configuration", "metrics", "cli", "api", "oauth", "data-in", "authors", "internals", "performance", "monitoring",
            "runbooks"}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def anchors(path):
    """The fragments of a document's headings, as the usual renderers make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_in_documents_lead_to_existing_files_and_headings(path):
    for target, fragment in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", path.read_text(encoding="utf-8")):
        linked = (path.parent / target).resolve() if target else path
        assert linked.exists(), target
        assert not fragment or fragment in anchors(linked), f"{target}#{fragment}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_files_named_in_documents_exist(path):
    names = re.findall(r"`((?:src|test|scripts|schema|packaging|contrib|vendor|docs)/[\w./@-]+)`", path.read_text(encoding="utf-8"))
    missing = [name for name in names if not (ROOT / name).exists() and "NNN" not in name and "NAME" not in name]
    assert not missing


def test_documents_and_sections_named_in_messages_exist():
    """Checks references such as "set [backup] directory (docs/backups.md, Scheduled backups)"."""
    named = 0
    for path in [*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "packaging").rglob("*"), *(ROOT / "contrib").rglob("*")]:
        if not path.is_file():
            continue
        text = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
        for name, section in re.findall(r"(?<![\w/.])(docs/[\w/-]+(?:\.md)?)(?:, ([A-Z][\w ]*)[),;])?", text):
            document = ROOT / name
            assert document.exists(), f"{name_of(path)}: {name} does not exist"
            assert not section or section.lower().replace(" ", "-") in anchors(document), f"{name_of(path)}: {name} has no section {section}"
            named += bool(section)
    assert named >= 4


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_prose_lines_have_at_most_120_characters(path):
    lines, in_code = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        in_code ^= line.startswith("```")
        is_prose = not in_code and not line.startswith(("|", "[", "!", "<"))
        if is_prose and len(line) > MAX_PROSE:
            lines.append(f"{number}: {len(line)}")
    assert not lines


def test_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= MAX_README_BYTES


def test_every_subject_has_a_document():
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} >= SUBJECTS


def test_every_migration_is_described_as_additive_or_not():
    """The first one creates the database, so nobody upgrades to it."""
    rows = re.findall(r"^\| (\d{3}) \| [\d.]+ \| (yes|no|–) \|", (ROOT / "docs/upgrading.md").read_text(encoding="utf-8"), re.M)
    declared = [(path.name[:3], re.search(r"^-- additive: (yes|no)$", path.read_text(encoding="utf-8"), re.M)[1])
                for path in sorted((ROOT / "schema").glob("[0-9]*.sql"))]
    assert len(declared) >= 18 and rows == [("001", "–"), *declared[1:]]


@pytest.fixture(scope="module")
def generator():
    """scripts/gen-docs as a module."""
    loader = importlib.machinery.SourceFileLoader("gen_docs", str(ROOT / "scripts/gen-docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gen_docs", loader))
    loader.exec_module(module)
    return module


@pytest.mark.skipif(not (ROOT / "build/debug/reference").exists(), reason="build/debug/reference is not built")
def test_generated_documents_are_up_to_date(generator):
    assert generator.outdated() == [], "run `make docs`"


def test_man_page_escapes_requests_and_dashes(generator):
    text = generator.man_page("x", 1, "y", "# T\n\n.dot `--a-b` \\| c\n\n| option | meaning |\n| --- | --- |\n| `--x` | z |\n")
    assert "\\&.dot \\fB\\-\\-a\\-b\\fR | c" in text and ".TP\n\\fB\\-\\-x\\fR\nz" in text
