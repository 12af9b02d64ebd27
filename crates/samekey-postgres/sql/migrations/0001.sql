-- The first schema. Every time in here is the database's.
-- No foreign keys: rows leave with their record, by our own statements.

-- One sequence for the store: no token is ever used twice, not after a release, a sweep or a resolve.
-- CACHE 1 is a rule: with a cache, a later claim on another connection may get a smaller number.
CREATE SEQUENCE samekey.token AS bigint CACHE 1;

-- How a fingerprint was made: algorithm version, 'json' or 'raw', ignored members. Rows are only ever added.
CREATE TABLE samekey.recipe (
  id      smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  made_of text     NOT NULL UNIQUE
);

-- The record: narrow, updated once (HOT). Nothing that is updated is indexed.
CREATE TABLE samekey.record (
  token       bigint           NOT NULL,    -- fencing token: grows with every claim, fence, release and resolve
  expires_at  timestamptz      NOT NULL,    -- after it: tombstone, by arithmetic, without an UPDATE
  purge_at    timestamptz      NOT NULL,    -- after it: DELETE
  lease_until timestamptz,                  -- set while in progress
  retention_s double precision NOT NULL,    -- as it was asked for: a late completion starts it anew
  generation  integer          NOT NULL DEFAULT 0, -- grows when an operator frees the key: part of the derived key
  steps_begun integer          NOT NULL DEFAULT 0, -- on this row, so that release and step begin meet on one row lock
  state       smallint         NOT NULL,    -- 1 in progress, 2 completed, 3 unknown
  status      smallint,                     -- of the response; stays readable as a tombstone
  recipe      smallint         NOT NULL,
  claim       uuid             NOT NULL,    -- minted by the claimer before the statement: "is this claim mine?"; nil: an operator
                                            -- freed the key, and nobody has claimed it since
  fingerprint bytea            NOT NULL,    -- 32 bytes
  scope       bytea            NOT NULL,    -- 1 to 64 bytes
  key         bytea            NOT NULL,    -- 1 to 255 bytes
  -- One check, for each is read anew by every statement.
  CHECK (CASE state WHEN 1 THEN lease_until IS NOT NULL AND status IS NULL
                    WHEN 2 THEN lease_until IS NULL AND status IS NOT NULL
                    WHEN 3 THEN lease_until IS NULL AND status IS NULL ELSE false END),
  PRIMARY KEY (scope, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX record_purge_at ON samekey.record (purge_at);

-- Kept answers, beside the record, so that the record stays narrow and its one update stays on its page. Insert-only.
CREATE TABLE samekey.response (
  token      bigint      PRIMARY KEY,       -- of the completing claim
  expires_at timestamptz NOT NULL,
  answer     bytea       COMPRESSION lz4 NOT NULL -- status, headers and body, our own length-prefixed form
);

CREATE TABLE samekey.step (
  scope   bytea    NOT NULL,
  key     bytea    NOT NULL,
  name    text     COLLATE "C" NOT NULL,
  token   bigint   NOT NULL,                -- of the claim that (last) began it
  state   smallint NOT NULL CHECK (state IN (1, 2)), -- begun, ended
  unkeyed boolean  NOT NULL,                -- the other side has no keys of its own: begun without an end is in doubt
  input   bytea    NOT NULL,                -- what was or will be sent: a resumed attempt sends this, not a new computation
  result  bytea    COMPRESSION lz4,
  PRIMARY KEY (scope, key, name)
) WITH (fillfactor = 80);

-- The last statement of the completing transaction. It raises where it finds no row, so that no effect is committed without
-- its record. Also completes what was meanwhile marked unknown: then retention starts anew.
--
-- What a savepoint commits, the transaction around it may still roll back, after the caller was told that it is done: so a
-- savepoint is refused, known by the row's having been written under another id than the transaction's own. The commit that
-- follows is as durable as ours.
CREATE FUNCTION samekey.complete(p_scope bytea, p_key bytea, p_token bigint, p_status smallint, p_answer bytea)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_expires_at timestamptz;
  v_outermost boolean;
  v_said text;
BEGIN
  UPDATE samekey.record SET state = 2, status = p_status, lease_until = NULL
   WHERE scope = p_scope AND key = p_key AND token = p_token AND state = 1
  RETURNING expires_at, xmin = pg_current_xact_id()::xid INTO v_expires_at, v_outermost;
  IF NOT FOUND THEN
    UPDATE samekey.record
       SET state = 2, status = p_status,
           expires_at = now() + retention_s * interval '1 second',
           purge_at = now() + retention_s * interval '1 second' + (purge_at - expires_at)
     WHERE scope = p_scope AND key = p_key AND token = p_token AND state = 3
    RETURNING expires_at, xmin = pg_current_xact_id()::xid INTO v_expires_at, v_outermost;
    IF NOT FOUND THEN RAISE EXCEPTION 'samekey: claim lost' USING ERRCODE = 'SK001'; END IF;
  END IF;
  IF NOT v_outermost THEN
    RAISE EXCEPTION 'samekey: complete was handed a savepoint; hand over the outermost transaction' USING ERRCODE = 'SK002';
  END IF;
  INSERT INTO samekey.response (token, expires_at, answer) VALUES (p_token, v_expires_at, p_answer);
  IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
    v_said := set_config('synchronous_commit', 'on', true);
  END IF;
END $$;

-- A claim inside somebody else's transaction. It waits for another transaction that holds the key, for p_patience_s at
-- most, and leaves the transaction's own lock_timeout as it was. Null: the record is there already. Once won, the server
-- ends the transaction when it idles for longer than the lease: nobody else could, for its row is not to be seen.
CREATE FUNCTION samekey.claim_within(p_scope bytea, p_key bytea, p_claim uuid, p_fingerprint bytea, p_recipe smallint,
  p_lease_s double precision, p_retention_s double precision, p_tombstone_s double precision, p_patience_s double precision)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_lock_timeout text := current_setting('lock_timeout');
  v_idle_limit interval := current_setting('idle_in_transaction_session_timeout')::interval;
  v_said text;                              -- an assignment is evaluated in place; PERFORM would be a query of its own
  v_token bigint;
  v_gone bigint;
BEGIN
  -- In milliseconds; nought would be no limit at all.
  v_said := set_config('lock_timeout', greatest(least(ceil(p_patience_s * 1000), 2147483647), 1)::integer::text, true);
  -- Again where the record went while it was looked at; each turn needs a new coincidence.
  FOR turn IN 1..8 LOOP
    INSERT INTO samekey.record (scope, key, claim, fingerprint, recipe, token, state, lease_until, expires_at, purge_at, retention_s)
    VALUES (p_scope, p_key, p_claim, p_fingerprint, p_recipe, nextval('samekey.token'), 1,
            clock_timestamp() + p_lease_s * interval '1 second', now() + p_retention_s * interval '1 second',
            now() + (p_retention_s + p_tombstone_s) * interval '1 second', p_retention_s)
    ON CONFLICT (scope, key) DO NOTHING
    RETURNING token INTO v_token;
    EXIT WHEN FOUND;
    DELETE FROM samekey.record
     WHERE scope = p_scope AND key = p_key AND state = 2 AND purge_at <= now() RETURNING token INTO v_gone;
    IF FOUND THEN
      DELETE FROM samekey.step WHERE scope = p_scope AND key = p_key;
      DELETE FROM samekey.response WHERE token = v_gone;
      DELETE FROM samekey.resolution WHERE scope = p_scope AND key = p_key;
      CONTINUE;
    END IF;
    -- One's own claim, whose answer was lost, is won.
    SELECT CASE WHEN claim = p_claim AND state = 1 THEN token END INTO v_token
      FROM samekey.record WHERE scope = p_scope AND key = p_key;
    EXIT WHEN FOUND;
  END LOOP;
  v_said := set_config('lock_timeout', v_lock_timeout, true);
  IF v_token IS NOT NULL AND (v_idle_limit = interval '0' OR v_idle_limit > p_lease_s * interval '1 second') THEN
    v_said := set_config('idle_in_transaction_session_timeout',
                       least(ceil(p_lease_s * 1000), 2147483647)::integer::text, true);
  END IF;
  RETURN v_token;
END $$;

-- How people settled records. Leaves with the record.
CREATE TABLE samekey.resolution (
  scope   bytea       NOT NULL,
  key     bytea       NOT NULL,
  token   bigint      NOT NULL,             -- that it took
  at      timestamptz NOT NULL DEFAULT now(),
  outcome smallint    NOT NULL CHECK (outcome IN (1, 2)), -- succeeded, failed
  who     text        NOT NULL CHECK (who <> ''),
  why     text        NOT NULL CHECK (why <> ''),
  PRIMARY KEY (scope, key, token)
);

-- Settles a record as not done: its key is free. A function, since its statements must not share a snapshot: a step that was
-- begun while the first one waited for the record's row is seen by the second.
CREATE FUNCTION samekey.resolve_failed(p_scope bytea, p_key bytea, p_token bigint, p_who text, p_why text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_token bigint;
BEGIN
  UPDATE samekey.record
     SET token = nextval('samekey.token'), claim = '00000000-0000-0000-0000-000000000000', state = 1,
         lease_until = clock_timestamp(), generation = generation + 1, steps_begun = 0,
         expires_at = now() + retention_s * interval '1 second',
         purge_at = now() + retention_s * interval '1 second' + (purge_at - expires_at)
   WHERE scope = p_scope AND key = p_key AND token = p_token
     AND (state = 3 OR (state = 1 AND lease_until <= clock_timestamp()))
  RETURNING token INTO v_token;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM samekey.step WHERE scope = p_scope AND key = p_key;
  INSERT INTO samekey.resolution (scope, key, token, outcome, who, why) VALUES (p_scope, p_key, v_token, 2, p_who, p_why);
  RETURN true;
END $$;

CREATE TABLE samekey.project (
  id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text        NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE samekey.api_key (
  id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project    bigint      NOT NULL,
  hash       bytea       NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  hint       text        NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz
);

-- The sending service. Key and message are written once and never updated; the delivery is the only hot row.
CREATE TABLE samekey.message_key (
  project     bigint      NOT NULL,
  message     uuid        NOT NULL,         -- UUIDv7, minted before the statement
  expires_at  timestamptz NOT NULL,
  purge_at    timestamptz NOT NULL,
  recipe      smallint    NOT NULL,
  fingerprint bytea       NOT NULL,
  key         bytea       NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
  PRIMARY KEY (project, key)
);
CREATE INDEX message_key_purge_at ON samekey.message_key (purge_at);

-- One index serves the look-up by id and the listing of a project in the order of time: ids are time-ordered.
CREATE TABLE samekey.message (
  project    bigint      NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  id         uuid        NOT NULL,
  channel    smallint    NOT NULL,
  identity   bytea       NOT NULL CHECK (octet_length(identity) = 32), -- what the outgoing ids are made of
  key        bytea,                         -- for people; what dedupes is message_key
  sender     text,                          -- the default sender at acceptance, where the message names none
  payload    bytea       COMPRESSION lz4 NOT NULL, -- the accepted JSON as it came: jsonb refuses \u0000 and rounds numbers
  PRIMARY KEY (project, id)
);

-- A running attempt lives in this row (state 2, its token, its start); the attempt table gets a row when it ends.
CREATE TABLE samekey.delivery (
  id          uuid        PRIMARY KEY,      -- the message's
  project     bigint      NOT NULL,
  token       bigint      NOT NULL DEFAULT 0,
  wake_at     timestamptz,                  -- when somebody must look: due, retry or end of lease; NULL when final
  due_at      timestamptz NOT NULL,         -- its first due time: age counts from here
  expires_at  timestamptz,
  started_at  timestamptz,                  -- of the latest attempt
  attempts    integer     NOT NULL DEFAULT 0,
  nonce       integer     NOT NULL DEFAULT 0,
  channel     smallint    NOT NULL,
  state       smallint    NOT NULL CHECK (state BETWEEN 1 AND 7), -- waiting, sending, sent, failed, unknown, cancelled, expired
  maybe_sent  boolean     NOT NULL DEFAULT false,   -- an attempt ended without a definite answer; never cleared
  provider_id text,
  CHECK ((state IN (1, 2)) = (wake_at IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_wake ON samekey.delivery (channel, wake_at, id) WHERE wake_at IS NOT NULL;

CREATE TABLE samekey.attempt (
  delivery   uuid        NOT NULL,
  token      bigint      NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at   timestamptz NOT NULL,
  outcome    smallint    NOT NULL CHECK (outcome BETWEEN 1 AND 6),
  detail     text,
  PRIMARY KEY (delivery, token)
);
