"""Steps: apply the readings of one author with one observed_at; viral thresholds, milestones and events."""
import heapq

from .values import COUNTS, HOUR, MAX_COUNT, MILESTONES, MIN_COMPARED, day_of


class ViralComparison:
    """The viral threshold and the values that it was computed from."""

    def __init__(self, threshold, median, compared):
        self.threshold = threshold
        self.median = median
        self.compared = compared

    def __repr__(self):
        return f"ViralComparison({self.threshold}, {self.median}, {self.compared})"


def comparables(rules, author, video, t):
    """The author's other videos to compare with, newest first."""
    others = [other for other in author.videos.values()
              if other is not video and other.first_reading is not None
              and other.posted_at <= t - rules.compare_min_age_hours * HOUR]
    return heapq.nlargest(rules.compare_last, others, key=lambda other: (other.posted_at, other.id))


def viral_comparison(rules, author, video, t):
    views = sorted(other.views for other in comparables(rules, author, video, t))
    if len(views) < MIN_COMPARED:
        return ViralComparison(rules.min_views, None, len(views))
    upper = len(views) // 2
    median = views[upper] if len(views) % 2 else (views[upper - 1] + views[upper]) // 2
    times_multiplier = (median * rules.multiplier_thousandths + 999) // 1000
    return ViralComparison(min(max(rules.min_views, times_multiplier), MAX_COUNT), median, len(views))


class Change:
    """The change of one video by one step."""

    def __init__(self, video, observed_at):
        self.video = video
        self.t = max(observed_at, video.views_updated_at or 0)
        self.before = video.views
        self.baseline_increase = 0
        self.gain = 0
        self.gains = {}             # by platform
        self.baselines = {}
        self.has_baseline = False
        self.changed = False        # False if the readings only repeat the last ones


def merge(readings, count):
    """The highest known value of one count among readings of one post; None if none is known."""
    known = [reading[count] for reading in readings if reading[count] is not None]
    return max(known) if known else None


def apply_to_post(post, readings, observed_at, change):
    """Applies the readings of one post in one step. Views never fall, other counts may."""
    baseline = merge([reading for reading in readings if reading["baseline"]], "views")
    ordinary = merge([reading for reading in readings if not reading["baseline"]], "views")
    with_baseline = max(post.views, baseline or 0)
    after = max(with_baseline, ordinary or 0)
    before = (post.views, post.has_views, dict(post.counts), post.last_reading)
    change.baselines[post.platform] = with_baseline - post.views
    change.baseline_increase += with_baseline - post.views
    change.gains[post.platform] = after - with_baseline
    change.gain += after - with_baseline
    post.views = after
    post.has_views = post.has_views or baseline is not None or ordinary is not None
    for count in COUNTS[1:]:
        value = merge(readings, count)
        if value is not None:
            post.counts[count] = value
    post.last_reading = observed_at
    if before != (post.views, post.has_views, post.counts, post.last_reading):
        change.changed = True
        change.has_baseline = change.has_baseline or any(reading["baseline"] for reading in readings)


def apply_step(model, author, observed_at, readings):
    """Applies `readings`, accepted (post, reading) pairs, and then decides each video.

    A video does not change at all if its readings only repeat the last ones, as after a crash. So importing a file
    twice has the same result as importing it once.
    """
    changes, by_post = {}, {}
    for post, reading in readings:
        by_post.setdefault(id(post), (post, []))[1].append(reading)
    for post, of_post in by_post.values():
        if post.video.id not in changes:
            changes[post.video.id] = Change(post.video, observed_at)
        change = changes[post.video.id]
        apply_to_post(post, of_post, observed_at, change)
    changes = {video_id: change for video_id, change in changes.items() if change.changed}
    for change in changes.values():
        video = change.video
        video.baseline += change.baseline_increase
        if change.gain:
            day = day_of(change.t)
            video.gains[day] = video.gains.get(day, 0) + change.gain
        for platform, gain in change.gains.items():
            key = day_of(change.t), platform
            video.platform_gains[key] = video.platform_gains.get(key, 0) + gain
        for platform, increase in change.baselines.items():
            video.platform_baselines[platform] = video.platform_baselines.get(platform, 0) + increase
        video.first_reading = min(video.first_reading, observed_at) if video.first_reading is not None else observed_at
        video.views_updated_at = change.t
        video.baseline_pending = video.baseline_pending or change.has_baseline
    for video_id in sorted(changes):
        decide(model, author, changes[video_id])


def decide(model, author, change):
    video, t = change.video, change.t
    events = []
    quiet_up_to = change.before + change.baseline_increase
    for value in MILESTONES:
        if change.before < value <= video.views:
            video.milestones.append((value, t))
            if value > quiet_up_to:
                events.append((value, 0, {"type": "video.milestone_reached", "milestone": value}))
    if not video.viral:
        comparison = viral_comparison(model.rules, author, video, t)
        if change.gain > 0 and video.views >= comparison.threshold:
            go_viral(video, comparison, t)
            if not (video.baseline_pending and video.baseline >= comparison.threshold):
                events.append((comparison.threshold, 1, {"type": "video.went_viral", "views": video.views,
                                                         "threshold": comparison.threshold, "author_median_views": comparison.median}))
        else:
            store_comparison_if_above_views(video, comparison)
    for _, _, event in sorted(events, key=lambda entry: entry[:2]):
        if t >= model.rules.history_start:
            author.events.append({**event, "occurred_at": t, "video": video})


def go_viral(video, comparison, t):
    video.viral = True
    video.comparison = comparison
    video.went_viral_at = t - t % HOUR
    video.views_when_viral = video.views


def store_comparison_if_above_views(video, comparison):
    """Invariant: a video that is not viral has fewer views than its threshold."""
    if comparison.threshold > video.views:
        video.comparison = comparison


def finalize_import(model):
    """Finalizes after an import: a baseline at or above the threshold makes a video viral without an event.

    A video whose views were partly gained also becomes viral if all its views have reached both the current and the
    stored threshold. Otherwise the video would stay not viral although its views have reached its threshold.
    """
    for author in model.authors.values():
        pending = [video for video in author.videos.values() if video.baseline_pending]
        for video in pending:
            video.baseline_pending = False
            if video.viral:
                continue
            comparison = viral_comparison(model.rules, author, video, video.views_updated_at)
            if video.baseline >= comparison.threshold or video.views >= max(comparison.threshold, video.comparison.threshold):
                go_viral(video, comparison, video.views_updated_at)
            else:
                store_comparison_if_above_views(video, comparison)
