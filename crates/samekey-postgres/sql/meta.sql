-- Stands beside the migrations: what schema is here, and which binaries may work on it.
CREATE SCHEMA IF NOT EXISTS samekey;
CREATE TABLE IF NOT EXISTS samekey.meta (
  one         boolean PRIMARY KEY DEFAULT true CHECK (one),
  schema      integer NOT NULL,             -- the newest migration that was run
  readable_by integer NOT NULL              -- the oldest binary that may work on it: only older ones refuse to start
);
