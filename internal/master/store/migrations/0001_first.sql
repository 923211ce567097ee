-- The first schema. The text is that of SQLite; migrate.go says what PostgreSQL reads
-- in its place. Times are nanoseconds since 1970, 0 for none; truths are 0 and 1.

CREATE TABLE settings (
	name  TEXT NOT NULL PRIMARY KEY,
	value BLOB NOT NULL
);

-- The last number that was given to a thing of each kind: numbers are not given again.
CREATE TABLE counters (
	name  TEXT NOT NULL PRIMARY KEY,
	value BIGINT NOT NULL
);

-- What executors are compiled from: each file once, by its digest, compressed.
CREATE TABLE blobs (
	hash TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
);
CREATE TABLE sources (
	hash TEXT NOT NULL PRIMARY KEY
);
CREATE TABLE source_files (
	source TEXT NOT NULL REFERENCES sources (hash),
	place  BIGINT NOT NULL,
	kind   TEXT NOT NULL,
	path   TEXT NOT NULL,
	blob   TEXT NOT NULL REFERENCES blobs (hash),
	PRIMARY KEY (source, place)
);
CREATE INDEX source_files_blob ON source_files (blob);

CREATE TABLE applications (
	number     BIGINT NOT NULL PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	name       TEXT NOT NULL,
	name_lower TEXT NOT NULL,
	owner      TEXT NOT NULL,
	version    BIGINT NOT NULL,
	created    BIGINT NOT NULL,
	changed    BIGINT NOT NULL,
	source     TEXT NOT NULL REFERENCES sources (hash)
);
CREATE INDEX applications_source ON applications (source);
CREATE TABLE application_tags (
	application TEXT NOT NULL REFERENCES applications (id),
	place       BIGINT NOT NULL,
	tag         TEXT NOT NULL,
	PRIMARY KEY (application, place)
);
CREATE INDEX application_tags_tag ON application_tags (tag, application);

CREATE TABLE runs (
	number      BIGINT NOT NULL PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	application TEXT REFERENCES applications (id),
	name        TEXT NOT NULL,
	name_lower  TEXT NOT NULL,
	owner       TEXT NOT NULL,
	state       TEXT NOT NULL,
	version     BIGINT NOT NULL,
	cause       TEXT NOT NULL,
	verdict     TEXT NOT NULL,
	created     BIGINT NOT NULL,
	started     BIGINT NOT NULL,
	ended       BIGINT NOT NULL,
	options     TEXT NOT NULL, -- JSON
	source      TEXT NOT NULL REFERENCES sources (hash),
	active      BIGINT NOT NULL,
	final       BIGINT NOT NULL,
	deleted     BIGINT NOT NULL, -- 1: it is being deleted, and nobody sees it
	bytes       BIGINT NOT NULL, -- of its batches, series and result
	step        BIGINT NOT NULL, -- of its series, as it is taken in; 0: it has none
	newest      BIGINT NOT NULL, -- end of the newest part of it
	fine_from   BIGINT NOT NULL, -- the run's time from which on parts of its own interval are kept
	ten_from    BIGINT NOT NULL  -- and parts of 10 s
);
CREATE UNIQUE INDEX runs_active ON runs (active) WHERE active = 1;
CREATE INDEX runs_unfinished ON runs (number) WHERE final = 0;
CREATE INDEX runs_application ON runs (application);
CREATE INDEX runs_source ON runs (source);

CREATE TABLE transitions (
	run        BIGINT NOT NULL REFERENCES runs (number),
	version    BIGINT NOT NULL,
	from_state TEXT NOT NULL,
	to_state   TEXT NOT NULL,
	cause      TEXT NOT NULL,
	by_whom    TEXT NOT NULL,
	at         BIGINT NOT NULL,
	PRIMARY KEY (run, version)
);

CREATE TABLE results (
	run  BIGINT NOT NULL PRIMARY KEY REFERENCES runs (number),
	data BLOB NOT NULL -- JSON, compressed
);

-- Which batches have been taken in. Those of a final run become one row of batch_ranges
-- for each executor and epoch: all from 1 to high.
CREATE TABLE batches (
	run      BIGINT NOT NULL REFERENCES runs (number),
	executor BIGINT NOT NULL,
	epoch    BIGINT NOT NULL,
	seq      BIGINT NOT NULL,
	sum      BIGINT NOT NULL,
	PRIMARY KEY (run, executor, epoch, seq)
) WITHOUT ROWID;
CREATE TABLE batch_ranges (
	run      BIGINT NOT NULL REFERENCES runs (number),
	executor BIGINT NOT NULL,
	epoch    BIGINT NOT NULL,
	high     BIGINT NOT NULL,
	PRIMARY KEY (run, executor, epoch)
);
CREATE TABLE executors (
	run      BIGINT NOT NULL REFERENCES runs (number),
	executor BIGINT NOT NULL,
	epoch    BIGINT NOT NULL,
	agent    TEXT NOT NULL,
	seq      BIGINT NOT NULL,
	state    BLOB NOT NULL,
	PRIMARY KEY (run, executor)
);
CREATE TABLE totals (
	run   BIGINT NOT NULL PRIMARY KEY REFERENCES runs (number),
	state BLOB NOT NULL
);

-- Parts of series at each level: 0 the run's own interval, 1 10 s, 2 1 min, 3 3 min,
-- 4 15 min.
-- A part that is folded is in a part of a higher level too. series.go says how they are
-- read.
CREATE TABLE series (
	id     INTEGER NOT NULL PRIMARY KEY,
	run    BIGINT NOT NULL REFERENCES runs (number),
	agent  TEXT NOT NULL,
	level  BIGINT NOT NULL,
	start  BIGINT NOT NULL, -- ns since the load began
	stop   BIGINT NOT NULL,
	step   BIGINT NOT NULL,
	warmup BIGINT NOT NULL,
	folded BIGINT NOT NULL,
	data   BLOB NOT NULL -- compressed
);
CREATE INDEX series_time ON series (run, agent, level, start);
CREATE INDEX series_unfolded ON series (run, agent, level, start) WHERE folded = 0;

CREATE TABLE agents (
	id      TEXT NOT NULL PRIMARY KEY,
	name    TEXT NOT NULL,
	pubkey  TEXT NOT NULL UNIQUE,
	joined  BIGINT NOT NULL,
	seen    BIGINT NOT NULL,
	revoked BIGINT NOT NULL,
	hello   BLOB NOT NULL
);
CREATE TABLE join_tokens (
	id      TEXT NOT NULL PRIMARY KEY,
	hash    BLOB NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	by_whom TEXT NOT NULL,
	spent   BIGINT NOT NULL,
	agent   TEXT NOT NULL
);

CREATE TABLE users (
	id         TEXT NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL,
	name_lower TEXT NOT NULL UNIQUE,
	role       TEXT NOT NULL,
	password   TEXT NOT NULL,
	disabled   BIGINT NOT NULL,
	version    BIGINT NOT NULL,
	created    BIGINT NOT NULL
);
CREATE TABLE sessions (
	hash     BLOB NOT NULL PRIMARY KEY,
	user_id  TEXT NOT NULL REFERENCES users (id),
	created  BIGINT NOT NULL,
	seen     BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE TABLE tokens (
	id       TEXT NOT NULL PRIMARY KEY,
	name     TEXT NOT NULL,
	user_id  TEXT NOT NULL REFERENCES users (id),
	role     TEXT NOT NULL,
	hash     BLOB NOT NULL,
	created  BIGINT NOT NULL,
	expires  BIGINT NOT NULL,
	used     BIGINT NOT NULL,
	revoked  BIGINT NOT NULL
);
CREATE INDEX tokens_user ON tokens (user_id);
CREATE TABLE replies (
	user_id  TEXT NOT NULL,
	idem     TEXT NOT NULL,
	request  BLOB NOT NULL,
	status   BIGINT NOT NULL,
	type     TEXT NOT NULL,
	body     BLOB NOT NULL,
	created  BIGINT NOT NULL,
	PRIMARY KEY (user_id, idem)
);
CREATE INDEX replies_created ON replies (created);

-- Each entry's chain is a hash over the entry before it and itself; audit.go says which.
CREATE TABLE audit (
	number   BIGINT NOT NULL PRIMARY KEY,
	at       BIGINT NOT NULL,
	username TEXT NOT NULL,
	token    TEXT NOT NULL,
	address  TEXT NOT NULL,
	action   TEXT NOT NULL,
	object   TEXT NOT NULL,
	detail   TEXT NOT NULL,
	result   TEXT NOT NULL,
	chain    BLOB NOT NULL
);
