"""Every parameter of every endpoint with invalid values: the message of the 400 names the parameter. Unknown parameters are
ignored. The list of parameters comes from the document, so a new parameter is tested too."""
import urllib.parse

import pytest

import scene
import tour
from apidoc import Document
from checker import Seen

DOCUMENT = Document.load()
READS = [operation for operation in DOCUMENT.operations if operation.method != "HEAD"]
PARAMETERS = [(operation.name, name) for operation in READS for name in operation.query_names()]
KEYED = [operation.name for operation in READS if operation.keyed]

# As encoded in the URL.
BROKEN_ENCODING = ["%", "%2", "%g1", "%1g", "a%", "%%20", "%u0041", "50%25%"]
NOT_UTF8 = ["%FF", "%C3%28", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%E2%82", "%80"]
HUGE = ["9" * 19, "9" * 30, "1" + "0" * 400, "x" * 4000, "%41" * 1000]
WRONG_TYPE = ["x", "-", "-1", "-0", "%2B1", "+1", "1+", "1%20", "1.0", "1e1", "0x10", "%31%00", "%00", "null", "undefined", "NaN", "[]",
              "[1]", "%7B%7D", "%7B%22a%22:1%7D", "'1'", "%221%22", "1,2", "1;2", "True", "TRUE", "yes", "0", "%EF%BC%91", "%D9%A1",
              "2026-07-10x", "%0A", "1%0A", "%C2%A01", "..%2F..%2Fetc%2Fpasswd", "%27%20OR%201=1--", "%3Cscript%3E", "%25s%25n"]
DATES = ["2026-02-30", "2026-13-01", "2026-00-10", "2026-07-00", "2025-02-29", "2100-02-29", "26-07-10", "2026-7-1", "20260710",
         "2026/07/10", "2026-07-10T00:00:00Z", "10-07-2026", "0000-01-01", "-2026-07-10", "12026-07-10", "2026-07-1a", "today"]
BY_NAME = {
    "start_date": DATES, "end_date": DATES,
    "limit": ["101", "100000", "-50", "050.0", "1_0"],
    "wait": ["56", "3600", "-5", "1.5"],
    "book_id": [scene.BOOK[:-1], scene.BOOK + "0", scene.BOOK.replace("-", ""), "%7B" + scene.BOOK + "%7D", "g" + scene.BOOK[1:]],
    "viral": ["truefalse", "1", "0", "True", "on"],
    "after": ["evt_", "evt_00", "evt_01", "evt_-1", "evt_1x", "EVT_1", "evt_12345678901234567890", "Latest", "evt_0x1", "evt_1%20"],
    "before": ["evt_", "evt_00", "evt_+1", "latest", "event_1", "evt_12345678901234567890"],
    "occurred_after": ["2026-07-10", "2026-07-10T12:00:00", "2026-07-10T12:00:00%2B00:00", "2026-07-10T24:00:00Z", "2026-07-10T12:60:00Z",
                       "2026-07-10T12:00:60Z", "2026-02-30T12:00:00Z", "2026-07-10t12:00:00z", "2026-07-10%2012:00:00Z", "1783562400",
                       "2026-07-10T12:00:00.Z", "2026-07-10T12:00:00.1234567890Z"],
    "updated_after": ["2026-07-10", "2026-07-10T12:00:00", "2026-07-10T24:00:00Z", "2026-02-30T12:00:00Z", "1783562400", "now"],
    "q": ["%20", "+", "++++", "%09", "%0D%0A", "%C2%A0", "%E3%80%80", "%E2%80%83%20", "%E1%9A%80", "%E2%80%A8", "%20" * 100, "%20" * 101,
          "a" * 101, "a%20" * 51, "%C3%A9" * 101, "%F0%9F%98%80" * 101, "e%CC%81" * 51, "%00" * 101, "%EF%AC%81" * 101, "%E3%80%80" * 101,
          "%20" * 100 + "a", "a" + "%0A" * 100, "x" * 200, "%E1%84%92%E1%85%A1%E1%86%AB" * 34, "%D7%A9" * 1000],
    "platform": ["YouTube", "youtube,tiktok", "youtub", "twitter", "none"],
    "sort": ["-views", "views_30d", "views,posted_at", "Views", "views%20asc"],
    "include": ["totals", "total,total", "all", "Total"],
    "type": ["video", "video.*", "VIDEO.WENT_VIRAL", ",", ",video.went_viral", "video.went_viral,",
             "video.went_viral,,video.milestone_reached", "video.went_viral,%20video.milestone_reached", "video.went_viral,video.gone",
             "video.went_viral;video.milestone_reached", "video.went_viral,,"],
    "order": ["ASC", "descending", "random"],
    "group_by": ["videos", "Book", "author", "day", "Platform", "account,platform"],
    "granularity": ["Day", "daily", "hour", "year", "day,week"],
    "format": ["CSV", "xml", "text/csv"],
    "cursor": ["AAAA", "A" * 44, "A" * 43, "A" * 45, "evt_1", "=" * 44, "-" * 44],
}
# Parameters that must accompany the tested one.
BESIDE = {"before": "order=desc&"}
GOOD = {"updated_after": "2026-07-01T00:00:00Z", "platform": "youtube", "sort": "views", "include": "total", "q": "viral",
        "start_date": "2026-07-01", "end_date": "2026-07-10", "book_id": scene.BOOK, "viral": "true", "limit": "5", "group_by": "book",
        "granularity": "week",
        "format": "json", "after": "evt_0", "before": "evt_5", "type": "video.milestone_reached,video.went_viral", "occurred_after": "2026-07-01T00:00:00Z",
        "order": "asc", "wait": "1"}


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    here = tour.Installation(tmp_path_factory.mktemp("parameters"), Seen())
    yield here
    here.close()


def target_of(operation):
    return operation.template.replace("{id}", scene.VIRAL)


def assert_rejected(installation, operation, query, name):
    response = installation.get(target_of(operation), query)
    assert response.status == 400, f"{operation.name}?{query[:200]}: {response}"
    assert response.error_code == "invalid_parameter", response
    message = response.json()["error"]["message"]
    assert message.startswith(f'"{name}" ') and len(message) < 300, f"{query[:200]}: {message}"


def wrong_values(schema, name):
    """Yields all values above that are not valid for this parameter."""
    for raw in WRONG_TYPE + HUGE + BY_NAME[name]:
        text = urllib.parse.unquote_plus(raw)
        if name == "cursor" or schema.errors(schema.read_text(text)):
            yield raw
    yield from BROKEN_ENCODING
    yield from NOT_UTF8


@pytest.mark.parametrize("operation_name, name", PARAMETERS)
def test_invalid_values_are_rejected(installation, operation_name, name):
    operation = DOCUMENT.operation(operation_name)
    tried = 0
    for raw in wrong_values(operation.parameters["query", name], name):
        assert_rejected(installation, operation, f"{BESIDE.get(name, '')}{name}={raw}", name)
        tried += 1
    assert tried > 35


@pytest.mark.parametrize("operation_name, name", PARAMETERS)
def test_empty_values_are_rejected(installation, operation_name, name):
    operation, beside = DOCUMENT.operation(operation_name), BESIDE.get(name, "")
    for query in (f"{beside}{name}=", f"{beside}{name}", f"{name}&a=b", f"{name}=&{name}=1"):
        assert_rejected(installation, operation, query, name)


@pytest.mark.parametrize("operation_name, name", PARAMETERS)
def test_repeated_parameters_give_400(installation, operation_name, name):
    operation = DOCUMENT.operation(operation_name)
    good = GOOD.get(name) or installation.get("/videos", {"limit": 1}).json()["next_cursor"]
    encoded = "".join(f"%{byte:02x}" for byte in name.encode())
    for second in (f"{name}={good}", f"{name}=x", f"{name}=", f"{encoded}={good}"):
        assert_rejected(installation, operation, f"{BESIDE.get(name, '')}{name}={good}&{second}", name)


@pytest.mark.parametrize("operation_name, name", PARAMETERS)
def test_allowed_values_are_accepted(installation, operation_name, name):
    """The counterpart of the tests above: it shows that their requests are rejected because of the value."""
    operation = DOCUMENT.operation(operation_name)
    good = GOOD.get(name) or installation.get("/videos", {"limit": 1}).json()["next_cursor"]
    encoded = "".join(f"%{byte:02X}" for byte in good.encode())
    for query in (f"{BESIDE.get(name, '')}{name}={good}", f"{BESIDE.get(name, '')}{name}={encoded}"):
        extra = "&limit=1" if name == "cursor" else ""
        assert installation.get(target_of(operation), query + extra).status == 200, query


@pytest.mark.parametrize("operation_name", KEYED)
def test_unknown_parameters_are_ignored(installation, operation_name):
    operation = DOCUMENT.operation(operation_name)
    plain = installation.get(target_of(operation))
    unknown = ["nothing=1", "nothing=1&nothing=2", "nothing=", "nothing", "=x", "&&&", "%FF=%FF", "%=%", "%zz=1", "a=%", "LIMIT=0", "limit%20=0",
               "%20limit=0", "limit[]=0", "limit%00=0", "api_key=x", "x" * 4000 + "=1", "callback=f", "_=1"]
    for name in {name for _, name in PARAMETERS} - set(operation.query_names()):
        unknown += [f"{name}=", f"{name}=%FF", f"{name}=x&{name}=y"]
    for query in unknown:
        response = installation.get(target_of(operation), query)
        assert (response.status, response.body) == (200, plain.body), query


def test_key_in_the_url_is_never_read(installation):
    for name in ("api_key", "access_token", "key", "token", "Authorization"):
        assert installation.send("GET", "/account", {name: installation.key}).error_code == "missing_api_key"


def test_conflicting_parameters_are_rejected(installation):
    """Each parameter is allowed alone; the message names one of the two."""
    for path, query, name in (("/videos", "start_date=2026-07-02&end_date=2026-07-01", "end_date"),
                              ("/stats", "start_date=2026-07-02&end_date=2026-07-01", "end_date"),
                              ("/events", "order=desc&after=evt_1", "after"), ("/events", "order=desc&after=latest", "after"),
                              ("/events", "before=evt_1", "before"), ("/events", "order=asc&before=evt_1", "before"),
                              ("/events", "order=desc&wait=5", "wait")):
        assert_rejected(installation, DOCUMENT.operation(f"GET {path}"), query, name)


def test_stats_range_has_at_most_90_days(installation):
    """At most 90 dates, including both ends. Invalid dates are reported before the length."""
    assert installation.get("/stats", {"start_date": "2026-01-01", "end_date": "2026-03-31"}).status == 200
    for params in ({"start_date": "2026-01-01", "end_date": "2026-04-01"}, {"start_date": "2026-01-01"},
                   {"start_date": "0001-01-01", "end_date": "9999-12-31"}):
        response = installation.get("/stats", params)
        assert (response.status, response.error_code) == (400, "range_too_long"), params
    for query, name in (("start_date=2026-01-02&end_date=2026-01-01", "end_date"),
                        ("start_date=x&end_date=y", "start_date"), ("start_date=2026-01-01&end_date=y&group_by=z", "end_date"),
                        ("start_date=2026-01-01&end_date=2026-12-31&group_by=z", "group_by"),
                        ("start_date=2026-12-31&end_date=2026-01-01&group_by=z", "group_by"),
                        ("start_date=2026-12-31&end_date=2026-01-01&granularity=z", "granularity"),
                        ("start_date=2026-12-31&end_date=2026-01-01&granularity=week", "end_date")):
        assert_rejected(installation, DOCUMENT.operation("GET /stats"), query, name)


def test_hostile_headers_change_nothing(installation):
    """The server accepts any value of a header parameter, and ignores a value that it cannot use."""
    plain = installation.get("/videos", {"limit": 1})
    for value in ("", " ", "x", '"', "W/", "," * 2000, '"' + "a" * 4000 + '"', "\xff\xfe", "*x"):
        response = installation.get("/videos", {"limit": 1}, headers={"If-None-Match": value})
        assert (response.status, response.body) == (200, plain.body), value
    for value in ("", "a b", "a" * 129, "<script>", "\xff", "a\tb", "%0d%0a", "é"):
        response = installation.get("/videos", {"limit": 1}, headers={"X-Request-Id": value})
        assert response.status == 200 and response.headers["X-Request-Id"] not in ("", value)
