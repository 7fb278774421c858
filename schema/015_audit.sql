-- Who did what to an author's account: keys, apps, sign-ins, plans, and what an operator removed or corrected.
-- additive: yes
-- cost: constant
PRAGMA user_version = 15;

-- Entries are deleted after a year. Ids count up per author.
CREATE TABLE audit (
    author_id  INTEGER NOT NULL REFERENCES authors (id) ON DELETE CASCADE,
    id         INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    action     TEXT    NOT NULL,  -- such as 'key.created' (src/store/audit.c)
    actor      TEXT    NOT NULL,  -- 'operator', 'author', 'app', 'key' or 'refresh'
    actor_name TEXT,              -- the operator's user name, the name of the app or key; NULL: none
    address    TEXT,              -- of the client; NULL: a command, or the address is unknown
    subject    TEXT,              -- the id of what changed, such as a key's UUID
    details    TEXT,              -- for people, such as the key's name
    PRIMARY KEY (author_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_author ON audit (author_id, at);
CREATE INDEX audit_by_time ON audit (at);
