-- A revision of the event feed, so that cached responses of /events stay valid when a reading changes only counts.
-- additive: no
-- cost: constant
PRAGMA user_version = 6;

-- Grows with every change that can be visible in a response of /events: a new event (the statement that sets last_event_id), and
-- the changes that the triggers below detect. Events never change, and the rows they refer to are never deleted.
ALTER TABLE authors ADD COLUMN feed_rev INTEGER NOT NULL DEFAULT 1;

-- The columns of a video that an event shows. A reading updates none of them, so it does not fire this trigger.
CREATE TRIGGER videos_shown_by_events AFTER UPDATE OF title, thumbnail_url, posted_at, book_id ON videos
WHEN OLD.title IS NOT NEW.title OR OLD.thumbnail_url IS NOT NEW.thumbnail_url OR OLD.posted_at IS NOT NEW.posted_at
    OR OLD.book_id IS NOT NEW.book_id BEGIN
    UPDATE authors SET feed_rev = feed_rev + 1 WHERE id = NEW.author_id;
END;

CREATE TRIGGER books_shown_by_events AFTER UPDATE OF title ON books WHEN OLD.title IS NOT NEW.title BEGIN
    UPDATE authors SET feed_rev = feed_rev + 1 WHERE id = NEW.author_id;
END;
