// A store of your own: an adapter for some key-value service, proven with the contract suite that Heddle's own pass.
import { randomUUID } from "node:crypto";
import { type OpenStoreOptions, StoreError } from "heddle";
import {
  type Change,
  type ClaimRecord,
  checkName,
  defineStore,
  type InboxQuery,
  type InboxState,
  type StoreDriver,
  type StoredCommand,
  type StoredLane,
  type StoredRow,
  type ThreadHead,
  threadNotFound,
} from "heddle/store";
import { storeContract } from "heddle/testing";

/** Simulates a network service with keys and values, atomic writes of several keys, and locks. */
class KeyValueService {
  readonly #values = new Map<string, unknown>();
  #turn: Promise<unknown> = Promise.resolve();

  async get<Value>(key: string): Promise<Value | undefined> {
    return structuredClone(this.#values.get(key)) as Value | undefined; // the caller knows the type of the value
  }

  /** All of it or nothing. */
  async write(entries: readonly (readonly [key: string, value: unknown])[]): Promise<void> {
    for (const [key, value] of structuredClone(entries)) this.#values.set(key, value);
  }

  /** Whether any was there. */
  async remove(keys: readonly string[]): Promise<boolean> {
    return keys.filter((key) => this.#values.delete(key)).length > 0;
  }

  /** Keys that begin with a prefix, in order, those after one. */
  async keys(prefix: string, after = ""): Promise<string[]> {
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  }

  async locked<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {}); // a failure is its own caller's
    return turn;
  }
}

/** An item of the log of all threads. */
type Logged =
  | { readonly type: "entry"; readonly threadId: string; readonly seq: number; readonly hash: string }
  | { readonly type: "forked"; readonly threadId: string; readonly from: string; readonly forkSeq: number }
  | { readonly type: "deleted"; readonly threadId: string };

function keyValueDriver(kv: KeyValueService, tenant: string): StoreDriver {
  /** Names hold no slash, so parts joined with one never run into each other. */
  const key = (...parts: readonly string[]) => [tenant, ...parts].join("/");
  const digits = (n: number) => String(n).padStart(16, "0");
  const nameIn = (path: string) => path.slice(path.lastIndexOf("/") + 1);
  const headOf = (threadId: string) => kv.get<ThreadHead>(key("head", threadId));
  const rowAt = (threadId: string, seq: number) => kv.get<StoredRow>(key("row", threadId, digits(seq)));
  /** A lane may have any name, also one with a slash. */
  const laneKey = (threadId: string, lane: string) => key("lane", threadId, encodeURIComponent(lane));
  const lanesAt = async (paths: readonly string[]) =>
    (await Promise.all(paths.map((path) => kv.get<StoredLane>(path)))).filter((lane) => lane !== undefined);
  const lanesOf = (threadId: string, names: readonly string[]) => lanesAt(names.map((name) => laneKey(threadId, name)));

  const commandAt = (threadId: string, id: string) => kv.get<StoredCommand>(key("command", threadId, id));

  async function rowsWith(threadId: string, ids: readonly string[]): Promise<StoredRow[]> {
    const seqs = await Promise.all(ids.map((id) => kv.get<number>(key("id", threadId, id))));
    const inOrder = seqs.filter((seq) => seq !== undefined).sort((a, b) => a - b);
    return (await Promise.all(inOrder.map((seq) => rowAt(threadId, seq)))).flatMap((row) => row ?? []);
  }

  async function pendingOf(threadId: string): Promise<StoredCommand[]> {
    const ids = (await kv.keys(key("command", threadId, ""))).map(nameIn);
    const all = (await Promise.all(ids.map((id) => commandAt(threadId, id)))).flatMap((command) => command ?? []);
    return all.filter(({ outcome }) => outcome === null).sort((a, b) => a.position - b.position);
  }

  /** The check of `removeIf` sees the thread as it is removed. */
  const removed = (threadId: string, check?: Parameters<NonNullable<StoreDriver["removeIf"]>>[1]) =>
    kv.locked(async (): Promise<readonly string[] | undefined> => {
      check?.(await headOf(threadId), (await pendingOf(threadId)).length > 0);
      const parts = await Promise.all(["row", "id", "lane", "fork"].map((part) => kv.keys(key(part, threadId, ""))));
      await kv.remove(await kv.keys(key("command", threadId, "")));
      const parent = (await kv.keys(key("fork", ""))).filter((path) => nameIn(path) === threadId);
      const forks = (await kv.keys(key("fork", threadId, ""))).map(nameIn);
      const moved = parent.flatMap((path) => forks.map((fork) => path.slice(0, -threadId.length) + fork));
      await kv.write(moved.map((path) => [path, true])); // its forks become forks of its parent
      const item = await kv.get<number>(key("forked", threadId)); // of a deleted thread, the feed has no fork
      if (item !== undefined) await kv.remove([key("forked", threadId), key("log", digits(item)), ...parent]);
      if (!(await kv.remove([key("head", threadId), ...parts.flat()]))) return undefined;
      const place = (await kv.get<number>(key("end of log"))) ?? 0;
      await kv.write([
        [key("log", digits(place)), { type: "deleted", threadId }],
        [key("end of log"), place + 1],
      ]);
      return []; // no fork shows its rows
    });

  async function inboxOf({ threadId, commandIds, entryIds }: InboxQuery): Promise<[string, InboxState]> {
    const found = await Promise.all(commandIds.map((id) => commandAt(threadId, id)));
    const lastPosition = (await pendingOf(threadId)).at(-1)?.position ?? 0;
    const commands = found.flatMap((command) => command ?? []);
    return [threadId, { commands, known: await rowsWith(threadId, entryIds), lastPosition }];
  }

  /** Outcomes by time, so that old ones are found. */
  async function purge(before: number): Promise<void> {
    for (const path of (await kv.keys(key("outcome", ""))).slice(0, 100)) {
      const [doneAt, threadId, id] = path.split("/").slice(-3);
      if (Number(doneAt) < before) await kv.remove([path, key("command", `${threadId}`, `${id}`)]);
    }
  }

  return {
    transact: (threadId, wanted, decide, inboxes = []) =>
      kv.locked(async () => {
        const known = await rowsWith(threadId, wanted.ids);
        const claim = await kv.get<ClaimRecord>(key("claim", threadId));
        const lanes = await lanesOf(threadId, wanted.lanes);
        const ofInboxes = new Map(await Promise.all(inboxes.map(inboxOf)));
        const state = { head: await headOf(threadId), claim, known, lanes, inboxes: ofInboxes, now: Date.now() };
        const decision = decide(state);
        const { head, claim: granted, rows = [], lanes: changed = [], commands = [], purgeBefore = 0 } = decision;
        const { blobs = [] } = decision; // kept forever, because there is no `purgeBlobs`
        if (purgeBefore > 0) await purge(purgeBefore);
        const writes: [key: string, value: unknown][] = head ? [[key("head", threadId), head]] : [];
        for (const { threadId: to, command } of commands) {
          writes.push([key("command", to, command.id), command]);
          if (command.doneAt !== null) writes.push([key("outcome", digits(command.doneAt), to, command.id), true]);
        }
        if (granted) writes.push([key("claim", threadId), granted]);
        let place = (await kv.get<number>(key("end of log"))) ?? 0;
        for (const row of rows) {
          writes.push([key("row", threadId, digits(row.seq)), row], [key("id", threadId, row.id), row.seq]);
          const logged: Logged = { type: "entry", threadId, seq: row.seq, hash: row.hash };
          writes.push([key("log", digits(place++)), logged], [key("end of log"), place]);
        }
        for (const lane of changed) writes.push([laneKey(threadId, lane.lane), lane]);
        for (const { hash, content } of blobs) writes.push([key("blob", hash), content]);
        await kv.write(writes);
        return decision.result;
      }),

    pending: async (threadId, after, limit) =>
      (await pendingOf(threadId)).filter(({ position }) => position > after).slice(0, limit),

    async commands(keys) {
      const found = await Promise.all(keys.map(({ threadId, id }) => commandAt(threadId, id)));
      return keys.flatMap(({ threadId }, n) => (found[n] ? { threadId, command: found[n] } : []));
    },

    head: headOf,

    lanes: async (threadId, names) =>
      names ? lanesOf(threadId, names) : lanesAt(await kv.keys(key("lane", threadId, ""))),

    async rows(threadId, { from, to, kinds, reverse, limit }) {
      const last = Math.min(to, ((await headOf(threadId))?.rev ?? 0) - 1);
      const found: StoredRow[] = [];
      for (let step = 0; step <= last - from && found.length < limit; step++) {
        const row = await rowAt(threadId, reverse ? last - step : from + step);
        if (row && (kinds === undefined || kinds.includes(row.kind))) found.push(row);
      }
      return found;
    },

    async changes(after, limit) {
      if (after !== undefined && after !== digits(Number.parseInt(after, 10))) throw unknownCursor;
      const found: Change[] = [];
      for (const path of await kv.keys(key("log", ""), key("log", after ?? ""))) {
        const [logged, cursor] = [await kv.get<Logged>(path), nameIn(path)];
        if (logged === undefined) continue;
        const { type, threadId } = logged;
        if (type !== "entry") {
          found.push({ ...logged, cursor });
        } else {
          const row = await rowAt(threadId, logged.seq);
          if (row?.hash === logged.hash) found.push({ type, threadId, row, cursor }); // else its thread was deleted
        }
        if (found.length === limit) break;
      }
      return found;
    },

    feedEpoch: () =>
      kv.locked(async () => {
        const epoch = (await kv.get<string>(key("epoch"))) ?? randomUUID().replaceAll("-", "").slice(0, 16);
        await kv.write([[key("epoch"), epoch]]);
        return { epoch };
      }),

    async heads(afterId, limit) {
      const ids = (await kv.keys(key("head", ""), key("head", afterId ?? ""))).slice(0, limit).map(nameIn);
      const heads = await Promise.all(ids.map(headOf));
      return ids.flatMap((id, n) => (heads[n] ? { id, head: heads[n] } : []));
    },

    /** Copies the rows, which is simple. A fork then costs as much as its history. */
    fork: (from, to, atSeq, { head, lanes }) =>
      kv.locked(async () => {
        if (await headOf(to)) return false;
        if (!(await headOf(from))) throw threadNotFound(from);
        const place = (await kv.get<number>(key("end of log"))) ?? 0;
        const forked: Logged = { type: "forked", threadId: to, from, forkSeq: atSeq };
        const writes: [key: string, value: unknown][] = [
          [key("head", to), head],
          [key("fork", from, to), true],
        ];
        for (let seq = 0; seq <= atSeq; seq++) {
          const row = await rowAt(from, seq);
          if (row) writes.push([key("row", to, digits(seq)), row], [key("id", to, row.id), seq]);
        }
        for (const lane of lanes) writes.push([laneKey(to, lane.lane), lane]);
        writes.push([key("forked", to), place], [key("log", digits(place)), forked], [key("end of log"), place + 1]);
        await kv.write(writes);
        return true;
      }),

    async forks(threadId) {
      const found = [threadId];
      for (const id of found) found.push(...(await kv.keys(key("fork", id, ""))).map(nameIn));
      return found.slice(1);
    },

    remove: (threadId) => removed(threadId),
    removeIf: removed,

    async blobs(hashes) {
      const found = await Promise.all(hashes.map((hash) => kv.get<string | Uint8Array>(key("blob", hash))));
      return hashes.flatMap((hash, n) => (found[n] === undefined ? [] : { hash, content: found[n] }));
    },

    getRecord: (space, name) => kv.get<string | Uint8Array>(key(space, name)),
    putRecord: (space, name, value) => kv.write([[key(space, name), value]]),
    deleteRecord: (space, name) => kv.remove([key(space, name)]),
    close: () => kv.locked(async () => {}), // waits for appends under way
  };
}

const unknownCursor = new StoreError({ code: "invalid_options", message: "after must be the cursor of a feed item." });

const service = new KeyValueService();

function open({ tenant = "default", ...options }: OpenStoreOptions = {}) {
  checkName("tenant", tenant);
  return defineStore(keyValueDriver(service, tenant), options);
}

// Without `spawn` the cases of several processes are skipped. This driver never removes blobs, and keeps no sums of usage.
const skip = { "usage is that of one tenant": "there is no usage" };
const groups = ["blob use", "usage"];
const cases = storeContract({ open, skip }).filter(({ skip, group }) => !skip && !groups.includes(group));
for (const { name, run } of cases)
  await run().catch((cause: unknown) => Promise.reject(new Error(`not kept: ${name}`, { cause })));
console.log(`${cases.length} cases passed`);
