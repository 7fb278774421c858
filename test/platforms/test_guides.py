"""The guides in docs/platforms are complete and match the program."""
import configparser
import pathlib
import re
import urllib.parse

import pytest

from test_linking import LINKED, linking  # noqa: F401 (a fixture)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUIDES = ROOT / "docs/platforms"
SECTIONS = ["App and use case", "Permissions", "Redirect address", "Configuration", "Test users", "The review", "Limits", "What the author sees", "What can go wrong"]
OUTCOMES = {"ok", "retry", "quota_spent", "token_rejected", "reconnect", "app_rejected", "other_form", "split", "malformed", "bad_request",
            "missing", "insights", "undocumented"}


def guide(platform):
    return (GUIDES / f"{platform}.md").read_text(encoding="utf-8")


def section(text, name):
    return text.split(f"## {name}\n", 1)[1].split("\n## ", 1)[0]


@pytest.fixture(scope="module")
def keys():
    """Returns {section: names} of all configuration keys."""
    made = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#", ";"), strict=False)
    made.read_string((ROOT / "config.example.ini").read_text(encoding="utf-8"))
    return {name: set(made[name]) for name in made.sections()}


@pytest.mark.parametrize("platform", LINKED)
def test_guide_has_all_sections(platform):
    text = guide(platform)
    assert re.findall(r"^## (.*)$", text, re.M) == SECTIONS
    assert f"({platform}.md)" in (GUIDES / "README.md").read_text(encoding="utf-8")
    assert "docs/platforms" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(GUIDES.glob("*.md")), ids=lambda path: path.name)
def test_links_keys_and_outcomes_named_in_guides_exist(path, keys):
    """Each link, configuration key and outcome in a guide exists."""
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / link).exists(), link
    for name, key in re.findall(r"`\[(\w+)\] (\w+)", text):
        assert key in keys[name] or key.removesuffix("_file") in keys[name], f"[{name}] {key}"
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        name = re.match(r"\s+\[(\w+)\]", block).group(1)
        for key in re.findall(r"^    (\w+) =", block, re.M):
            assert key in keys[name] or key.removesuffix("_file") in keys[name], f"[{name}] {key}"
    for row in re.findall(r"^\| (`.*?) \|", text.split("## What can go wrong")[-1].split("## Troubleshooting")[-1], re.M):
        for shown in [] if row.startswith("`viewtally") else re.findall(r"`([a-z_]+) ", row):
            assert shown in OUTCOMES, row


def test_guides_list_requested_permissions_and_redirect_addresses(linking):  # noqa: F811
    """Each guide lists exactly the permissions that linking requests, each with a text for the review."""
    browser = linking.browser()
    for platform in LINKED:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(linking.begin(browser, platform)).query))
        rows = re.findall(r"^\| `(.*?)` \| (.*?) \| \"(.*?)\" \|$", section(guide(platform), "Permissions"), re.M)
        assert {row[0] for row in rows} == set(query["scope"].replace(",", " ").split()), platform
        assert all(why and len(text) > 30 for _, why, text in rows)
        path = urllib.parse.urlsplit(query["redirect_uri"]).path
        assert f"`https://YOUR-HOST{path}`" in section(guide(platform), "Redirect address")
