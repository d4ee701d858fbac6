/**
 * The JSON text of a request id. A pattern reads it, because a JSON function would
 * fail on damaged refs. In JSON text, a quote directly behind a brace or comma is never inside a string.
 */
const REQUEST_ID = String.raw`substring(refs from '[{,]"requestId":("(?:[^"\\]|\\.)*"|[^,}]*)')`;

const MADE_ID = String.raw`'"req\_________-____-____-____-____________"'`;

/** The index key of a request id, as in refs-filter.ts. */
const REQUEST_KEY = `right(left(${REQUEST_ID}, 64), case when ${REQUEST_ID} like ${MADE_ID} then 13 else 64 end)`;

/** Equal to the expression of the index, so that Postgres uses it. */
export const REQUEST_KEY_OF_ENTRY = REQUEST_KEY.replaceAll("refs", "e.refs");

/** The second schema, decided in docs/decisions/0013. It may grow until the first release with it. A blank line begins a step. */
export const V2 = `
create index threads_by_creation on threads (tenant, created_at desc, id);

-- Inboxes. The thread is named by its id, because a command may come before the thread.
create table commands (
  tenant text collate "C" not null,
  thread text collate "C" not null,
  id text collate "C" not null,
  type text not null,
  body text not null,
  posted text, -- the body as it was posted, if it was amended
  revision bigint not null,
  position bigint not null,
  posted_at bigint not null,
  outcome text,
  done_at bigint,
  check_sum text not null,
  primary key (tenant, thread, id)
);
create index commands_pending on commands (tenant, thread, position) where done_at is null;
create index commands_done on commands (tenant, done_at) where done_at is not null;

-- Owners, and values of the metadata that threads are listed by.
alter table threads add column owner text collate "C";
create index threads_by_owner on threads (tenant, owner, updated_at desc, id) where owner is not null;

create table thread_fields (
  tenant text collate "C" not null,
  name text collate "C" not null,
  value text collate "C" not null, -- JSON text
  thread bigint not null references threads (key) on delete cascade,
  primary key (thread, name)
);
create index thread_fields_by_value on thread_fields (tenant, name, value, thread);

-- The fields of earlier threads, as thread-fields.ts makes them: JSON.stringify escapes no character of the name. Postgres
-- reads no JSON with the escape of a zero byte. There, the escape of U+E000 stands for it, which JSON.stringify never makes.
insert into thread_fields (tenant, name, value, thread)
select t.tenant, f.name, f.value, t.key
from (select *, position('\\u0000' in metadata) > 0 as has_zero from threads) t
cross join lateral (
  select j.key as name, json_typeof(j.value) as type,
    case when t.has_zero then replace(j.value::text, '\\ue000', '\\u0000') else j.value::text end as value
  from json_each(case when t.has_zero then replace(t.metadata, '\\u0000', '\\ue000') else t.metadata end::json) j
) f
where f.type in ('string', 'number', 'boolean') and octet_length(f.name) between 1 and 256 and octet_length(f.value) <= 800
  and f.name !~ '[\\u0001-\\u001f"\\\\]' and not (t.has_zero and f.name ~ '\\ue000');

-- The entries of one request. Without seq, so that Postgres stores the key of a request once. Others are not in it.
create index entries_by_request on entries (thread, (${REQUEST_KEY})) where ${REQUEST_ID} is not null;

-- Entries by id. The index has a hash, because an id takes 42 bytes. With the thread first, new ids of a thread are together.
alter table entries drop constraint entries_id_thread_key;
create unique index entries_by_id on entries (thread, (hashtextextended(id, 0)));

-- Lanes. Processes of 0.1 that are still connected cannot read a head by the new column names, so they cannot append.
-- They can remove threads; the foreign key then removes the lanes too.
alter table threads rename column track to lanes;
alter table threads rename column mark to earlier_mark;
alter table entries add column state text, add column record text, add column record_seq bigint, add column check_sum text;

create table lanes (
  thread bigint not null references threads (key) on delete cascade,
  lane text collate "C" not null, -- JSON text
  first_seq bigint not null,
  seq bigint not null,
  record_seq bigint not null,
  record text not null,
  check_sum text not null,
  primary key (thread, lane)
);

-- Leases of nodes, by the clock of the server. A claim that names a lease lasts as long as that.
create table leases (
  node text collate "C" primary key,
  incarnation bigint not null,
  until bigint not null,
  ttl bigint not null,
  ended boolean not null
);
create index leases_until on leases (until);
alter table claims add column node text collate "C", add column incarnation bigint;
create index claims_by_node on claims (node, incarnation) where node is not null;

-- When a thread has something to do, beside its claim. The thread need not exist. A process of 0.1 posts no commands.
create table runnable (
  tenant text collate "C" not null,
  thread text collate "C" not null,
  agent text collate "C",
  due_at bigint, -- null when there is nothing to do
  priority bigint not null,
  primary key (tenant, thread)
);
create index runnable_due on runnable (due_at) where due_at is not null;
-- Requests of 0.1 that a process has left: a worker takes them.
insert into runnable (tenant, thread, agent, due_at, priority)
select f.tenant, t.id, null, 0, 0 from thread_fields f join threads t on t.key = f.thread
where f.name = 'status' and f.value = '"running"';

-- Calls that wait for people or other processes, of all threads.
create table waiting (
  tenant text collate "C" not null,
  thread text collate "C" not null,
  call_id text collate "C" not null,
  kind text not null,
  since bigint not null,
  deadline bigint,
  body text not null,
  primary key (tenant, thread, call_id)
);
create index waiting_by_time on waiting (tenant, since, thread, call_id);

-- Counters that several nodes share, such as a cap for a model key.
create table counters (
  tenant text collate "C" not null,
  name text collate "C" not null,
  node text collate "C" not null,
  amount bigint not null,
  until bigint not null,
  primary key (tenant, name, node)
);

-- The threads that use a blob. The blobs are records. Without a row here a blob is kept forever.
create table blob_uses (
  tenant text collate "C" not null,
  hash text collate "C" not null,
  thread text collate "C" not null, -- its id, because a blob may come before the thread; empty for a use that never ends
  purpose text not null,
  ended_at bigint,
  primary key (tenant, hash, thread, purpose)
);
create index blob_uses_by_thread on blob_uses (tenant, thread);
create index blob_uses_ended on blob_uses (tenant, ended_at) where ended_at is not null;

-- Forks. A fork shows the rows of the thread origin up to fork_seq; its own rows follow. fork_of is the thread that was
-- forked, until that is removed. A thread whose rows a fork shows cannot be removed, also not by a process of 0.1.
alter table threads
  add column origin bigint references threads (key),
  add column fork_seq bigint,
  add column origin_sum text, -- a checksum of the two
  add column fork_of bigint references threads (key) on delete set null,
  add column state text; -- 'hidden' for a deleted thread whose rows a fork shows
create index threads_by_origin on threads (origin) where origin is not null;
create index threads_by_parent on threads (fork_of) where fork_of is not null;

-- What the feed has beside the rows. The positions are those of the entries.
create table feed_items (
  pos bigint primary key default nextval('entries_pos_seq'),
  tenant text collate "C" not null,
  xid xid8 not null default pg_current_xact_id(),
  thread text collate "C" not null,
  kind text not null,
  body text not null
);
create index feed_items_by_commit on feed_items (tenant, xid, pos);
create index feed_items_by_thread on feed_items (tenant, thread);

-- Cursors name the feed epoch. Those of 0.1 name none; they are good in a database that had entries of 0.1.
insert into meta (name, value) values ('feed_epoch', left(replace(gen_random_uuid()::text, '-', ''), 16));
insert into meta (name, value) select 'earlier_cursors', 'yes' from entries_pos_seq where is_called;

-- Sums of asks and tokens by UTC day. The rows of deleted threads are added up under an empty thread.
create table usage (
  tenant text collate "C" not null,
  owner text collate "C" not null, -- empty when the thread had none
  day bigint not null, -- since 1970
  model text collate "C" not null, -- empty for asks
  thread text collate "C" not null,
  count bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (tenant, owner, day, model, thread)
);
create index usage_by_thread on usage (tenant, thread);
create index usage_by_day on usage (tenant, day);
`;
