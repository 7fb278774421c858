"""Random data: rules, import times, authors and the lines of each import.

All data is derived from a seed. The lines of an author depend only on the seed of the world and the number of the author, so one
author can be replayed alone. Each writer applies its lines to a model of its own, to generate boundary cases: views one below,
at and one above the viral threshold, milestones, videos at exactly the minimum age for comparison, the last millisecond of the
30 days, midnight.
"""
import json
import random
import uuid

from model import Model, iso, ms
from model.state import Rules, parse_lines
from model.steps import finalize_import, viral_comparison
from model.values import DAY, FUTURE, HOUR, LIFE, MAX_COUNT, MILESTONES, PLATFORMS

HISTORY_START = ms("2026-06-15T00:00:00Z")
TEXTS = ["Plain", "Zoë's кот 🐈", 'quo"ted \\ back', "=SUM(A1)", "-minus", "@at", "a,b;c", "line\nbreak", "\ttab", "<b>&amp;", "ﷺ 漢字",
         "x" * 300]


class World:
    """Rules, import times and authors. `only`: the number of the one author to replay; None creates all."""

    def __init__(self, seed, authors=12, only=None):
        rng = random.Random(f"world {seed}")
        self.seed = seed
        self.viral = {"multiplier": rng.choice(["5.0", "5.0", "1", "1.5", "2.345", "1.001", "12.5"]),
                      "min_views": rng.choice([10000, 10000, 1, 50, 1000]),
                      "compare_last": rng.choice([50, 5, 6, 7]),
                      "compare_min_age_hours": rng.choice([168, 168, 1, 25])}
        self.rules = Rules(**self.viral)
        self.times = [HISTORY_START + rng.randrange(-8 * DAY, 25 * DAY)]
        for _ in range(rng.randrange(2, 5)):
            self.times.append(self.times[-1] + rng.choice([rng.randrange(1, 3 * HOUR), rng.randrange(HOUR, 8 * DAY),
                                                           rng.randrange(DAY, 25 * DAY)]))
        numbers = range(authors) if only is None else [only]
        self.authors = [AuthorWriter(self, number) for number in numbers]

    def imports(self):
        """Yields (now, lines of all authors) for each import."""
        mixer = random.Random(f"mixer {self.seed}")
        for now in self.times:
            lines = [line for author in self.authors for line in author.write_import(now)]
            yield now, mix(mixer, lines)


def mix(rng, lines):
    """Shuffles the readings and inserts them at random places among the other lines, which stay in order."""
    readings = [line for line in lines if is_reading(line)]
    rng.shuffle(readings)
    places = [True] * len(readings) + [False] * (len(lines) - len(readings))
    rng.shuffle(places)
    others = iter([line for line in lines if not is_reading(line)])
    return [readings.pop() if place else next(others) for place in places]


def is_reading(line):
    return isinstance(line, dict) and line.get("type") == "reading"


class AuthorWriter:
    """Generates the lines of one author for each import."""

    def __init__(self, world, number):
        self.rng = random.Random(f"author {world.seed}/{number}")
        self.name = f"{world.seed}/{number}"
        self.model = Model(world.rules)
        self.id = self.uuid()
        self.last_now = None
        self.post_number = 0
        self.sent = []
        self.has_many_videos = self.rng.random() < 0.75        # enough videos for a median

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    @property
    def author(self):
        return self.model.authors[self.id]

    def posts(self):
        if self.id not in self.model.authors:
            return []
        return [post for video in self.author.videos.values() for post in video.posts.values()]

    def write_import(self, now):
        read_before = {post: post.last_reading for post in self.posts() if post.last_reading}
        lines = self.upserts(now)
        self.model.upsert(parse_lines(lines)[0], now)
        replays = self.replays()
        fresh = self.observation_times(now)
        for observed_at in sorted({*fresh, *replays}):
            step = replays.get(observed_at, []) + (self.step(observed_at) if observed_at in fresh else [])
            self.model.apply_readings(parse_lines(step)[0], now)
            lines += step
        lines += self.bad_lines(now, read_before)
        finalize_import(self.model)
        self.last_now = now
        self.sent = [line for line in lines if is_reading(line)]
        return lines

    def replays(self):
        """With probability 0.3, returns the readings of the last import as {observed_at: lines}, to be imported again
        as after a crash. Otherwise returns nothing."""
        lines = {}
        for line in self.sent if self.rng.random() < 0.3 else []:
            if isinstance(line["observed_at"], str) and "T" in line["observed_at"]:
                lines.setdefault(ms(line["observed_at"]), []).append(line)
        return lines

    # -- authors, books, videos ------------------------------------------------------------------------------------

    def upserts(self, now):
        rng, lines = self.rng, []
        first = self.last_now is None
        if first or rng.random() < 0.2:
            lines.append({"type": "author", "id": self.maybe_upper(self.id), "name": self.text()})
            if first:
                self.model.upsert(parse_lines(lines)[0], now)
        books = list(self.author.books)
        for _ in range(rng.randrange(3) if first else rng.randrange(2)):
            lines.append(self.book_line(books, now))
            books.append(lines[-1]["id"])
        if books and rng.random() < 0.3:
            lines.append({"type": "book", "id": rng.choice(books), "author_id": self.id, "title": self.text()})
        for number in range(self.video_count(first)):
            lines.append(self.video_line(books, now, old=first and self.has_many_videos and number < 8))
        for video in list(self.author.videos.values()):
            if rng.random() < 0.12:
                lines.append(self.change_line(video, books, now))
        return lines

    def video_count(self, first):
        if not first:
            return self.rng.choice([0, 1, 1, 2, 3])
        return self.rng.randrange(7, 14) if self.has_many_videos else self.rng.randrange(0, 5)

    def maybe_upper(self, identifier):
        return identifier.upper() if self.rng.random() < 0.1 else identifier

    def text(self):
        return self.rng.choice(TEXTS) + (f" {self.rng.randrange(1000)}" if self.rng.random() < 0.8 else "")

    def book_line(self, books, now):
        line = {"type": "book", "id": self.uuid(), "author_id": self.id, "title": self.text()}
        if self.rng.random() < 0.5:
            line["subtitle"] = self.rng.choice(["", None, self.text()])
        if self.rng.random() < 0.7:
            line["created_at"] = iso(now - self.rng.choice([0, DAY, self.rng.randrange(400 * DAY)]))
        return line

    def posted_at(self, now, old):
        """Returns a posting time: often equal to another one, at midnight, or exactly the minimum age for comparison ago."""
        rng = self.rng
        age = self.model.rules.compare_min_age_hours * HOUR
        known = [video.posted_at for video in self.author.videos.values() if video.posts]
        if known and rng.random() < 0.25:
            return rng.choice(known)
        if old:
            time = now - age - rng.randrange(0, 22 * DAY)
        else:
            time = now - rng.choice([rng.randrange(2 * DAY), rng.randrange(10 * DAY), rng.randrange(45 * DAY), age, LIFE])
        return time - time % rng.choice([1, HOUR, HOUR, DAY])

    def post(self, platform, posted_at):
        self.post_number += 1
        post_id = f"{platform[:2]}-{self.name}-{self.post_number}"
        return {"platform": platform, "post_id": post_id, "posted_at": iso(posted_at),
                **({"url": f"https://example.org/{self.post_number}"} if self.rng.random() < 0.7 else {})}

    def video_line(self, books, now, old):
        rng = self.rng
        platforms = rng.sample(PLATFORMS, rng.choice([1, 1, 1, 2, 3]) if rng.random() < 0.95 else 0)
        posted_at = self.posted_at(now, old)
        posts = [self.post(platform, posted_at + (rng.randrange(2 * DAY) if number and rng.random() < 0.5 else 0))
                 for number, platform in enumerate(platforms)]
        line = {"type": "video", "id": self.maybe_upper(self.uuid()), "author_id": self.id}
        if posts or rng.random() < 0.5:
            line["posts"] = posts
        if books and rng.random() < 0.7:
            line["book_id"] = rng.choice(books)
        if rng.random() < 0.8:
            line["title"] = self.text()
        if rng.random() < 0.7:
            line["thumbnail_url"] = rng.choice([None, f"https://example.org/{rng.randrange(9999)}.jpg"])
        return line

    def change_line(self, video, books, now):
        rng = self.rng
        line = {"type": "video", "id": video.id, "author_id": self.id}
        what = rng.randrange(5)
        if what == 0:
            line["title"] = rng.choice([None, self.text()])
        elif what == 1:
            line["book_id"] = rng.choice(books + [None])
        elif what == 2:
            line["thumbnail_url"] = rng.choice([None, "http://example.org/new.png"])
        elif what == 3 and video.posts:
            post = rng.choice(list(video.posts.values()))
            line["posts"] = [{"platform": post.platform, "url": rng.choice([None, "https://example.org/moved"])}]
        else:
            free = [platform for platform in PLATFORMS if platform not in video.posts]
            posted_at = video.posted_at if video.posts else self.posted_at(now, False)
            if free:
                offset = rng.choice([0, rng.randrange(3 * DAY), rng.randrange(3 * DAY), -rng.randrange(2 * DAY)])
                line["posts"] = [self.post(rng.choice(free), max(0, posted_at + offset))]
        return line

    # -- readings --------------------------------------------------------------------------------------------------

    def observation_times(self, now):
        """Returns the observation times of the steps of this import."""
        rng = self.rng
        since = self.last_now if self.last_now is not None else now - 20 * DAY
        age = self.model.rules.compare_min_age_hours * HOUR
        posted = [video.posted_at for video in self.author.videos.values() if video.posts]
        chosen = set()
        for _ in range(rng.randrange(4, 16)):
            time = rng.randrange(since, now + 1)
            kind = rng.randrange(8)
            if kind == 0:
                time = time - time % DAY - rng.randrange(2)
            elif kind <= 2:
                time = time - time % HOUR + 55 * 60 * 1000
            elif kind == 3 and posted:
                time = rng.choice(posted) + age - rng.randrange(2)
            elif kind == 4 and posted:
                time = rng.choice(posted) + LIFE - rng.randrange(3)
            elif kind == 5:
                time = now + rng.choice([0, FUTURE, FUTURE - 1, -1])
            elif kind == 6:
                time = max([post.last_reading for post in self.posts() if post.last_reading], default=time)
            chosen.add(max(0, min(time, now + FUTURE)))
        return chosen

    def step(self, observed_at):
        """Returns the readings of one step, often of a single video, so that boundary values are reached."""
        rng = self.rng
        age = self.model.rules.compare_min_age_hours * HOUR
        open_videos = [video for video in self.author.videos.values() if video.posts
                       and video.posted_at <= observed_at <= video.posted_at + LIFE]
        if not open_videos:
            return []
        unread = [video for video in open_videos if video.first_reading is None]
        if len(unread) > 3 and rng.random() < 0.7:
            chosen = unread
        else:
            chosen = rng.sample(open_videos, rng.choice([1, 1, 1, min(2, len(open_videos)), rng.randint(1, len(open_videos))]))
        edge = [video for video in self.author.videos.values() if video.posts and video.posted_at == observed_at - age]
        others = [video for video in open_videos if video not in edge]
        if edge and others and len(chosen) == 1:
            chosen = [rng.choice(others)]
        return [line for video in chosen for line in self.video_readings(video, observed_at)]

    def video_readings(self, video, observed_at):
        rng = self.rng
        posts = [post for post in video.posts.values() if post.posted_at <= observed_at] or list(video.posts.values())
        baseline = rng.random() < (0.35 if video.first_reading is None else 0.06)
        lines = []
        for post in rng.sample(posts, rng.choice([1, 1, len(posts)])):
            lines.append(self.reading(post, observed_at, self.next_views(video, post, observed_at), baseline))
            if rng.random() < 0.08:
                lines.append(self.reading(post, observed_at, self.next_views(video, post, observed_at), rng.random() < 0.5))
        return lines

    def next_views(self, video, post, observed_at):
        """Returns the next views of the post: None, a lower or higher value, or one around a threshold or milestone."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.05:
            return None
        if kind < 0.15:
            return max(0, post.views - rng.choice([0, 0, 1, post.views // 2]))
        if kind < 0.45:
            t = max(observed_at, video.views_updated_at or 0)
            total = viral_comparison(self.model.rules, self.author, video, t).threshold
        elif kind < 0.52 and video.comparison:
            total = video.comparison.threshold
        elif kind < 0.65:
            total = rng.choice([value for value in MILESTONES if value > video.views][:rng.choice([1, 1, 2, 4, 8])] or [1])
        else:
            return min(MAX_COUNT, post.views + int(rng.lognormvariate(rng.choice([3, 6, 6.5, 8]), 1.5)))
        views = post.views + total + rng.choice([-1, 0, 0, 1]) - video.views
        return min(MAX_COUNT, views if views >= 0 else post.views + rng.randrange(3))

    def reading(self, post, observed_at, views, baseline):
        rng = self.rng
        line = {"type": "reading", "platform": post.platform, "post_id": post.post_id, "observed_at": iso(observed_at),
                "views": views}
        for count in ("likes", "comments", "shares", "saves"):
            if rng.random() < 0.6:
                line[count] = rng.choice([None, 0, rng.randrange(10000)])
        if views is None and rng.random() < 0.5:
            del line["views"]
        if baseline or rng.random() < 0.05:
            line["baseline"] = baseline
        return line

    # -- lines to be rejected --------------------------------------------------------------------------------------

    def bad_lines(self, now, read_before):
        """Returns lines that must be rejected. `read_before`: {post: its last reading before this import}."""
        rng, lines = self.rng, []
        posts = self.posts()
        for post in rng.sample(posts, min(len(posts), rng.randrange(3))):
            good = self.reading(post, now, post.views + 1000, False)
            lines.append({**good, **rng.choice([
                {"observed_at": iso(now + FUTURE + 1)}, {"observed_at": iso(post.posted_at - 1)},
                {"observed_at": iso(now + FUTURE + DAY), "views": -1}, {"views": -1}, {"views": 1.5}, {"views": "7"},
                {"views": MAX_COUNT + 1}, {"likes": -1}, {"saves": True}, {"platform": "myspace"}, {"post_id": "unknown"},
                {"observed_at": "yesterday"}, {"observed_at": None}, {"baseline": 1}])})
            if post in read_before:
                lines.append({**good, "observed_at": iso(read_before[post] - rng.choice([1, DAY]))})
            if now > post.video.posted_at + LIFE:
                lines.append({**good, "observed_at": iso(post.video.posted_at + LIFE + 1)})
        if rng.random() < 0.3:
            lines.append(rng.choice([
                "{", "[]", "17", '{"type":"reading"}', '{"type":"nothing"}', '{"id":"x"}',
                json.dumps({"type": "author", "id": self.id, "name": ""}), json.dumps({"type": "author", "id": "x", "name": "N"}),
                json.dumps({"type": "author", "id": self.uuid()}),
                json.dumps({"type": "book", "id": self.uuid(), "author_id": self.uuid(), "title": "T"}),
                json.dumps({"type": "video", "id": self.uuid(), "author_id": self.id, "book_id": self.uuid()}),
                json.dumps({"type": "video", "id": self.uuid(), "author_id": self.id, "posts": [{"platform": "tiktok"}]}),
                f'{{"type":"author","id":"{self.id}","name":"A","name":"B"}}',
                f'{{"type":"author","id":"{self.id}","name":"A"']))
        self.model.apply_readings(parse_lines(lines)[0], now)
        return lines
