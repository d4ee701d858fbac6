import { isWithdrawn } from "../decide/inbox.ts";
import type { Decision, InboxQuery, InboxState, StateQuery, ThreadState } from "../driver.ts";
import type {
  ClaimRecord,
  InboxCommand,
  LeaseRecord,
  RunnableRow,
  StoredCommand,
  StoredLane,
  StoredRow,
  StoredWaiting,
  ThreadField,
  ThreadHead,
} from "../stored-records.ts";
import { type ReadThread, readThreads, type ThreadQuery } from "./batch-state.ts";
import type { UsedBlob } from "./blobs.ts";
import { waitForTurns } from "./connection-pool.ts";
import { isConnectionLoss, isTimeout, storeError } from "./errors.ts";
import { BatchUsage } from "./usage.ts";
import type { Transaction } from "./writer.ts";
import { type BatchWrites, batchStatements } from "./writes.ts";

/** Limits the locks of one transaction, because the server's lock table has a fixed size. */
const MAX_JOBS = 256;

/**
 * Collects the jobs of one event-loop turn into a batch, for each tenant apart. Jobs that arrive while a batch of their
 * tenant runs form its next batch, so under load more appends share one commit.
 */
export class GroupCommit {
  readonly #run: (tenant: string, batch: readonly Job[]) => Promise<void>;
  readonly #waiting = new Map<string, Job[]>();
  readonly #working = new Set<Promise<void>>();

  /** `run` must settle its jobs itself and must not reject. */
  constructor(run: (tenant: string, batch: readonly Job[]) => Promise<void>) {
    this.#run = run;
  }

  add(tenant: string, job: Job): void {
    const jobs = this.#waiting.get(tenant);
    if (jobs !== undefined) return void jobs.push(job);
    this.#waiting.set(tenant, [job]);
    const working = this.#work(tenant);
    this.#working.add(working);
    void working.then(() => this.#working.delete(working));
  }

  /** Resolves when no job is waiting or running. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  async #work(tenant: string): Promise<void> {
    for (;;) {
      await waitForTurns(1); // callers of the previous batch can join this one
      const jobs = this.#waiting.get(tenant);
      if (jobs === undefined || jobs.length === 0) break;
      await this.#run(tenant, jobs.splice(0, MAX_JOBS));
    }
    this.#waiting.delete(tenant);
  }
}

/** Runs one transaction of a tenant on a writer. */
export type Transact = <Seen, Result>(work: Transaction<Seen, Result>) => Promise<Result>;

/** Commits a batch and settles its jobs. When the batch fails, retries each job alone, so that no job fails because of another. */
export async function commitJobs(transact: Transact, queued: readonly Job[]): Promise<void> {
  const jobs = queued.filter(({ rejectIfOver }) => !rejectIfOver());
  if (jobs.length === 0) return;
  try {
    const answers = await transact(batchTransaction(jobs));
    for (const answer of answers) answer();
  } catch (error) {
    if (jobs.length === 1 || isConnectionLoss(error) || isTimeout(error)) {
      for (const { reject } of jobs) reject(storeError(error));
      return;
    }
    for (const job of jobs) await commitJobs(transact, [job]);
  }
}

type Seen = ReadonlyMap<string, ReadThread>;

function batchTransaction(jobs: readonly Job[]): Transaction<Seen, readonly (() => void)[]> {
  const wanted = threadsOf(jobs);
  return {
    threadIds: [...wanted.keys()],
    read: (scope) => readThreads(scope, wanted),
    write(scope, threads) {
      const outcome = decideAll(jobs, threads);
      const commanded = outcome.commands.map(({ threadId }) => threadId);
      const changed = [...outcome.rows.map(([threadId]) => threadId), ...commanded];
      const posted = outcome.commands.filter(({ command }) => command.outcome === null || isWithdrawn(command));
      return {
        statements: batchStatements(scope, outcome),
        changedIds: [...new Set(changed)],
        postedIds: [...new Set(posted.map(({ threadId }) => threadId))],
        finish: () => outcome.answers,
      };
    },
  };
}

/** One call of `transact`. */
export interface Job {
  readonly threadId: string;
  readonly wanted: StateQuery;
  readonly inboxes: readonly InboxQuery[];
  /** Returns what to write, and `accept`, which resolves the call after the commit. Throws what the caller's `decide` throws. */
  readonly decide: (state: ThreadState) => { readonly decision: Decision<unknown>; readonly accept: () => void };
  readonly reject: (error: unknown) => void;
  /**
   * Rejects the call when its caller has stopped waiting, so that nothing waits for it any more. Returns whether the caller
   * has.
   */
  readonly rejectIfOver: () => boolean;
}

/** The signals abort when the caller has stopped waiting. */
export function newJob<Result>(
  threadId: string,
  wanted: StateQuery,
  decide: (state: ThreadState) => Decision<Result>,
  inboxes: readonly InboxQuery[],
  signals: readonly (AbortSignal | undefined)[],
): { readonly job: Job; readonly answer: Promise<Result> } {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const job: Job = {
    threadId,
    wanted,
    inboxes,
    decide(state) {
      const decision = decide(state);
      return { decision, accept: () => resolve(decision.result) };
    },
    reject,
    rejectIfOver() {
      const over = signals.find((signal) => signal?.aborted);
      if (over !== undefined) reject(over.reason);
      return over !== undefined;
    },
  };
  return { job, answer: promise };
}

/** All writes of a batch, and the answers to its callers. */
interface BatchOutcome extends BatchWrites {
  /** Settles the calls after the commit. Refusals wait too, because a failed commit means that all jobs are decided again. */
  readonly answers: readonly (() => void)[];
}

function threadsOf(jobs: readonly Job[]): ReadonlyMap<string, ThreadQuery> {
  const all = new Map<string, ThreadQuery>();
  const add = (
    threadId: string,
    { ids, lanes, leases, waiting = false }: StateQuery,
    commandIds: readonly string[],
  ): ThreadQuery => {
    const thread = all.get(threadId) ?? {
      entryIds: new Set(),
      lanes: new Set(),
      commandIds: new Set(),
      nodes: undefined,
      runnable: undefined,
      waiting: false,
    };
    all.set(threadId, thread);
    for (const id of ids) thread.entryIds.add(id);
    for (const lane of lanes) thread.lanes.add(lane);
    thread.waiting ||= waiting;
    if (leases !== undefined) thread.nodes = new Set([...(thread.nodes ?? []), ...leases]);
    for (const id of commandIds) thread.commandIds.add(id);
    return thread;
  };
  for (const { threadId, wanted, inboxes } of jobs) {
    add(threadId, wanted, []);
    for (const { threadId: to, entryIds, commandIds, runnable } of inboxes) {
      const thread = add(to, { ids: entryIds, lanes: [] }, commandIds);
      if (thread.runnable !== "pending") thread.runnable = runnable ?? thread.runnable;
    }
  }
  return all;
}

/** Decides the jobs in order. A job sees the pending writes of earlier jobs on the same thread. */
function decideAll(jobs: readonly Job[], threads: ReadonlyMap<string, ReadThread>): BatchOutcome {
  const drafts = new Map([...threads].map(([threadId, thread]) => [threadId, new ThreadDraft(thread)]));
  const draftOf = (threadId: string): ThreadDraft => {
    const draft = drafts.get(threadId);
    if (draft === undefined) throw new Error(`The state of thread ${threadId} was not read.`);
    return draft;
  };
  const rows: (readonly [string, StoredRow])[] = [];
  const ended = new Map<string, LeaseRecord>();
  const blobs: UsedBlob[] = [];
  const usage = new BatchUsage();
  let purgeBefore: number | undefined;
  const answers = jobs.map(({ threadId, wanted, inboxes, decide, reject, rejectIfOver }) => {
    if (rejectIfOver()) return () => {}; // its caller has an error already, so it must not be written now
    const draft = draftOf(threadId);
    const states = new Map(inboxes.map((inbox) => [inbox.threadId, draftOf(inbox.threadId).inboxFor(inbox)]));
    try {
      const leases = draft.leases.map((lease) => ended.get(lease.node) ?? lease);
      const { decision, accept } = decide({ ...draft.stateFor(wanted), leases, inboxes: states });
      for (const row of draft.apply(decision)) rows.push([threadId, row]);
      for (const { threadId: to, command } of decision.commands ?? []) draftOf(to).put(command);
      for (const { threadId: to, row } of decision.runnable ?? []) draftOf(to).newRunnable = row;
      for (const counted of decision.usage ?? []) usage.add({ ...counted, threadId });
      for (const lease of decision.leases ?? []) ended.set(lease.node, lease);
      for (const blob of decision.blobs ?? []) blobs.push([threadId, blob]);
      purgeBefore = decision.purgeBefore ?? purgeBefore;
      return accept;
    } catch (error) {
      return () => reject(error);
    }
  });
  const heads = [...drafts].flatMap(([id, { newHead }]) => (newHead === undefined ? [] : [[id, newHead] as const]));
  const claims = [...drafts].flatMap(([id, { newClaim }]) => (newClaim === undefined ? [] : [[id, newClaim] as const]));
  const commands = [...drafts].flatMap(([threadId, draft]) =>
    draft.newCommands.map((command): InboxCommand => ({ threadId, command })),
  );
  const lanes = [...drafts].flatMap(([id, { newLanes }]) => [...newLanes.values()].map((lane) => [id, lane] as const));
  const fields = [...drafts].flatMap(([id, { newFields }]) =>
    [...newFields.values()].map((field) => [id, field] as const),
  );
  const waiting = [...drafts].flatMap(([id, { newWaiting }]) => (newWaiting ? [[id, newWaiting] as const] : []));
  const runnable = [...drafts].flatMap(([threadId, { newRunnable: row }]) =>
    row === undefined ? [] : [{ threadId, row }],
  );
  return {
    heads,
    rows,
    lanes,
    fields,
    usage: usage.rows,
    claims,
    runnable,
    waiting,
    leases: [...ended.values()],
    commands,
    blobs,
    purgeBefore,
    answers,
  };
}

/** The state of a thread with the pending writes of a batch. */
class ThreadDraft {
  newHead: ThreadHead | undefined;
  newClaim: ClaimRecord | undefined;
  newRunnable: RunnableRow | undefined;
  newWaiting: readonly StoredWaiting[] | undefined;
  readonly newLanes = new Map<string, StoredLane>();
  readonly newFields = new Map<string, ThreadField>();
  readonly #thread: ReadThread;
  readonly #rowsById: Map<string, StoredRow>;
  readonly #commandsById: Map<string, StoredCommand>;
  readonly #lanes: Map<string, StoredLane>;
  readonly #written = new Set<string>();

  constructor(thread: ReadThread) {
    this.#thread = thread;
    this.#rowsById = new Map(thread.rows.map((row) => [row.id, row]));
    this.#lanes = new Map(thread.lanes.map((lane) => [lane.lane, lane]));
    this.#commandsById = new Map(thread.commands.map((command) => [command.id, command]));
  }

  get leases(): readonly LeaseRecord[] {
    return this.#thread.leases;
  }

  /** Each command once, as it is after the last job. */
  get newCommands(): readonly StoredCommand[] {
    return [...this.#written].flatMap((id) => this.#commandsById.get(id) ?? []);
  }

  stateFor(wanted: StateQuery): Omit<ThreadState, "inboxes"> {
    const { head, claim, now } = this.#thread;
    const lanes = wanted.lanes.flatMap((name) => this.newLanes.get(name) ?? this.#lanes.get(name) ?? []);
    const waiting = this.newWaiting ?? this.#thread.waiting;
    const known = this.#rows(wanted.ids);
    return { head: this.newHead ?? head, claim: this.newClaim ?? claim, known, lanes, waiting, now };
  }

  inboxFor({ commandIds, entryIds, runnable: wanted }: InboxQuery): InboxState {
    const { runnable = null } = this.#thread;
    const written = [...this.#written].map((id) => this.#commandsById.get(id)?.position ?? 0);
    return {
      commands: commandIds.flatMap((id) => this.#commandsById.get(id) ?? []),
      known: this.#rows(entryIds),
      lastPosition: Math.max(this.#thread.lastPosition, ...written),
      ...(wanted !== undefined && { runnable: this.newRunnable ?? runnable }),
      ...(wanted === "pending" && { pending: this.#pending() }),
    };
  }

  #pending(): NonNullable<InboxState["pending"]> {
    const stored = this.#thread.pending.filter(({ id }) => !this.#written.has(id));
    return [...stored, ...this.newCommands.filter(({ outcome }) => outcome === null)];
  }

  /** Returns the rows to write; a decision without a head has none. */
  apply({ head, fields = [], rows = [], lanes = [], claim, waiting }: Decision<unknown>): readonly StoredRow[] {
    this.newWaiting = waiting ?? this.newWaiting;
    this.newClaim = claim ?? this.newClaim;
    if (head === undefined) return [];
    this.newHead = head;
    for (const row of rows) this.#rowsById.set(row.id, row);
    for (const lane of lanes) this.newLanes.set(lane.lane, lane);
    for (const field of fields) this.newFields.set(field.name, field);
    return rows;
  }

  put(command: StoredCommand): void {
    this.#commandsById.set(command.id, command);
    this.#written.add(command.id);
  }

  #rows(ids: readonly string[]): readonly StoredRow[] {
    return ids.flatMap((id) => this.#rowsById.get(id) ?? []).sort((a, b) => a.seq - b.seq);
  }
}
