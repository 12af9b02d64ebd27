-- The first schema. All times are the database's clock, in milliseconds since 1970.
CREATE TABLE meta (
  one         INTEGER PRIMARY KEY CHECK (one = 1),
  schema      INTEGER NOT NULL,     -- the newest migration that was run
  readable_by INTEGER NOT NULL,     -- the oldest binary that may work on it: only older ones refuse to start
  token       INTEGER NOT NULL,     -- fencing tokens: the last one that was given out
  -- The database's clock: wall_ms + (boot clock now - boot_ms), hurried or slowed by rate_ppm.
  boot        TEXT    NOT NULL,     -- boot id of the anchor; on another boot it is anchored anew
  wall_ms     INTEGER NOT NULL,
  boot_ms     INTEGER NOT NULL,
  rate_ppm    INTEGER NOT NULL
) STRICT;

-- How a fingerprint was made. Rows are only ever added.
CREATE TABLE recipe (id INTEGER PRIMARY KEY, made_of TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE record (
  id          INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice: a new record must not find an older one's steps
  scope       BLOB    NOT NULL CHECK (length(scope) BETWEEN 1 AND 64),
  key         BLOB    NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  token       INTEGER NOT NULL,
  claim       BLOB    NOT NULL CHECK (length(claim) = 16), -- nil: an operator freed the key, and nobody has claimed it since
  state       INTEGER NOT NULL CHECK (state IN (1, 2, 3)), -- in progress, completed, unknown
  lease_until INTEGER,
  expires_at  INTEGER NOT NULL,
  purge_at    INTEGER NOT NULL,
  retention_ms INTEGER NOT NULL,    -- as it was asked for: a late completion starts it anew
  generation  INTEGER NOT NULL DEFAULT 0,
  steps_begun INTEGER NOT NULL DEFAULT 0,
  recipe      INTEGER NOT NULL,
  fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
  status      INTEGER,
  answer      BLOB,                 -- last: readers of the small columns never touch its overflow pages
  UNIQUE (scope, key),
  CHECK ((state = 1) = (lease_until IS NOT NULL)),
  CHECK ((state = 2) = (status IS NOT NULL))
) STRICT;
CREATE INDEX record_purge_at ON record (purge_at);

CREATE TABLE step (
  record  INTEGER NOT NULL,
  name    TEXT    NOT NULL,
  token   INTEGER NOT NULL,         -- of the claim that (last) began it
  state   INTEGER NOT NULL CHECK (state IN (1, 2)), -- begun, ended
  unkeyed INTEGER NOT NULL,         -- the other side has no keys of its own: begun without an end is in doubt
  input   BLOB    NOT NULL,
  result  BLOB,
  PRIMARY KEY (record, name)
) STRICT;

-- How people settled records. Leaves with the record.
CREATE TABLE resolution (
  record  INTEGER NOT NULL,
  token   INTEGER NOT NULL,         -- that it took
  at      INTEGER NOT NULL,
  outcome INTEGER NOT NULL CHECK (outcome IN (1, 2)), -- succeeded, failed
  who     TEXT    NOT NULL CHECK (who <> ''),
  why     TEXT    NOT NULL CHECK (why <> ''),
  PRIMARY KEY (record, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE project (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  hint TEXT NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT;

CREATE TABLE message_key (
  id          INTEGER PRIMARY KEY,
  project     INTEGER NOT NULL,
  key         BLOB    NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  message     BLOB    NOT NULL CHECK (length(message) = 16),
  expires_at  INTEGER NOT NULL,
  purge_at    INTEGER NOT NULL,
  recipe      INTEGER NOT NULL,
  fingerprint BLOB    NOT NULL CHECK (length(fingerprint) = 32),
  UNIQUE (project, key)
) STRICT;
CREATE INDEX message_key_purge_at ON message_key (purge_at);

-- Written once. What changes lies in delivery, so that a change never rewrites a payload.
CREATE TABLE message (
  seq        INTEGER PRIMARY KEY,
  id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
  project    INTEGER NOT NULL,
  channel    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  identity   BLOB    NOT NULL CHECK (length(identity) = 32), -- what the outgoing ids are made of
  key        BLOB,                  -- for people; what dedupes is message_key
  sender     TEXT,                  -- the default sender at acceptance, where the message names none
  payload    BLOB    NOT NULL       -- the accepted JSON as it came
) STRICT;

-- A running attempt lives in this row (state 2, its token, its start); the attempt table gets a row when it ends.
CREATE TABLE delivery (
  seq         INTEGER PRIMARY KEY,  -- the message's
  channel     INTEGER NOT NULL,
  state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7), -- waiting, sending, sent, failed, unknown, cancelled, expired
  token       INTEGER NOT NULL DEFAULT 0,
  wake_at     INTEGER,              -- when somebody must look: due, retry or end of lease; NULL when final
  due_at      INTEGER NOT NULL,     -- its first due time: age counts from here
  expires_at  INTEGER,
  started_at  INTEGER,              -- of the latest attempt
  attempts    INTEGER NOT NULL DEFAULT 0,
  nonce       INTEGER NOT NULL DEFAULT 0,
  maybe_sent  INTEGER NOT NULL DEFAULT 0, -- an attempt ended without a definite answer; never cleared
  provider_id TEXT,
  CHECK ((state IN (1, 2)) = (wake_at IS NOT NULL))
) STRICT;
CREATE INDEX delivery_wake ON delivery (channel, wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE attempt (
  message INTEGER NOT NULL, token INTEGER NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  outcome INTEGER NOT NULL CHECK (outcome BETWEEN 1 AND 6), detail TEXT,
  PRIMARY KEY (message, token)
) STRICT, WITHOUT ROWID;
