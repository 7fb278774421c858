"""Builds lines of the import format for tests. Objects have a short name; the id of an object is a UUID that is
computed from its name."""
import uuid

NAMESPACE = uuid.UUID("6d2a3c1e-3a53-4f0e-9f0b-6c1c4f9f6f00")


def uid(name):
    return str(uuid.uuid5(NAMESPACE, name))


def author(name, /, **fields):
    return {"type": "author", "id": uid(name), "name": name, **fields}


def book(name, of, /, **fields):
    return {"type": "book", "id": uid(name), "author_id": uid(of), "title": name, **fields}


def post(name, posted_at, platform="youtube", **fields):
    return {"platform": platform, "post_id": f"{platform}-{name}", "posted_at": posted_at, **fields}


def video(name, of, posted_at=None, platforms=("youtube",), **fields):
    """A video; with posted_at it has a post on each of `platforms`."""
    posts = [post(name, posted_at, platform) for platform in platforms] if posted_at else []
    return {"type": "video", "id": uid(name), "author_id": uid(of), "title": name, "posts": posts, **fields}


def reading(name, observed_at, views=None, platform="youtube", **fields):
    """A reading of a post that video() made."""
    counts = {} if views is None else {"views": views}
    return {"type": "reading", "platform": platform, "post_id": f"{platform}-{name}", "observed_at": observed_at, **counts, **fields}
