/** The first schema. Never edit it: a later change is a new migration. */
export const V1 = `
CREATE TABLE threads (
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  rev INTEGER NOT NULL,
  hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  seal TEXT NOT NULL,
  track TEXT NOT NULL,
  mark TEXT NOT NULL,
  UNIQUE (tenant, id)
) STRICT;

CREATE TABLE entries (
  pos INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  at INTEGER NOT NULL,
  v INTEGER,
  kind TEXT NOT NULL,
  refs TEXT NOT NULL,
  payload TEXT,
  big INTEGER,
  salt TEXT NOT NULL,
  digest TEXT,
  prev TEXT NOT NULL,
  hash TEXT NOT NULL,
  lane TEXT NOT NULL,
  measure INTEGER NOT NULL,
  mark INTEGER,
  track TEXT,
  UNIQUE (thread, seq),
  UNIQUE (id, thread) -- ids begin with the time: new ones of all threads fall on the same page
) STRICT;

CREATE INDEX entries_big ON entries (big) WHERE big IS NOT NULL;

CREATE TABLE big_payloads (
  key INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  hash TEXT NOT NULL,
  payload TEXT NOT NULL,
  UNIQUE (tenant, hash)
) STRICT;

CREATE TABLE records (
  tenant TEXT NOT NULL,
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value ANY NOT NULL,
  PRIMARY KEY (tenant, space, key)
) STRICT;

CREATE TABLE claims (
  tenant TEXT NOT NULL,
  thread TEXT NOT NULL,
  holder TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  until INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  PRIMARY KEY (tenant, thread)
) STRICT;
`;
