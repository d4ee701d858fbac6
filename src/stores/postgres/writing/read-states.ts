import type { ClaimRecord, StoredRow, ThreadHead, ThreadState } from "../../driver.ts";
import { entryColumns, type HeadColumns, headColumns, toHead, toRow } from "../columns.ts";
import type { Scope } from "../scope.ts";

/** The entry ids to look for, by thread id. */
export type Wanted = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the threads of a batch, while it holds their locks. */
export async function readStates(scope: Scope, wanted: Wanted): Promise<ReadonlyMap<string, ThreadState>> {
  const pairs = [...wanted].flatMap(([threadId, ids]) => [...ids].map((id) => ({ threadId, id })));
  const [places, known] = await Promise.all([selectPlaces(scope, [...wanted.keys()]), selectKnown(scope, pairs)]);
  const rows = Map.groupBy(known, ({ thread_id }) => thread_id);
  return new Map(
    places.map((place) => {
      const { thread_id: id, now } = place;
      const rowsOfThread = (rows.get(id) ?? []).map((row) => toRow(id, row));
      return [id, { head: headOf(place), claim: claimOf(place), known: rowsOfThread, now }];
    }),
  );
}

interface Place extends Nullable<HeadColumns>, Nullable<ClaimColumns> {
  readonly thread_id: string;
  readonly now: number;
}

interface ClaimColumns {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly ttl: number;
}

type Nullable<Columns> = { readonly [Name in keyof Columns]: Columns[Name] | null };

function selectPlaces(scope: Scope, threadIds: readonly string[]): PromiseLike<readonly Place[]> {
  const { sql, tables, tenant } = scope;
  return sql<Place[]>`
    select w.id as thread_id, floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now,
      ${headColumns(scope)}, c.holder, c.epoch, c.until, c.ttl
    from unnest(${threadIds}::text[]) as w (id)
    left join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.id
    left join ${tables.claims} c on c.tenant = ${tenant} and c.thread = w.id`.execute();
}

interface KnownColumns extends StoredRow {
  readonly thread_id: string;
}

function selectKnown(
  scope: Scope,
  pairs: readonly { readonly threadId: string; readonly id: string }[],
): PromiseLike<readonly KnownColumns[]> | readonly KnownColumns[] {
  if (pairs.length === 0) return [];
  const { sql, tables, tenant } = scope;
  const threadIds = pairs.map(({ threadId }) => threadId);
  const ids = pairs.map(({ id }) => id);
  return sql<KnownColumns[]>`
    select t.id as thread_id, ${entryColumns(scope)}
    from unnest(${threadIds}::text[], ${ids}::text[]) as w (thread_id, id)
    join ${tables.threads} t on t.tenant = ${tenant} and t.id = w.thread_id
    join ${tables.entries} e on e.thread = t.key and e.id = w.id
    order by e.seq`.execute();
}

function headOf(place: Place): ThreadHead | undefined {
  return isComplete(place) ? toHead(place.thread_id, place) : undefined;
}

/** When there is no thread, all columns of its head are null. */
function isComplete(place: Place): place is Place & HeadColumns {
  return place.rev !== null;
}

function claimOf({ holder, epoch, until, ttl }: Place): ClaimRecord | undefined {
  if (holder === null || epoch === null || until === null || ttl === null) return undefined;
  return { holder, epoch, until, ttlMs: ttl };
}
