-- What an event shows of its video, those of an author side by side: a page of events reads few pages of the database, however the
-- rows of the videos are strewn over the table. A reading changes none of these columns, so it does not pay for this.
PRAGMA user_version = 8;

CREATE INDEX videos_in_events ON videos (author_id, id, uuid, book_id, posted_at, title, thumbnail_url);
