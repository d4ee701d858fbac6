import { HeddleError } from "../../thread/errors.ts";
import { copyJsonObject, copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { callAborted, untilAborted } from "../abort.ts";
import type { Command, CommandInput, CommandOutcome, ConsumedCommand, PostedCommand, PostOptions } from "../command.ts";
import { answerId, checkCommand, loggedOutcome, readCommand, readOutcome } from "../command-format.ts";
import {
  type CommandDraft,
  commandNotFound,
  decideAmend,
  decidePost,
  decideWithdraw,
  type InboxRequest,
  NO_COMMANDS,
} from "../decide/inbox.ts";
import type { CommandKey, InboxQuery, StoreDriver } from "../driver.ts";
import { CommandError, commandTooLarge, storeClosed, unsupported } from "../errors.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { AppendOptions, CallOptions, NextRun, ThreadStore } from "../port.ts";
import { NOTHING, PAGE_SIZE, type StoreContext } from "./context.ts";

type InboxMethods = Pick<ThreadStore, "post" | "pending" | "amend" | "withdraw" | "outcome" | "onPosted">;

/** The inbox of a thread: commands of any process, and how each of them ended. */
export function inboxMethods(context: StoreContext): InboxMethods {
  const { ports } = context;
  const outcomes = new OutcomeReader(context);

  function checkCall(threadId: string, id: string, options: CallOptions): StoreDriver {
    const { driver } = context.forCall(options);
    checkName("threadId", threadId);
    checkName("id", id);
    return driver;
  }

  return {
    async post(threadId, command, options = {}) {
      checkName("threadId", threadId);
      const { agent, priority, signal } = checkOptions<PostOptions>(options, ["agent", "priority", "signal"]);
      checkPriority("priority", priority);
      const draft = { ...draftCommand(threadId, command, "command", ports.maxEntryChars, agent), priority };
      const { driver } = context.forCall({ signal });
      if (agent !== undefined && !driver.scheduling) throw unsupported("agents of commands");
      if (priority !== undefined && !driver.scheduling) throw unsupported("priorities");
      const inboxes = wantedInboxes([draft], [], { driver });
      const result = await driver.transact(threadId, NOTHING, (state) => decidePost(draft, state, ports), inboxes);
      context.wakeWatchers(threadId, [threadId]);
      return result;
    },

    async pending(threadId, options = {}) {
      const { driver } = context.forCall(options);
      checkName("threadId", threadId);
      const found: Command[] = [];
      for (let after = 0; ; ) {
        const page = await driver.pending(threadId, after, PAGE_SIZE);
        for (const command of page) {
          found.push(readCommand(checkCommand(threadId, command, ports.sha256)));
          after = command.position;
        }
        if (page.length < PAGE_SIZE) return found;
      }
    },

    async amend(threadId, id, body, options = {}) {
      const copy = copyJsonObject(body, "body");
      const driver = checkCall(threadId, id, options);
      checkBody(threadId, id, copy, "body", ports.maxEntryChars);
      const inboxes = wantedInboxes([{ threadId, id }], [], { driver });
      const amended = await driver.transact(
        threadId,
        NOTHING,
        (state) => decideAmend(threadId, id, copy, state, ports.sha256),
        inboxes,
      );
      context.wakeWatchers(threadId, [threadId]);
      return amended;
    },

    async withdraw(threadId, id, options = {}) {
      const driver = checkCall(threadId, id, options);
      const inboxes = wantedInboxes([{ threadId, id }], [], {});
      const withdrawn = await driver.transact(
        threadId,
        NOTHING,
        (state) => decideWithdraw(threadId, id, state, ports.sha256),
        inboxes,
      );
      context.wakeWatchers(threadId, [threadId]);
      return withdrawn;
    },

    async outcome(threadId, id, options = {}) {
      checkCall(threadId, id, options);
      const { signal } = options;
      const outcome = outcomes.wait({ threadId, id }, signal);
      return signal === undefined ? outcome : untilAborted(signal, outcome, () => callAborted(signal, ""));
    },

    onPosted(threadId, wake) {
      checkName("threadId", threadId);
      context.checkOpen();
      const ended = new AbortController();
      void followInbox(context, threadId, ended.signal, wake);
      return () => ended.abort();
    },
  };
}

/** Calls `wake` whenever the inbox may have changed, until the signal aborts or the store closes. */
async function followInbox(
  { tail, closing }: StoreContext,
  threadId: string,
  signal: AbortSignal,
  wake: () => void,
): Promise<void> {
  const subscription = tail.subscribe({ threadId, isForInbox: true });
  while (!signal.aborted && !closing.aborted) {
    await tail.wait(subscription, signal);
    subscription.clear();
    if (!signal.aborted && !closing.aborted) wake();
  }
  tail.unsubscribe(subscription);
}

/** The checked commands of an append. */
export function inboxRequest(
  threadId: string,
  options: Pick<AppendOptions, "consumes" | "posts">,
  maxChars: number,
): InboxRequest {
  const { consumes = [], posts = [] } = options;
  if (options.consumes === undefined && options.posts === undefined) return NO_COMMANDS;
  if (!Array.isArray(consumes)) throw invalidOption("consumes", "a list of { id, outcome }");
  if (!Array.isArray(posts)) throw invalidOption("posts", "a list of { threadId, command }");
  const consumed = consumes.map((item: ConsumedCommand, index): ConsumedCommand => {
    const path = `consumes[${index}]`;
    const { id, outcome, revision } = checkOptions(item, ["id", "outcome", "revision"]);
    checkName(`${path}.id`, id);
    checkSeq(`${path}.revision`, revision);
    return { id, outcome: copyOutcome(threadId, id, outcome, `${path}.outcome`, maxChars), revision };
  });
  const posted = posts.map((item: PostedCommand, index) => {
    const { threadId: to, command, agent } = checkOptions(item, ["threadId", "command", "agent"]);
    checkName(`posts[${index}].threadId`, to);
    return draftCommand(to, command, `posts[${index}].command`, maxChars, agent);
  });
  const keys = [
    ...consumed.map(({ id }) => `consumes ${id}`),
    ...posted.map(({ threadId: to, id }) => `posts ${to} ${id}`),
  ];
  if (new Set(keys).size < keys.length) throw invalidOption("consumes and posts", "lists with each command once");
  return { consumes: consumed, posts: posted };
}

/** The checked `next` of an append. */
export function checkNext(next: NextRun): NextRun {
  const { agent, dueInMs, priority, waitsFor } = checkOptions(next, ["agent", "dueInMs", "priority", "waitsFor"]);
  if (agent !== undefined) checkName("next.agent", agent);
  checkSeq("next.dueInMs", dueInMs);
  checkPriority("next.priority", priority);
  if (!(waitsFor === undefined || Array.isArray(waitsFor))) throw invalidOption("next.waitsFor", "a list of commands");
  for (const { id, revision } of waitsFor ?? []) {
    checkName("next.waitsFor.id", id);
    if (revision === undefined) throw invalidOption("next.waitsFor.revision", "that of the command");
    checkSeq("next.waitsFor.revision", revision);
  }
  return { agent, dueInMs, priority, waitsFor };
}

function checkPriority(what: string, priority: unknown): void {
  if (!(priority === undefined || Number.isSafeInteger(priority))) throw invalidOption(what, "a whole number");
}

interface RunnableWish {
  /** The driver, if runnable rows are wanted too. */
  readonly driver?: StoreDriver;
  /** The thread whose holder says `next`. */
  readonly nextOf?: string | undefined;
}

/** The inboxes that a decision needs. For posts the log is read too, in case their outcomes were purged. */
export function wantedInboxes(
  posts: readonly Pick<CommandDraft, "threadId" | "id">[],
  consumes: readonly Pick<CommandDraft, "threadId" | "id">[],
  { driver, nextOf }: RunnableWish,
): readonly InboxQuery[] {
  const wanted = Map.groupBy([...posts, ...consumes], ({ threadId }) => threadId);
  if (nextOf !== undefined && !wanted.has(nextOf)) wanted.set(nextOf, []);
  return [...wanted].map(([threadId, keys]): InboxQuery => {
    const commandIds = [...new Set(keys.map(({ id }) => id))];
    const inbox = { threadId, commandIds, entryIds: commandIds.map(answerId) };
    if (threadId === nextOf) return { ...inbox, runnable: "pending" };
    const isPosted = driver?.scheduling && posts.some((post) => post.threadId === threadId);
    return isPosted ? { ...inbox, runnable: "row" } : inbox;
  });
}

function draftCommand(
  threadId: string,
  command: CommandInput,
  path: string,
  maxChars: number,
  agent: string | undefined,
): CommandDraft {
  if (agent !== undefined) checkName("agent", agent);
  if (isPlainObject(command) && command.type === "ask") checkPortable(threadId, command, path);
  const { id, type, ...body } = copyJsonObject(withWords(command, path), path);
  checkName(`${path}.id`, id);
  if (!isType(type)) throw invalidOption(`${path}.type`, "text of 1 to 128 characters without control characters");
  checkBody(threadId, id, body, path, maxChars);
  const { agent: named } = body; // an ask may name its agent, as with `host.ask`
  return {
    threadId,
    id,
    type,
    body,
    agent: agent ?? (type === "ask" && typeof named === "string" ? named : undefined),
  };
}

/** The words of an ask or a message are repaired, as those of a call of a host. */
function withWords(command: CommandInput, path: string): CommandInput {
  const isWords = isPlainObject(command) && ["ask", "steer"].includes(command.type) && command["content"] !== undefined;
  return isWords ? { ...command, content: copyJsonRepaired(command["content"], `${path}.content`) } : command;
}

/** Options of an ask that are never stored, so that a posted ask cannot have them. */
const NEVER_STORED = ["context", "tools", "headers", "signal"];

function checkPortable(threadId: string, { id, ...ask }: CommandInput, path: string): void {
  const why = (name: string, cause?: unknown): CommandError => {
    const advice = "Pass data only; the functions `context`, `tools` and `headers` of the host make the rest.";
    const message = `${path}: a posted ask cannot have ${name}, because that cannot be stored. ${advice}`;
    return new CommandError({ code: "not_portable", threadId, commandId: String(id), message, cause });
  };
  const name = NEVER_STORED.find((one) => ask[one] !== undefined);
  if (name !== undefined) throw why(name);
  for (const [field, value] of Object.entries(ask)) {
    if (typeof value !== "function" && !isObject(value)) continue; // other values are checked as those of any command
    try {
      copyJsonObject({ [field]: value }, path);
    } catch (cause) {
      throw why(`this value of ${field}`, cause);
    }
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isType(type: JsonValue | undefined): type is string {
  return typeof type === "string" && type !== "" && type.length <= 128 && !/\p{Cc}/u.test(type);
}

function copyOutcome(threadId: string, id: string, outcome: unknown, path: string, maxChars: number): CommandOutcome {
  const copy = copyJsonObject(outcome, path);
  const { status } = copy;
  if (typeof status !== "string" || status === "") throw invalidOption(`${path}.status`, "text");
  checkBody(threadId, id, copy, path, maxChars);
  return { ...copy, status };
}

function checkBody(threadId: string, id: string, body: JsonObject, path: string, maxChars: number): void {
  const { length } = JSON.stringify(body);
  if (length > maxChars) throw commandTooLarge(threadId, id, path, length, maxChars);
}

interface Question {
  readonly key: CommandKey;
  readonly resolve: (outcome: CommandOutcome | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads the outcomes that callers of this process wait for: one query for all that ask in the same turn. */
class OutcomeReader {
  readonly #context: StoreContext;
  #questions: Question[] = [];

  constructor(context: StoreContext) {
    this.#context = context;
  }

  /** Looks until there is an outcome. A retryable error, such as a lost connection, is not an answer. */
  async wait(key: CommandKey, signal: AbortSignal | undefined): Promise<CommandOutcome> {
    const { tail, closing } = this.#context;
    const subscription = tail.subscribe({ threadId: key.threadId, isForOutcome: true });
    try {
      for (;;) {
        subscription.clear();
        try {
          const outcome = await this.#read(key);
          if (outcome !== undefined) return outcome;
        } catch (error) {
          if (!closing.aborted && !(HeddleError.isInstance(error) && error.retryable)) throw error;
          tail.fail();
        }
        if (closing.aborted) throw storeClosed();
        await tail.wait(subscription, signal);
        if (signal?.aborted) throw callAborted(signal, "");
      }
    } finally {
      tail.unsubscribe(subscription);
    }
  }

  #read(key: CommandKey): Promise<CommandOutcome | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<CommandOutcome | undefined>();
    if (this.#questions.push({ key, resolve, reject }) === 1) queueMicrotask(() => this.#ask());
    return promise;
  }

  #ask(): void {
    const questions = this.#questions;
    this.#questions = [];
    for (let from = 0; from < questions.length; from += PAGE_SIZE) {
      const page = questions.slice(from, from + PAGE_SIZE);
      this.#answer(page).catch((error: unknown) => {
        for (const { reject } of page) reject(error);
      });
    }
  }

  async #answer(questions: readonly Question[]): Promise<void> {
    const { driver, ports } = this.#context;
    const found = await driver.commands(questions.map(({ key }) => key));
    const commands = new Map(found.map(({ threadId, command }) => [nameOf({ threadId, id: command.id }), command]));
    for (const { key, resolve, reject } of questions) {
      const command = commands.get(nameOf(key));
      if (command === undefined) {
        this.#lookInLog(key).then(resolve, reject);
        continue;
      }
      try {
        resolve(readOutcome(checkCommand(key.threadId, command, ports.sha256)));
      } catch (error) {
        reject(error);
      }
    }
  }

  /** The outcome may have been purged. */
  async #lookInLog({ threadId, id }: CommandKey): Promise<CommandOutcome> {
    const { driver } = this.#context;
    const wanted = { ids: [answerId(id)], lanes: [] };
    const row = await driver.transact(threadId, wanted, ({ known }) => ({ result: known[0] }));
    if (row === undefined) throw commandNotFound(threadId, id);
    return loggedOutcome(row.seq);
  }
}

/** No name contains a slash. */
function nameOf({ threadId, id }: CommandKey): string {
  return `${threadId}/${id}`;
}
