"""The parameters of /videos that need a search: sort, platform, updated_after, q, include. Every combination with the other filters is
compared with the default list and /stats."""
import datetime
import itertools
import random
import re
import unicodedata
import urllib.parse

import pytest

from lib.clock import DEFAULT_NOW, FakeClock
from lib.lines import author, book, post, reading, uid, video
from lib.viewtally import Viewtally

VIDEOS = 900        # enough for several calls of the search, and for more matches than one call can return
NOW = datetime.datetime(2026, 7, 10, 12, tzinfo=datetime.timezone.utc)
PLATFORMS = ["tiktok", "instagram", "youtube", "facebook", "pinterest"]


WORDS = ["Secret", "GARDEN", "gard", "Straße", "STRASSE", "étude", "E\u0301TUDE", "ﬁnale", "Finale", "한국", "\u1112\u1161\u11ab국", "ガギ", "ｶﾞ",
         "ＦＵＬＬ", "full", "İstanbul", "ıi", "ΣΊΣΥΦΟΣ", "Последняя", "שלום", "x\u0302", "😀", "100%", "_"]


def at(**ago):
    return (NOW - datetime.timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def library(rng):
    """Many videos have the same time and the same views; some have no reading or no post."""
    made, readings = [author("Ada"), author("Bob"), book("Novel", "Ada", title="Der geheime ＧＡＲＴＥＮ"), video("other", "Bob", at(days=1))], []
    for n in range(VIDEOS):
        name, age = f"v{n}", rng.randrange(1, 60)
        where = rng.sample(PLATFORMS, rng.randrange(0, 4))
        made.append(video(name, "Ada", posts=[post(name, at(days=age, hours=rng.randrange(2)), p) for p in where],
                          title=rng.choice([None, " ".join(rng.choices(WORDS, k=rng.randrange(1, 6)))]),
                          **({"book_id": uid("Novel")} if rng.random() < 0.4 else {})))
        for p in where:
            for days in sorted(rng.sample([0.1, 2, 5, 7, 8, 20], 2), reverse=True):
                if age - 28 < days < age:
                    counted = rng.choice([5, 5000, 5000, 7000, 90_000]) * (1 if days > 6 else 2)
                    readings.append((days, reading(name, at(days=days), counted, p)))
    made.append(author("Cleo"))
    for n in range(150):
        made += [book(f"book {n}", "Cleo"), video(f"c{n}", "Cleo", at(hours=n + 1), title=None, book_id=uid(f"book {n}"))]
    return made + [line for _, line in sorted(readings, key=lambda pair: -pair[0])]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    directory = tmp_path_factory.mktemp("search")
    instance = Viewtally(directory / "viewtally", {"limits": {"requests_per_minute": "0"}}, FakeClock(directory / "clock", DEFAULT_NOW))
    instance.import_lines(library(random.Random(5)))
    with instance:
        client = instance.client(instance.create_key(uid("Ada")))
        client.instance = instance
        yield client


def pages(client, query, limit=100):
    """Returns all videos of a list and the total counts of its pages."""
    videos, totals, cursor = [], set(), ""
    while True:
        response = client.get(f"/videos?limit={limit}{query}{cursor}")
        assert response.status == 200, response
        page = response.json()
        assert len(page["data"]) == limit or not page["has_more"]
        videos += page["data"]
        totals.add(page.get("total_count"))
        if not page["has_more"]:
            assert page["next_cursor"] is None
            return videos, totals
        cursor = f"&cursor={page['next_cursor']}"


@pytest.fixture(scope="module")
def gains(client):
    return {row["video"]["id"]: sum(day["views"] for day in row["days"]) for row in client.get("/stats").json()["data"]}


def fold(text):
    """NFKC_Casefold according to the Unicode Standard. Of the invisible characters, it removes only those of these
    tests."""
    normalized = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", unicodedata.normalize("NFD", text).casefold()).casefold())
    return re.sub("[\u00ad\u200b-\u200d\ufe00-\ufe0f]", "", normalized)


def has_terms(title, search):
    return all(fold(term) in fold(title) for term in re.split(r"\s+", search) if term)


def quote(search):
    return "&q=" + urllib.parse.quote(search)


def test_every_combination_of_filter_and_order_equals_the_filtered_default_list(client, gains):
    everything, _ = pages(client, "")
    assert len(everything) > 300 and len({v["views"] for v in everything}) > 5 and len(gains) > 100
    limit = at(days=2)      # the time of many readings
    filters = {
        "platform": [("", lambda v: True), ("&platform=pinterest", lambda v: any(p["platform"] == "pinterest" for p in v["platforms"]))],
        "updated": [("", lambda v: True), (f"&updated_after={limit}", lambda v: v["views_updated_at"] and v["views_updated_at"][:19] > limit[:19])],
        "book": [("", lambda v: True), (f"&book_id={uid('Novel')}", lambda v: (v["book"] or {}).get("id") == uid("Novel"))],
        "viral": [("", lambda v: True), ("&viral=true", lambda v: v["viral"]["is_viral"]), ("&viral=false", lambda v: not v["viral"]["is_viral"])],
        "title": [("", lambda v: True), (quote("ſEcr\u3000GARD"), lambda v: has_terms(v["title"], "secr gard")),
                  (quote("garten"), lambda v: has_terms(v["title"], "GARTEN"))],
        "date": [("", lambda v: True), ("&start_date=2026-06-20&end_date=2026-07-05", lambda v: "2026-06-20" <= v["posted_at"][:10] <= "2026-07-05")],
    }
    orders = {"": lambda v: v["posted_at"], "&sort=posted_at": lambda v: v["posted_at"], "&sort=views": lambda v: v["views"],
              "&sort=views_7d": lambda v: gains.get(v["id"], 0)}
    found = 0
    for chosen in itertools.product(*filters.values()):
        matches = [v for v in everything if all(predicate(v) for _, predicate in chosen)]
        query = "".join(text for text, _ in chosen)
        for order, key in orders.items():
            expected = sorted(matches, key=lambda v, key=key: (key(v), v["id"]), reverse=True)
            videos, totals = pages(client, query + order + "&include=total")
            assert [v["id"] for v in videos] == [v["id"] for v in expected], query + order
            assert videos == expected and totals == {len(expected)}, query + order
        found += len(matches)
    assert found > 1000


@pytest.mark.parametrize("limit", [1, 7, 99])
def test_pages_of_any_size_neither_repeat_nor_lose_a_video(client, limit):
    whole, _ = pages(client, "&sort=views&platform=tiktok")
    assert len({v["views"] for v in whole}) < len(whole) / 2, "many videos have equal views"
    paged, totals = pages(client, "&sort=views&platform=tiktok", limit)
    assert paged == whole and totals == {None}


def test_cursor_is_rejected_with_another_order_or_filter(client):
    cursor = client.get("/videos?limit=5&sort=views").json()["next_cursor"]
    assert client.get(f"/videos?sort=views&limit=9&cursor={cursor}").status == 200
    for other in ("", "&sort=views_7d", "&sort=views&platform=tiktok", f"&sort=views&updated_after={at(days=1)}", "&sort=views&viral=true", "&sort=views&q=gard"):
        response = client.get(f"/videos?cursor={cursor}{other}")
        assert (response.status, response.json()["error"]["param"]) == (400, "cursor")
    default = client.get("/videos?limit=5").json()["next_cursor"]
    assert client.get(f"/videos?limit=5&include=total&cursor={default}").status == 200, "include is no filter"
    assert client.get(f"/videos?limit=5&sort=views&cursor={default}").status == 400


def test_search_returns_no_video_of_an_unknown_book_or_another_author(client):
    page = client.get(f"/videos?sort=views&include=total&book_id={uid('missing')}").json()
    assert (page["data"], page["has_more"], page["total_count"]) == ([], False, 0)
    assert uid("other") not in {v["id"] for v in pages(client, "&sort=views")[0]}


# ---- q ----

@pytest.fixture(scope="module")
def titles(client):
    return pages(client, "")[0]


SEARCHES = WORDS + ["SECRET garden", "garden\tsecret\n", "strasse étude", "TUDE", "e", "e\u0301", "E\u0301", "fi", "ﬁ", "FINALE", "\u1112\u1161", "국",
                    "カ", "ガ", "full width", "istanbul", "i\u0307stanbul", "I", "ı", "σίσυφοσ", "ПОСЛЕДНЯЯ", "ש", "\u0302", "%", "100%25", "untitled",
                    "geheime garten", "se\u00adcret", "secret\u200b", "\u00a0secret\u3000", "\x00", "a\x00", "' OR 1=1 --", "*", "secret" * 16,
                    " ".join("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'()*+,-./:"[:50]), "x " * 50, "\u0301" * 100]


@pytest.mark.parametrize("search", SEARCHES)
def test_every_term_is_a_substring_of_the_title(client, titles, search):
    expected = [v for v in titles if has_terms(v["title"], search)]
    videos, totals = pages(client, quote(search) + "&include=total")
    assert videos == expected and totals == {len(expected)}


def test_searches_find_titles_that_are_spelled_differently(client, titles):
    """Each search finds a title that contains only the second spelling, so the comparison with the model above is not
    trivial."""
    for search, spelling in (("strasse", "Straße"), ("STRAẞE", "STRASSE"), ("étude", "E\u0301TUDE"), ("FINALE", "ﬁnale"), ("한국", "\u1112\u1161\u11ab국"),
                             ("ガ", "ｶﾞ"), ("full", "ＦＵＬＬ"), ("garten", "ＧＡＲＴＥＮ"), ("UNTITLED", "Untitled")):
        assert any(spelling in v["title"] for v in pages(client, quote(search))[0]), search
    assert not any("ı" in v["title"] and "İ" not in v["title"] for v in pages(client, quote("istanbul"))[0]), "a dotless i is another letter"
    found = pages(client, quote("garten"))[0]
    assert 50 < len(found) < len(titles) and all(v["book"]["id"] == uid("Novel") for v in found), "a video without a title has the title of its book"


def test_video_without_a_title_is_found_by_the_title_of_its_own_book(client):
    cleo = client.instance.client(client.instance.create_key(uid("Cleo")))
    for search in ("book", "7", "k 14", "149"):
        expected = [f"book {n}" for n in range(150) if all(term in f"book {n}" for term in search.split())]
        assert [v["title"] for v in pages(cleo, quote(search))[0]] == expected, search


def test_random_searches_equal_the_model(client, titles):
    rng = random.Random(9)
    for _ in range(60):
        pieces = [rng.choice(WORDS)[rng.randrange(2):][:rng.randrange(1, 5)] for _ in range(rng.randrange(1, 4))]
        search = " ".join(piece for piece in pieces if piece) or "a"
        expected = [v["id"] for v in titles if has_terms(v["title"], search)]
        assert [v["id"] for v in pages(client, quote(search))[0]] == expected, search


@pytest.mark.parametrize("search, message", [
    ("", "must not be empty"), ("%20", "neither white space nor invisible"), ("%E3%80%80%09", "neither white space nor invisible"),
    ("%E2%80%8B", "neither white space nor invisible"), ("x" * 101, "at most 100 characters"), ("%20" * 101, "at most 100 characters"),
    ("%C3%A9" * 101, "at most 100 characters"), ("%FF", "is not valid UTF-8"), ("a%C3", "is not valid UTF-8"), ("%ED%A0%80", "is not valid UTF-8"),
    ("%", "is not valid percent-encoding")])
def test_invalid_searches_are_rejected(client, search, message):
    response = client.get(f"/videos?q={search}")
    assert (response.status, response.json()["error"]["code"], response.json()["error"]["param"]) == (400, "invalid_parameter", "q")
    assert message in response.json()["error"]["message"]


def test_searches_of_100_characters_are_accepted(client):
    for search in ("x" * 100, "é" * 100, "😀" * 100, "\ufdfa" * 100, "\u0345\u0301" * 50):
        page = client.get(f"/videos?include=total{quote(search)}").json()
        assert (page["data"], page["total_count"]) == ([], 0)


def test_cursor_of_a_search_is_bound_to_its_terms(client):
    first = client.get("/videos?limit=2&q=Secret+gard")
    cursor = first.json()["next_cursor"]
    assert f"q=Secret%20gard&cursor={cursor}" in first.headers["Link"] or "q=Secret%20gard" in first.headers["Link"]
    same = [client.get(f"/videos?limit=3&q={q}&cursor={cursor}").json() for q in ("Secret+gard", "SECRET%20%20GARD", "secret+gard+gar")]
    assert same[0]["data"] and same[0] == same[1] == same[2], "the same terms in another spelling"
    for q in ("secret", "secretgard", "secret+garden", "secreu+gard"):
        response = client.get(f"/videos?q={q}&cursor={cursor}")
        assert (response.status, response.json()["error"]["param"]) == (400, "cursor"), q
    assert client.get(f"/videos?cursor={cursor}").status == 400
