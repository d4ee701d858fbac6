/** The first schema. Never edit it: a later change is a new migration. */
export const V1 = `
create table threads (
  key bigint generated always as identity primary key,
  tenant text collate "C" not null,
  id text collate "C" not null,
  rev bigint not null,
  hash text not null,
  created_at bigint not null,
  updated_at bigint not null,
  metadata text not null,
  status text, -- of the metadata, as JSON text, for listings
  seal text not null,
  track text not null,
  mark text,
  unique (tenant, id)
);

create index threads_by_update on threads (tenant, updated_at desc, id);

-- No foreign keys: rows are written and removed only together with their thread, under its lock.
create table entries (
  thread bigint not null,
  seq bigint not null,
  id text collate "C" not null,
  at bigint not null,
  v bigint,
  kind text not null,
  refs text not null,
  payload text,
  big text, -- the hash of a payload kept in big_payloads
  salt text not null,
  digest text,
  prev text not null,
  hash text not null,
  lane text not null, -- JSON text, because a lane may be named with what text cannot hold
  measure bigint not null,
  mark bigint,
  track text,
  tenant text collate "C" not null,
  xid xid8 not null default pg_current_xact_id(), -- with pos, the place in the order of commits
  pos bigint generated always as identity,
  primary key (thread, seq),
  unique (id, thread) -- ids begin with the time: new ones of all threads fall on the same page
);

create index entries_by_commit on entries (tenant, xid, pos);

create table big_payloads (
  tenant text collate "C" not null,
  hash text collate "C" not null,
  payload text not null,
  uses bigint not null, -- how many rows refer to it
  primary key (tenant, hash)
);

create table records (
  tenant text collate "C" not null,
  space text collate "C" not null,
  key text collate "C" not null,
  json text,
  bytes bytea,
  primary key (tenant, space, key),
  check ((json is null) <> (bytes is null))
);

create table claims (
  tenant text collate "C" not null,
  thread text collate "C" not null, -- its id: a thread may be claimed before it exists
  holder text not null,
  epoch bigint not null,
  until bigint not null,
  ttl bigint not null,
  primary key (tenant, thread)
);
`;
