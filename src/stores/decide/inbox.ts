import type { Sha256 } from "../../thread/encoding.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { CommandOutcome, CommandResult, ConsumedCommand } from "../command.ts";
import { answerId, checkCommand, isStoredAs, loggedOutcome, readOutcome, sealCommand } from "../command-format.ts";
import type { Decision, InboxState, ThreadState } from "../driver.ts";
import { CommandError, driverOutdated } from "../errors.ts";
import type { NextRun } from "../port.ts";
import type { InboxCommand, RunnableRow, StoredCommand } from "../stored-records.ts";

/** A checked command that is to be posted. */
export interface CommandDraft {
  readonly threadId: string;
  readonly id: string;
  readonly type: string;
  readonly body: JsonObject;
  readonly agent?: string | undefined;
  readonly priority?: number | undefined;
}

/** The commands that an append consumes and posts. */
export interface InboxRequest {
  readonly consumes: readonly ConsumedCommand[];
  readonly posts: readonly CommandDraft[];
}

export const NO_COMMANDS: InboxRequest = { consumes: [], posts: [] };

/** The state of some inboxes, with the changes of one decision. */
export class InboxDraft {
  readonly #state: ThreadState;
  readonly #sha256: Sha256;
  readonly #written: InboxCommand[] = [];
  readonly #posted = new Map<string, number>();
  readonly #runnable = new Map<string, RunnableRow>();

  constructor(state: ThreadState, sha256: Sha256) {
    this.#state = state;
    this.#sha256 = sha256;
  }

  /** The commands to write, in the order of the changes. */
  get written(): readonly InboxCommand[] {
    return this.#written;
  }

  /** The runnable rows to write; empty for a driver that keeps none. */
  get runnable(): Pick<Decision<unknown>, "runnable"> {
    if (this.#runnable.size === 0) return {};
    const runnable = [...this.#runnable].map(([threadId, row]) => ({ threadId, row }));
    return { runnable };
  }

  find(threadId: string, id: string): StoredCommand | undefined {
    const found = this.#inbox(threadId).commands.find((command) => command.id === id);
    return found && checkCommand(threadId, found, this.#sha256);
  }

  /** The outcome that the log shows: the entry `<id>/0` proves that the command was answered. */
  logged(threadId: string, id: string): CommandOutcome | undefined {
    const answer = this.#inbox(threadId).known.find((row) => row.id === answerId(id));
    return answer && loggedOutcome(answer.seq);
  }

  /** The answer to a post that was made before; undefined for a new command. */
  replayed({ threadId, id, type, body }: CommandDraft): CommandResult | undefined {
    const known = this.find(threadId, id);
    if (known === undefined) {
      const outcome = this.logged(threadId, id);
      return outcome && { replayed: true, outcome };
    }
    if (known.type !== type || !isStoredAs(known.posted ?? known.body, body)) throw reused(threadId, id);
    return replayOf(known);
  }

  /** Adds a new command behind those that wait. */
  add({ threadId, id, type, body, agent, priority }: CommandDraft): void {
    this.wake(threadId, agent, priority);
    const earlier = this.#posted.get(threadId) ?? 0;
    this.#posted.set(threadId, earlier + 1);
    this.put(threadId, {
      id,
      type,
      body: JSON.stringify(body),
      posted: null,
      revision: 0,
      position: this.#inbox(threadId).lastPosition + earlier + 1,
      postedAt: this.#state.now,
      outcome: null,
      doneAt: null,
    });
  }

  settle(threadId: string, command: StoredCommand, outcome: CommandOutcome): void {
    this.put(threadId, { ...command, outcome: JSON.stringify(outcome), doneAt: this.#state.now });
  }

  /** Makes the thread due now, because it got something to do. */
  wake(threadId: string, agent?: string, given?: number): void {
    const row = this.#rowOf(threadId);
    if (row === undefined) return;
    const dueAt = Math.min(row?.dueAt ?? this.#state.now, this.#state.now);
    const known = row?.agent ?? agent ?? null;
    const priority = given ?? row?.priority ?? 0;
    if (row?.dueAt !== dueAt || row.agent !== known || row.priority !== priority)
      this.#runnable.set(threadId, { agent: known, dueAt, priority });
  }

  /** Sets when the thread is due, as its holder says. A command that it does not name makes the thread due now. */
  setNext(threadId: string, next: NextRun | null): void {
    const { now } = this.#state;
    const row = this.#rowOf(threadId);
    const seen = new Map(next?.waitsFor?.map(({ id, revision }) => [id, revision]));
    const mustRun = this.#pending(threadId).some(({ id, revision }) => seen.get(id) !== revision);
    if (next === null && row === null && !mustRun) return; // no row says the same, and leaves nothing of a deleted thread
    const saidAt = next === null ? null : now + (next.dueInMs ?? 0);
    this.#runnable.set(threadId, {
      agent: next?.agent ?? row?.agent ?? null,
      dueAt: mustRun ? now : saidAt,
      priority: next?.priority ?? row?.priority ?? 0,
    });
  }

  #rowOf(threadId: string): RunnableRow | null | undefined {
    return this.#runnable.get(threadId) ?? this.#inbox(threadId).runnable;
  }

  /** The pending commands, with the changes of this decision. */
  #pending(threadId: string): readonly Pick<StoredCommand, "id" | "revision">[] {
    const pending = new Map(this.#inbox(threadId).pending?.map((command) => [command.id, command]));
    for (const { threadId: of, command } of this.#written) {
      if (of !== threadId) continue;
      if (command.outcome === null) pending.set(command.id, command);
      else pending.delete(command.id);
    }
    return [...pending.values()];
  }

  put(threadId: string, command: Omit<StoredCommand, "checkSum">): void {
    this.#written.push({ threadId, command: sealCommand(threadId, command, this.#sha256) });
  }

  #inbox(threadId: string): InboxState {
    // A driver in JavaScript may know nothing of inboxes.
    const inboxes: ThreadState["inboxes"] | undefined = this.#state.inboxes;
    const inbox = inboxes?.get(threadId);
    if (inbox === undefined) throw driverOutdated("inboxes", "transact and pending");
    return inbox;
  }
}

export function decidePost(command: CommandDraft, state: ThreadState, ports: InboxPorts): Decision<CommandResult> {
  const draft = new InboxDraft(state, ports.sha256);
  const known = draft.replayed(command);
  if (known !== undefined) return { result: known };
  draft.add(command);
  return { result: { replayed: false }, commands: draft.written, ...draft.runnable, ...purge(state, ports) };
}

/** The hash, and how long outcomes are kept. */
export interface InboxPorts {
  readonly sha256: Sha256;
  readonly keepOutcomesMs: number;
}

export function purge({ now }: ThreadState, { keepOutcomesMs }: InboxPorts): { purgeBefore: number } {
  return { purgeBefore: now - keepOutcomesMs };
}

export function decideAmend(
  threadId: string,
  id: string,
  body: JsonObject,
  state: ThreadState,
  sha256: Sha256,
): Decision<CommandResult> {
  const draft = new InboxDraft(state, sha256);
  const command = pendingCommand(draft, threadId, id);
  if (isStoredAs(command.body, body)) return { result: { replayed: true } };
  draft.put(threadId, {
    ...command,
    body: JSON.stringify(body),
    posted: command.posted ?? command.body,
    revision: command.revision + 1,
  });
  draft.wake(threadId, undefined);
  return { result: { replayed: false }, commands: draft.written, ...draft.runnable };
}

const WITHDRAWN: CommandOutcome = Object.freeze({ status: "withdrawn" });

export function isWithdrawn({ outcome }: Pick<StoredCommand, "outcome">): boolean {
  return outcome === JSON.stringify(WITHDRAWN);
}

export function decideWithdraw(
  threadId: string,
  id: string,
  state: ThreadState,
  sha256: Sha256,
): Decision<CommandResult> {
  const draft = new InboxDraft(state, sha256);
  const known = draft.find(threadId, id);
  if (known !== undefined && hasOutcome(known, WITHDRAWN)) return { result: replayOf(known) };
  draft.settle(threadId, pendingCommand(draft, threadId, id), WITHDRAWN);
  return { result: { replayed: false, outcome: WITHDRAWN }, commands: draft.written };
}

/** The commands that an append writes. `isReplay` is true when the append is known to be done: nothing is written. */
export type InboxDecision =
  | { readonly isReplay: true }
  | { readonly isReplay: false; readonly write: () => readonly InboxCommand[] };

/**
 * Decides an append without entries: it is a replay when all of its outcomes, or else all of its posts, are there. `write`
 * makes the refusals; call it after the checks of the thread.
 */
export function decideInbox(threadId: string, request: InboxRequest, draft: InboxDraft): InboxDecision {
  const { consumes, posts } = request;
  const isReplay =
    consumes.length > 0
      ? consumes.every(({ id, outcome }) => hasOutcome(draft.find(threadId, id), outcome))
      : posts.every((post) => draft.replayed(post) !== undefined);
  if (isReplay) return { isReplay };
  return { isReplay, write: () => writeCommands(threadId, request, draft, { isDoneAllowed: true }) };
}

/**
 * The commands to write with new entries. A command that has an outcome refuses them, even an equal one: its entries are
 * stored already, and these would repeat them.
 */
export function writeCommands(
  threadId: string,
  { consumes, posts }: InboxRequest,
  draft: InboxDraft,
  { isDoneAllowed }: { readonly isDoneAllowed: boolean },
): readonly InboxCommand[] {
  for (const { id, outcome, revision } of consumes) {
    if (isDoneAllowed && hasOutcome(draft.find(threadId, id), outcome)) continue;
    const command = pendingCommand(draft, threadId, id);
    if (revision !== undefined && revision !== command.revision) throw amended(threadId, id);
    draft.settle(threadId, command, outcome);
  }
  for (const post of posts) if (draft.replayed(post) === undefined) draft.add(post);
  return draft.written;
}

/**
 * Checks the commands of a batch whose entries are stored already. A command that is not there was purged. One that waits
 * gets its outcome now: its answer was stored without it.
 */
export function writeReplayed(
  threadId: string,
  { consumes }: InboxRequest,
  draft: InboxDraft,
): readonly InboxCommand[] {
  for (const { id, outcome } of consumes) {
    const known = draft.find(threadId, id);
    if (known === undefined || hasOutcome(known, outcome)) continue;
    draft.settle(threadId, pendingCommand(draft, threadId, id), outcome);
  }
  return draft.written;
}

function hasOutcome(command: StoredCommand | undefined, outcome: CommandOutcome): boolean {
  return command !== undefined && command.outcome !== null && isStoredAs(command.outcome, outcome);
}

function pendingCommand(draft: InboxDraft, threadId: string, id: string): StoredCommand {
  const command = draft.find(threadId, id);
  const outcome = command === undefined ? draft.logged(threadId, id) : readOutcome(command);
  if (outcome !== undefined) throw settled(threadId, id, outcome);
  if (command === undefined) throw commandNotFound(threadId, id);
  return command;
}

function replayOf(command: StoredCommand): CommandResult {
  const outcome = readOutcome(command);
  return { replayed: true, ...(outcome !== undefined && { outcome }) };
}

function reused(threadId: string, commandId: string): CommandError {
  const message = `The inbox of thread ${threadId} has a command ${commandId} with another type or body. Use another id.`;
  return new CommandError({ code: "command_id_reused", threadId, commandId, message });
}

function settled(threadId: string, commandId: string, outcome: CommandOutcome): CommandError {
  const message = `Command ${commandId} of thread ${threadId} has the outcome ${JSON.stringify(outcome.status)}. It cannot get another one.`;
  return new CommandError({ code: "command_settled", threadId, commandId, outcome, message });
}

function amended(threadId: string, commandId: string): CommandError {
  const message = `Command ${commandId} of thread ${threadId} was amended. Read it again with pending(), and decide again.`;
  return new CommandError({ code: "command_amended", threadId, commandId, message });
}

export function commandNotFound(threadId: string, commandId: string): CommandError {
  const message = `The inbox of thread ${threadId} has no command ${commandId}. Check the id; deleting a thread removes its commands.`;
  return new CommandError({ code: "command_not_found", threadId, commandId, message });
}
