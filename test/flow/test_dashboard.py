"""The dashboard, the list of videos and the page of a video show the same numbers as the API."""
import datetime
import html
import html.parser
import re
import urllib.parse

import pytest

from lib import lines
from lib.clock import to_ms
from lib.pages import Browser, session_cookie

DAY_MS = 86400_000
HOSTILE = "<script>alert(\"1\")</script> & 'so' \u202e\u05d0\x1b[31m"
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Balanced(html.parser.HTMLParser):
    """Asserts that elements are balanced, ids are unique and no element has an inline style."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids = [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open
        assert len(self.ids) == len(set(self.ids)), self.ids

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        assert "style" not in dict(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


def fill(instance, name="Ann", count=30, book_title="Book"):
    """Imports an author with `count` videos and readings on several days; video 3 has far more views than the others."""
    made = [lines.author(name), lines.book(f"{name} book", name, title=book_title)]
    now = to_ms("2026-07-10T12:00:00Z")
    for n in range(count):
        posted = now - (n * 2 + 1) * DAY_MS - n * 1000
        video = f"{name} {n}"
        made.append(lines.video(video, name, _stamp(posted), ("tiktok", "youtube")[:1 + n % 2], book_id=lines.uid(f"{name} book")))
        for day in range(1, 12, 3):
            at = posted + day * DAY_MS // 2
            if at < now:
                views = (5 + n) * 37 * day * (90 if n == 3 else 1)
                made.append(lines.reading(video, _stamp(at), views, platform="tiktok", likes=views // 10))
                if n % 2:
                    made.append(lines.reading(video, _stamp(at), views // 3, platform="youtube", comments=7))
    instance.import_lines(made)
    return lines.uid(name)


def _stamp(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Author:
    """A signed-in browser and an API client of the same author."""

    def __init__(self, instance, author):
        self.instance = instance
        self.api = instance.client(instance.create_key(author))
        self.browser = Browser(instance.client())
        self.browser.cookies["viewtally-session"] = session_cookie(instance, author)

    def page(self, path, status=200):
        page = self.browser.get(path, follow=False)
        assert page.status == status, page
        Balanced(page.body)
        return page

    def get(self, path):
        return self.api.get(path).json()

    def all_videos(self):
        answer, videos = self.get("/videos?limit=100"), []
        videos += answer["data"]
        while answer["has_more"]:
            answer = self.get(f"/videos?limit=100&cursor={answer['next_cursor']}")
            videos += answer["data"]
        return videos


@pytest.fixture
def pages(viewtally):
    author = fill(viewtally)
    viewtally.start()
    return Author(viewtally, author)


def number(text):
    """Returns the exact number from the output of html_number()."""
    exact = re.search(r'class="sr">([\d,]+)<', text)
    return int((exact.group(1) if exact else re.match(r"[\d,]+", text).group(0)).replace(",", ""))


def figures(page):
    return {name: number(value) for name, value in re.findall(r'<dt>([^<]+)</dt><dd class="big">(.*?)</dd>', page.body)
            if "unknown" not in value}


def table(page):
    """Returns the table under the chart as {date: (views, total, viral note)}."""
    rows = re.findall(r'<th scope="row"><time datetime="([^"]+)">[^<]*</time></th><td class="num">([\d,]+)</td>'
                      r'<td class="num">([\d,]+)</td>(?:<td class="num">(.*?)</td>)?', page.body)
    return {date: (int(views.replace(",", "")), int(total.replace(",", "")), words) for date, views, total, words in rows}


def test_dashboard_figures_match_the_api(pages):
    page, videos = pages.page("/dashboard"), pages.all_videos()
    gains = {}
    for row in pages.get("/stats?start_date=2026-06-11&end_date=2026-07-10")["data"]:
        for day in row["days"]:
            gains[day["date"]] = gains.get(day["date"], 0) + day["views"]
    shown = figures(page)
    assert shown["Total views"] == sum(video["views"] for video in videos)
    assert shown["Videos"] == len(videos) == 30
    assert shown["Views in the last 30 days"] == sum(gains.values()) > 0
    assert shown["Went viral"] == sum(video["viral"]["is_viral"] for video in videos) > 0
    rows = table(page)
    assert len(rows) == 30 and {date: views for date, (views, _, _) in rows.items() if views} == {d: v for d, v in gains.items() if v}
    assert rows["2026-07-10"][1] == shown["Total views"]
    viral = [video["viral"]["went_viral_at"][:10] for video in videos if video["viral"]["is_viral"]]
    assert [date for date, row in rows.items() if row[2]] == [date for date in rows if date in viral]


def test_change_of_views_compares_with_the_previous_30_days(pages):
    """Computes both sums from /stats."""
    sums = []
    for start, end in (("2026-06-11", "2026-07-10"), ("2026-05-12", "2026-06-10")):
        rows = pages.get(f"/stats?start_date={start}&end_date={end}")["data"]
        sums.append(sum(day["views"] for row in rows for day in row["days"]))
    now, before = sums
    change = round(abs(now - before) * 100 / before)
    words = f"{now * 10 // before / 10:g} times as many as in" if now >= 3 * before else f"{'up' if now > before else 'down'} {change}% from"
    assert words in pages.page("/dashboard").text


def test_platforms_show_their_share_of_views(pages):
    page, videos = pages.page("/dashboard"), pages.all_videos()
    sums = {}
    for video in videos:
        for post in video["platforms"]:
            sums[post["platform"]] = sums.get(post["platform"], 0) + post["views"]
    for platform, name in (("tiktok", "TikTok"), ("youtube", "YouTube")):
        part = re.search(rf'<li><div class="row"><span>{name}.*?</li>', page.body, re.S).group(0)
        assert number(re.search(r"<strong>(.*?)</strong>", part, re.S).group(1)) == sums[platform]
        assert f"{round(sums[platform] * 100 / sum(sums.values()))}%" in part
    assert "Pinterest" not in page.text


def test_dashboard_lists_newest_videos_and_events(pages):
    page = pages.page("/dashboard")
    videos, events = pages.all_videos(), pages.get("/events?order=desc&limit=8")["data"]
    listed = re.search(r'<ul class="videos">(.*?)</ul>', page.body, re.S).group(1)
    assert re.findall(r'href="/videos/([^"]+)"', listed) == [video["id"] for video in videos[:8]]
    listed = re.search(r'<ul class="events">(.*?)</ul>', page.body, re.S).group(1)
    assert re.findall(r'href="/videos/([^"]+)"', listed) == [event["video"]["id"] for event in events]
    for facts in (video["viral"] for video in videos[:8] if video["viral"]["is_viral"]):
        typical = facts["author_median_views"]
        tenths = facts["views_when_viral"] * 10 // typical if typical else None
        assert tenths is None or tenths > 1000 or f"{tenths / 10:g} times your typical {typical:,}" in page.text


def test_viral_video_shows_its_multiple_of_the_median_when_it_went_viral_and_now(viewtally):
    videos = [f"Vera {n}" for n in range(12)]
    viewtally.import_lines([lines.author("Vera"), *(lines.video(video, "Vera", f"2026-06-{n + 12}T12:00:00Z") for n, video in enumerate(videos))])
    viewtally.import_lines([lines.reading(video, "2026-07-09T10:00:00Z", 4000) for video in videos])
    viewtally.import_lines([lines.reading("Vera 5", "2026-07-10T10:00:00Z", 42_000, shares=3, saves=41)])
    viewtally.start()
    pages = Author(viewtally, lines.uid("Vera"))
    viral, crossing = f"/videos/{lines.uid('Vera 5')}", "42,000 views, 10.5 times your typical 4,000"
    for path in ("/videos", viral):
        assert crossing in pages.page(path).text and f"{crossing}; now" not in pages.page(path).text
    assert figures(pages.page(viral)) == {"Views": 42_000, "Shares": 3, "Saves": 41}
    viewtally.import_lines([lines.reading("Vera 5", "2026-07-10T11:00:00Z", 250_000)])
    for path in ("/videos", viral):
        assert f"{crossing}; now 62.5 times your typical" in pages.page(path).text


def test_new_reading_is_shown_immediately(pages, viewtally):
    before = figures(pages.page("/dashboard"))
    assert figures(pages.page("/dashboard")) == before
    viewtally.import_lines([lines.reading("Ann 0", "2026-07-10T11:59:00Z", 10_000, platform="tiktok")])
    after = figures(pages.page("/dashboard"))
    gained = after["Total views"] - before["Total views"]
    assert gained > 0 and after["Views in the last 30 days"] - before["Views in the last 30 days"] == gained


def test_chart_ends_today_without_a_new_reading(pages, clock):
    assert "2026-07-10" in table(pages.page("/dashboard"))
    clock.advance(DAY_MS)
    rows = table(pages.page("/dashboard"))
    assert rows["2026-07-11"][0] == 0 and "2026-06-11" not in rows


def test_cached_dashboard_notices_when_a_video_becomes_30_days_old(pages, clock):
    """The 15th newest video becomes 30 days old at 11:59:46 of the next day, without a change of the data."""
    clock.advance(DAY_MS // 2)
    assert "15 less than 30 days old" in pages.page("/dashboard").text
    clock.advance(DAY_MS // 2)
    assert "14 less than 30 days old" in pages.page("/dashboard").text


def test_age_of_the_last_refresh_is_shown(pages, clock, viewtally):
    viewtally.import_lines([lines.reading("Ann 0", "2026-07-10T12:00:00Z", 9_000, platform="tiktok")])
    clock.advance(300_000)
    assert "Last refreshed 5 minutes ago" in pages.page("/dashboard").text
    clock.advance(3 * 3600_000)
    assert "These numbers are out of date: the last refresh was 3 hours ago" in pages.page("/dashboard").text
    clock.advance(40 * DAY_MS)
    pages.browser.cookies["viewtally-session"] = session_cookie(viewtally, lines.uid("Ann"))
    page = pages.page("/dashboard")
    assert "their numbers are final" in page.text and "out of date" not in page.text
    page = pages.page(f"/videos/{lines.uid('Ann 0')}")
    assert "so its numbers are final" in page.text and "It did not go viral. The threshold was" in page.text


def test_new_author_sees_an_explanation(viewtally):
    author = viewtally.add_author("New")
    viewtally.start()
    pages = Author(viewtally, author)
    assert "No videos yet" in pages.page("/dashboard").text and "No videos yet" in pages.page("/videos").text
    viewtally.import_lines([lines.video("first", "New", "2026-07-09T00:00:00Z", author_id=author)])
    page = pages.page("/dashboard")
    assert "have not been read yet" in page.text and "Not read yet" in page.text
    assert "Not read yet" in pages.page(f"/videos/{lines.uid('first')}").text


def test_inactive_plan_is_shown(pages, viewtally):
    assert "plan is not active" not in pages.page("/dashboard").text
    viewtally.run("author", "set-plan", lines.uid("Ann"), "inactive")
    assert "Your plan is not active" in pages.page("/dashboard").text


# ---- the list ----


def test_paged_list_has_every_video_once(pages):
    path, seen = "/videos", []
    while path:
        page = pages.page(path)
        listed = re.search(r'<ul class="videos">(.*?)</ul>', page.body, re.S).group(1)
        seen += re.findall(r'href="/videos/([^"]+)"', listed)
        older = re.search(r'rel="next" href="([^"]+)"', page.body)
        path = older and html.unescape(older.group(1))
    assert seen == [video["id"] for video in pages.all_videos()]


def test_viral_filter_lists_only_viral_videos(pages):
    listed = re.findall(r'<div class="video-title clamp"><a href="/videos/([^"]+)"', pages.page("/videos?viral=1").body)
    assert listed == [video["id"] for video in pages.all_videos() if video["viral"]["is_viral"]]


def ids_and_next(page):
    older = re.search(r'rel="next" href="([^"]+)"', page.body)
    return re.findall(r'<div class="video-title clamp"><a href="/videos/([^"]+)"', page.body), older and html.unescape(older.group(1))


@pytest.mark.parametrize("words", ["ann", "ANN 1", " 1  aNN ", "ANN 29", "Bänd", "%", "Ann 1 & <b>"])
@pytest.mark.parametrize("viral", [False, True])
def test_search_lists_the_videos_that_the_api_finds(pages, words, viral):
    pages.instance.import_lines([lines.video("extra", "Ann", "2026-07-09T12:00:00Z", title="Ann 1 & <b> BÄND 100%")])
    query = urllib.parse.urlencode({"q": words, **({"viral": "1"} if viral else {})})
    path, seen, count = f"/videos?{query}", [], 0
    while path:
        page = pages.page(path)
        assert page.form("/videos").fields == {"q": words.strip(), **({"viral": "1"} if viral else {})}
        listed, path = ids_and_next(page)
        seen, count = seen + listed, count + 1
    expected = pages.get(f"/videos?limit=100&q={urllib.parse.quote(words)}{'&viral=true' if viral else ''}")["data"]
    assert seen == [video["id"] for video in expected] and (viral or seen) and count == (2 if len(expected) > 24 else 1)
    assert f'href="/videos?{"" if viral else "viral=1&amp;"}q={urllib.parse.quote(words.strip())}"' in page.body      # the other filter keeps the words


def test_search_without_words_or_without_result_says_so(pages):
    for words in ("", "%20", "%E2%80%8B"):
        assert ids_and_next(pages.page(f"/videos?q={words}"))[0] == ids_and_next(pages.page("/videos"))[0]
    page = pages.page("/videos?q=nothing+like+this")
    assert "No title in this list contains all of these words" in page.text and 'value="nothing like this"' in page.body
    assert len(pages.page("/videos?q=" + "x" * 100).body) > 1000
    assert "at most 100 characters" in pages.page("/videos?q=" + "x" * 101, status=400).text
    assert 'maxlength="100"' in page.body and '<label for="q">' in page.body


@pytest.mark.parametrize("position", ["", "1", "x-y", "-1-" + lines.uid("a"), "1-" + lines.uid("a")[:-1], "9" * 30 + "-" + lines.uid("a")])
def test_malformed_page_position_is_not_found(pages, position):
    pages.page(f"/videos?from={position}", status=404)


# ---- a video ----


def test_video_page_matches_the_api(pages):
    for n in (3, 5, 8):
        video = pages.get(f"/videos/{lines.uid(f'Ann {n}')}")["data"]
        page = pages.page(f"/videos/{video['id']}")
        assert figures(page)["Views"] == video["views"]
        (row,) = [row for row in pages.get("/stats?start_date=2026-05-01&end_date=2026-07-10")["data"] if row["video"]["id"] == video["id"]]
        assert {date: shown[:2] for date, shown in table(page).items()} == \
            {day["date"]: (day["views"], day["views_total"]) for day in row["days"]}
        counts = re.findall(r'<th scope="row">(TikTok|YouTube)(?:<br>.*?)?</th><td class="num">(.*?)</td>', page.body, re.S)
        assert [number(views) for _, views in counts] == [post["views"] for post in video["platforms"]]
        for milestone in video["milestones"]:
            assert f'<time datetime="{milestone["reached_at"][:10]}">' in page.body
    assert "The day on which the video went viral" in pages.page(f"/videos/{lines.uid('Ann 3')}").text


def test_chart_lists_gains_after_posted_at_is_corrected_to_an_earlier_time(viewtally):
    """An import may correct posted_at, so that the 30 days end before the last gain, or even before the first reading."""
    videos = ("Ina 1", "Ina 2")
    viewtally.import_lines([lines.author("Ina"), *(lines.video(video, "Ina", "2026-06-20T12:00:00Z") for video in videos)])
    viewtally.import_lines([lines.reading("Ina 1", "2026-07-08T10:00:00Z", 300, baseline=True), lines.reading("Ina 1", "2026-07-09T10:00:00Z", 340),
                            lines.reading("Ina 2", "2026-07-08T10:00:00Z", 300, baseline=True)])
    viewtally.import_lines([lines.video("Ina 1", "Ina", "2026-05-20T12:00:00Z", ["pinterest"]),
                            lines.video("Ina 2", "Ina", "2026-05-20T12:00:00Z", ["pinterest"])])
    viewtally.start()
    pages = Author(viewtally, lines.uid("Ina"))
    row, = pages.get("/stats?start_date=2026-06-11&end_date=2026-07-10")["data"]
    shown = table(pages.page(f"/videos/{lines.uid('Ina 1')}"))
    assert {date: value[:2] for date, value in shown.items()} == {day["date"]: (day["views"], day["views_total"]) for day in row["days"]}
    assert {date: value[:2] for date, value in table(pages.page(f"/videos/{lines.uid('Ina 2')}")).items()} == {"2026-07-08": (0, 300)}


def test_unknown_count_is_not_shown_as_zero(pages):
    page = pages.page(f"/videos/{lines.uid('Ann 4')}")        # on TikTok only, with likes but without comments
    assert re.search(r"<dt>Comments</dt><dd class=\"big\"><span aria-hidden=\"true\">–</span><span class=\"sr\">unknown", page.body)
    assert "unknown" not in re.search(r"<dt>Likes</dt><dd class=\"big\">(.*?)</dd>", page.body).group(1)


def test_largest_possible_counts_are_shown_in_full(pages, viewtally):
    most = 2**53 - 1
    viewtally.import_lines([lines.reading("Ann 0", "2026-07-10T11:59:00Z", most, platform="tiktok"),
                            lines.reading("Ann 1", "2026-07-10T11:59:00Z", most, platform="tiktok")])
    page = pages.page("/dashboard")
    assert figures(page)["Total views"] > 2 * most and "18,014T" in page.body
    assert figures(pages.page(f"/videos/{lines.uid('Ann 0')}"))["Views"] == most


def test_video_of_another_author_is_not_found(pages, viewtally):
    fill(viewtally, "Bob", 3)
    assert viewtally.client(viewtally.create_key(lines.uid("Bob"))).get(f"/videos/{lines.uid('Bob 0')}").status == 200
    for path in (f"/videos/{lines.uid('Bob 0')}", f"/videos/{lines.uid('none')}", "/videos/x", "/videos/" + lines.uid("Ann 0")[:-1]):
        pages.page(path, status=404)
    assert "Bob" not in pages.page("/dashboard").text + pages.page("/videos").text
    assert pages.page(f"/videos/{lines.uid('Ann 0').upper()}").status == 200


def test_hostile_names_and_links_are_escaped(viewtally):
    author = fill(viewtally, HOSTILE, 2, HOSTILE)
    viewtally.import_lines([lines.video(f"{HOSTILE} 0", HOSTILE, title=HOSTILE, thumbnail_url="https://e.org/\"><b>",
                                        posts=[lines.post(f"{HOSTILE} 0", "2026-07-09T12:00:00Z", "tiktok", url="https://e.org/\"'><b>")])])
    viewtally.start()
    pages = Author(viewtally, author)
    for path in ("/dashboard", "/videos", f"/videos/{lines.uid(f'{HOSTILE} 0')}"):
        page = pages.page(path)
        assert "<script>alert" not in page.body and "<b>" not in page.body and "\x1b" not in page.body and "<img" not in page.body
        assert "&lt;script&gt;alert(&quot;1&quot;)" in page.body
    assert 'href="https://e.org/&quot;&#39;&gt;&lt;b&gt;"' in page.body


def test_remote_thumbnails_are_shown_only_from_allowed_sources(make_viewtally, clock):
    for sources, count in (("", 0), ("https://pictures.example.org", 1)):
        instance = make_viewtally({"account": {"image_sources": sources}}, clock)
        author = fill(instance, "Ann", 1)
        instance.import_lines([lines.video("Ann 0", "Ann", thumbnail_url="https://pictures.example.org/1.jpg?a=1&b=2")])
        instance.start()
        page = Author(instance, author).page("/videos")
        assert page.body.count('<img class="thumb" src="https://pictures.example.org/1.jpg?a=1&amp;b=2" alt=""') == count
        assert page.body.count('<svg class="thumb') == 1 - count
        assert ("https://pictures.example.org" in page.headers["Content-Security-Policy"]) == bool(count)


def test_links_begin_with_the_path_of_the_base_url(make_viewtally, clock):
    instance = make_viewtally({"server": {"base_url": "http://127.0.0.1/x/v1"}}, clock)
    author = fill(instance, "Ann", 9)
    instance.start()
    browser = Browser(instance.client(), base="/x")
    browser.cookies["viewtally-session"] = session_cookie(instance, author)
    page = browser.get("/dashboard", follow=False)
    assert page.status == 200
    assert all(link.startswith("/x/") or link in ("#main", "data:,") for link in re.findall(r'(?:href|src|action)="([^"]*)"', page.body))
