-- Answers of the feed hang on what the feed shows, so that they outlive the readings of every hour.
PRAGMA user_version = 6;

-- Grows with every change that an answer of /events could show: a new event (the statement that sets last_event_id), and what
-- the triggers below see. Events themselves never change, and no row that an event shows is ever deleted.
ALTER TABLE authors ADD COLUMN feed_rev INTEGER NOT NULL DEFAULT 1;

-- Of a video an event shows these columns. A reading names none of them, so it does not pay for this.
CREATE TRIGGER videos_shown_by_events AFTER UPDATE OF title, thumbnail_url, posted_at, book_id ON videos
WHEN OLD.title IS NOT NEW.title OR OLD.thumbnail_url IS NOT NEW.thumbnail_url OR OLD.posted_at IS NOT NEW.posted_at
    OR OLD.book_id IS NOT NEW.book_id BEGIN
    UPDATE authors SET feed_rev = feed_rev + 1 WHERE id = NEW.author_id;
END;

CREATE TRIGGER books_shown_by_events AFTER UPDATE OF title ON books WHEN OLD.title IS NOT NEW.title BEGIN
    UPDATE authors SET feed_rev = feed_rev + 1 WHERE id = NEW.author_id;
END;
