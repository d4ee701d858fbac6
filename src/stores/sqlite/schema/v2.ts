const MADE_ID = `'"req_????????-????-????-????-????????????"'`;

/** The index key of a request id, as in refs-filter.ts. Damaged refs have none, so that the file opens. */
const REQUEST_KEY =
  "CASE WHEN json_valid(refs) THEN " +
  `substr(refs -> '$.requestId', CASE WHEN refs -> '$.requestId' GLOB ${MADE_ID} THEN -13 ELSE 1 END, 64) END`;

/** Equal to the expression of the index, so that SQLite uses it. */
export const REQUEST_KEY_OF_ENTRY = REQUEST_KEY.replaceAll("refs", "e.refs");

/** The second schema, decided in docs/decisions/0013. It may grow until the first release with it. A blank line begins a step. */
export const V2 = `
-- updated_at in units of about a second. A change within the unit leaves the indexes as they are, so that an append is cheap.
ALTER TABLE threads ADD COLUMN update_slot INTEGER CHECK (update_slot = updated_at >> 10);
UPDATE threads SET update_slot = updated_at >> 10;
CREATE INDEX threads_by_update ON threads (tenant, update_slot DESC);
CREATE INDEX threads_by_creation ON threads (tenant, created_at DESC, id);

-- Inboxes. The thread is named by its id, because a command may come before the thread.
CREATE TABLE commands (
  tenant TEXT NOT NULL,
  thread TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  posted TEXT, -- the body as it was posted, if it was amended
  revision INTEGER NOT NULL,
  position INTEGER NOT NULL,
  posted_at INTEGER NOT NULL,
  outcome TEXT,
  done_at INTEGER,
  check_sum TEXT NOT NULL,
  PRIMARY KEY (tenant, thread, id)
) STRICT;
CREATE INDEX commands_pending ON commands (tenant, thread, position) WHERE done_at IS NULL;
CREATE INDEX commands_done ON commands (tenant, done_at) WHERE done_at IS NOT NULL;

-- Owners, and values of the metadata that threads are listed by.
ALTER TABLE threads ADD COLUMN owner TEXT;
CREATE INDEX threads_by_owner ON threads (tenant, owner, update_slot DESC) WHERE owner IS NOT NULL;

CREATE TABLE thread_fields (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON text
  thread INTEGER NOT NULL,
  PRIMARY KEY (thread, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX thread_fields_by_value ON thread_fields (tenant, name, value);

-- The fields of earlier threads, as thread-fields.ts makes them: JSON.stringify escapes no character of the name.
INSERT INTO thread_fields
SELECT t.tenant, f.key, t.metadata -> f.fullkey, t.key
FROM threads t, json_each(CASE WHEN json_valid(t.metadata) THEN t.metadata ELSE '{}' END) f
WHERE f.type IN ('text', 'integer', 'real', 'true', 'false')
  AND length(CAST(f.key AS BLOB)) BETWEEN 1 AND 256 AND instr(f.key, char(0)) = 0 AND instr(f.key, '"') = 0 AND instr(f.key, char(92)) = 0
  AND f.key NOT GLOB '*[' || char(1) || '-' || char(31) || ']*' AND length(CAST(t.metadata -> f.fullkey AS BLOB)) <= 800;

CREATE TRIGGER remove_fields AFTER DELETE ON threads BEGIN
  DELETE FROM thread_fields WHERE thread = OLD.key;
END;

-- The entries of one request, in order. Entries without a request are not in it.
CREATE INDEX entries_by_request ON entries (thread, (${REQUEST_KEY}), seq) WHERE (${REQUEST_KEY}) IS NOT NULL;

-- Lanes. Processes of 0.1 that are still connected cannot read a head by the new column names, so they cannot append.
-- They can remove threads; the trigger then removes the lanes too.
ALTER TABLE threads RENAME COLUMN track TO lanes;
ALTER TABLE threads RENAME COLUMN mark TO earlier_mark;

-- SQLite reads the whole table for each new column, because the table is strict. So each one is a step of its own.
ALTER TABLE entries ADD COLUMN state TEXT;

ALTER TABLE entries ADD COLUMN record TEXT;

ALTER TABLE entries ADD COLUMN record_seq INTEGER;

ALTER TABLE entries ADD COLUMN check_sum TEXT;

CREATE TABLE lanes (
  thread INTEGER NOT NULL,
  lane TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  record_seq INTEGER NOT NULL,
  record TEXT NOT NULL,
  check_sum TEXT NOT NULL,
  PRIMARY KEY (thread, lane)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER remove_lanes AFTER DELETE ON threads BEGIN
  DELETE FROM lanes WHERE thread = OLD.key;
END;

-- Leases of nodes, by the machine's clock. A claim that names a lease lasts as long as that.
CREATE TABLE leases (
  node TEXT PRIMARY KEY,
  incarnation INTEGER NOT NULL,
  until INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  ended INTEGER NOT NULL
) STRICT;
CREATE INDEX leases_until ON leases (until);
ALTER TABLE claims ADD COLUMN node TEXT;
ALTER TABLE claims ADD COLUMN incarnation INTEGER;
CREATE INDEX claims_by_node ON claims (node, incarnation) WHERE node IS NOT NULL;

-- When a thread has something to do, beside its claim. The thread need not exist. A process of 0.1 posts no commands.
CREATE TABLE runnable (
  tenant TEXT NOT NULL,
  thread TEXT NOT NULL,
  agent TEXT,
  due_at INTEGER, -- null when there is nothing to do
  priority INTEGER NOT NULL,
  PRIMARY KEY (tenant, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX runnable_due ON runnable (due_at) WHERE due_at IS NOT NULL;
-- Requests of 0.1 that a process has left: a worker takes them.
INSERT INTO runnable (tenant, thread, agent, due_at, priority)
SELECT f.tenant, t.id, NULL, 0, 0 FROM thread_fields f JOIN threads t ON t.key = f.thread
WHERE f.name = 'status' AND f.value = '"running"';

-- Calls that wait for people or other processes, of all threads.
CREATE TABLE waiting (
  tenant TEXT NOT NULL,
  thread TEXT NOT NULL,
  call_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  since INTEGER NOT NULL,
  deadline INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (tenant, thread, call_id)
) STRICT;
CREATE INDEX waiting_by_time ON waiting (tenant, since, thread, call_id);

-- Counters that several nodes share, such as a cap for a model key.
CREATE TABLE counters (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  node TEXT NOT NULL,
  amount INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (tenant, name, node)
) STRICT;

-- The threads that use a blob. The blobs are records. Without a row here a blob is kept forever.
CREATE TABLE blob_uses (
  tenant TEXT NOT NULL,
  hash TEXT NOT NULL,
  thread TEXT NOT NULL, -- its id, because a blob may come before the thread; empty for a use that never ends
  purpose TEXT NOT NULL,
  ended_at INTEGER,
  PRIMARY KEY (tenant, hash, thread, purpose)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_by_thread ON blob_uses (tenant, thread);
CREATE INDEX blob_uses_ended ON blob_uses (tenant, ended_at) WHERE ended_at IS NOT NULL;

-- Forks. A fork shows the rows of the thread origin up to fork_seq; its own rows follow. fork_of is the thread that was
-- forked, until that is removed. A thread whose rows a fork shows cannot be removed, also not by a process of 0.1.
ALTER TABLE threads ADD COLUMN origin INTEGER;
ALTER TABLE threads ADD COLUMN fork_seq INTEGER;
ALTER TABLE threads ADD COLUMN origin_sum TEXT; -- a checksum of the two
ALTER TABLE threads ADD COLUMN fork_of INTEGER;
ALTER TABLE threads ADD COLUMN state TEXT; -- 'hidden' for a deleted thread whose rows a fork shows
CREATE INDEX threads_by_origin ON threads (origin) WHERE origin IS NOT NULL;
CREATE INDEX threads_by_parent ON threads (fork_of) WHERE fork_of IS NOT NULL;

CREATE TRIGGER keep_shared_rows BEFORE DELETE ON threads WHEN EXISTS (SELECT 1 FROM threads WHERE origin = OLD.key) BEGIN
  SELECT RAISE(ABORT, 'A fork shows entries of this thread.');
END;
CREATE TRIGGER forget_parent AFTER DELETE ON threads BEGIN
  UPDATE threads SET fork_of = NULL WHERE fork_of = OLD.key;
END;

-- What the feed has beside the rows. An item comes after the row with the position after_row.
CREATE TABLE feed_items (
  pos INTEGER PRIMARY KEY AUTOINCREMENT,
  after_row INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  thread TEXT NOT NULL,
  kind TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX feed_items_by_place ON feed_items (tenant, after_row, pos);
CREATE INDEX feed_items_by_thread ON feed_items (tenant, thread);

-- Cursors name the feed epoch. Those of 0.1 name none; they are good in a file that has entries of 0.1.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES ('feed_epoch', lower(hex(randomblob(8))));
INSERT INTO meta SELECT 'earlier_cursors', 'yes' WHERE EXISTS (SELECT 1 FROM entries);

-- Sums of asks and tokens by UTC day. The rows of deleted threads are added up under an empty thread.
CREATE TABLE usage (
  tenant TEXT NOT NULL,
  owner TEXT NOT NULL, -- empty when the thread had none
  day INTEGER NOT NULL, -- since 1970
  model TEXT NOT NULL, -- empty for asks
  thread TEXT NOT NULL,
  count INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cache_read_tokens INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  PRIMARY KEY (tenant, owner, day, model, thread)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_thread ON usage (tenant, thread);
CREATE INDEX usage_by_day ON usage (tenant, day);
`;
