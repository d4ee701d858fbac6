import type { Entry, EntryInput, ThreadStore } from "heddle";
import { StoreError, StoreFullError } from "../../../src/stores/errors.ts";
import type { Runtime, StoryServer } from "./runtimes.ts";
import { type Call, CLIENT_TOOLS, type Command, type Fault, type Step, type Story } from "./story.ts";
import { type StepAttempt, storyModel } from "./story-model.ts";
import { StoryProcess, World } from "./world.ts";

export interface Played {
  readonly log: readonly Entry[];
  /** What became of each command, by the step at which it came. */
  readonly outcomes: ReadonlyMap<string, string>;
  /** How many processes ran the story. */
  readonly starts: number;
  /** Appends that the store refused or answered with an error. */
  readonly storeFaults: number;
}

/** A play that does not end in so many moments hangs. */
const MOMENTS = 3_000;
const THREAD = "thread_story";
/** For this time the store takes no appends. It is longer than a runtime retries one at once, whatever it appends. */
const OUTAGE_MS = 8_000;
/** After an outage a runtime reads the log again, at growing intervals. */
const RECOVERY_MS = 20_000;
/** A call that waits is decided so often, because a decision can fail. */
const DECISIONS = 10;
/** Methods of a store that return no promise. */
const ITERABLES: ReadonlySet<PropertyKey> = new Set(["read", "feed", "watch"]);
const LAST_STEP: Step = { answer: "text", calls: [], troubles: [], commands: [], fault: "none" };

/** Plays a story on a runtime to its end. */
export async function played(runtime: Runtime, story: Story): Promise<Played> {
  const play = new Play(runtime, story);
  await play.start();
  for (const [index, { before }] of story.asks.entries()) {
    await play.command(`${index}.before`, before);
    await play.rest();
    play.ask(String(index));
    await play.rest();
  }
  await play.end();
  return play.read();
}

class Play {
  readonly outcomes = new Map<string, string>();
  readonly #runtime: Runtime;
  readonly #story: Story;
  readonly #world = new World();
  readonly #store: ThreadStore;
  /** Asks and stops that have no answer yet. The play waits for them. */
  readonly #pending = new Set<string>();
  readonly #done = new Set<string>();
  #storeFaults = 0;
  #awayUntil = Number.NEGATIVE_INFINITY;
  readonly #deciding = new Set<string>();
  readonly #attempts = new Map<string, number>();
  #process: StoryProcess;
  #server: StoryServer | undefined;

  constructor(runtime: Runtime, story: Story) {
    this.#runtime = runtime;
    this.#story = story;
    this.#store = runtime.memoryStore(() => this.#world.now);
    this.#process = new StoryProcess(this.#world);
  }

  /** Starts a server in a new process. */
  async start(): Promise<void> {
    this.#server = undefined;
    const process = new StoryProcess(this.#world);
    this.#process = process;
    const { ports } = process;
    const { maxInputTokens, autoSummarize, ...agent } = this.#story.agent;
    const config = {
      ...agent,
      model: storyModel((name, signal) => this.#atStep(process, name, signal)),
      tools: this.#tools(process),
      summarizer: { summarize: () => process.gate("summary").then(() => "It was so.") },
      contextPolicy: { maxInputTokens, reserveOutputTokens: 200, keepLastTurns: 1, autoSummarize },
      toolTimeoutMs: 1_000,
      streamIdleTimeoutMs: 2_000,
    };
    const store = this.#storeOf(process);
    const name = `start ${this.#count("start")}`;
    const starting = this.#runtime.start({ config: config as never, store, threadId: THREAD, ports }); // the tools have no types
    const noted = starting.then(
      (server) => {
        if (process.isAlive) this.#server = server;
      },
      () => {
        this.#world.now += 1_000; // the process ends, and is started again later
        if (process.isAlive) this.#die(process);
      },
    );
    this.#follow(process, name, noted, () => "ended");
    await this.rest();
  }

  ask(label: string): void {
    const server = this.#server;
    if (server === undefined) return;
    const process = this.#process;
    const name = `${label} ask`;
    this.#follow(process, name, server.ask(`Ask ${label}. ${"Please. ".repeat(20)}`), (request) => {
      this.#follow(process, `${label} result`, request.result, ({ text, terminationReason }) => {
        return `${terminationReason}: ${text.slice(0, 20)}`;
      });
      return "accepted";
    });
  }

  /** Commands that come at one moment. Each is known by the step and its place there. */
  async command(at: string, commands: readonly Command[]): Promise<void> {
    for (const [index, command] of commands.entries()) {
      await this.#command(`${at}.${index} ${command}`, command);
      await this.#world.settle();
    }
  }

  async #command(name: string, command: Command): Promise<void> {
    const server = this.#server;
    const process = this.#process;
    if (server === undefined || !process.isAlive || this.#pending.has("stop")) return;
    const follow = (answer: Promise<string>) => this.#follow(process, name, answer, (text) => text, "command");
    switch (command) {
      case "steer":
      case "inject":
        return follow(server.say(command, `${command} ${name}`));
      case "follow_up":
        return follow(server.say("followUp", `follow up ${name}`));
      case "ask":
        return this.ask(name.replaceAll(/\W/g, "x"));
      case "cancel":
        return follow(server.cancel());
      case "finish":
        return follow(server.finish());
      case "reset":
        return follow(server.reset());
      case "replace":
        return follow(server.replace(`replaced ${name}`));
      case "summarize":
        return follow(server.summarize());
      case "stop":
        return this.#follow(process, "stop", server.stop(50), () => "stopped");
      case "die":
        return this.#die(process);
      default:
        return command satisfies never;
    }
  }

  /** Lets everything happen until no request runs. A process that has died or stopped is followed by a new one. */
  async rest(): Promise<void> {
    for (let moment = 0; moment < MOMENTS; moment++) {
      await this.#world.settle();
      if (!this.#process.isAlive) return this.start();
      if (await this.#openGate()) continue;
      const isQuiet = this.#pending.size === 0 && this.#server?.request === undefined;
      if (isQuiet && this.#world.now >= this.#awayUntil + RECOVERY_MS) return;
      if (await this.#decide()) continue;
      if (!this.#world.fireNext(this.#process)) break;
    }
    this.outcomes.set("hangs", `with ${[...this.#pending]} pending`);
    this.#pending.clear();
  }

  async end(): Promise<void> {
    const server = this.#server;
    if (server === undefined || !this.#process.isAlive) return;
    this.#follow(this.#process, "end", server.stop(1_000), () => "stopped");
    await this.rest();
  }

  async read(): Promise<Played> {
    const log = (await this.#store.load(THREAD))?.toArray() ?? [];
    await this.#store.close();
    const outcomes = [...this.outcomes].filter(([name]) => !name.startsWith("start "));
    return {
      log,
      outcomes: new Map(outcomes.sort(([a], [b]) => (a < b ? -1 : 1))),
      starts: this.#attempts.get("start") ?? 0,
      storeFaults: this.#storeFaults,
    };
  }

  /** Opens the gate with the first name, so that the order does not depend on the runtime. */
  async #openGate(): Promise<boolean> {
    const { gates } = this.#process;
    const [name] = [...gates.keys()].sort();
    const gate = name === undefined ? undefined : gates.get(name);
    if (name === undefined || gate === undefined) return false;
    const commands = this.#once(`${name} commands`) ? this.#commandsAt(name) : [];
    await this.command(name, commands);
    if (gates.get(name) === gate) {
      gates.delete(name);
      gate.open();
    }
    return true;
  }

  #commandsAt(gate: string): readonly Command[] {
    const [kind, name = ""] = gate.split(" ");
    if (kind === "model") return this.#step(name).commands;
    return kind === "tool" ? (this.#call(name)?.commands ?? []) : [];
  }

  /** Decides about the first call that waits. False when nothing waits, or all is decided. */
  async #decide(): Promise<boolean> {
    const server = this.#server;
    if (server?.request?.state !== "waiting") return false;
    for (const { toolCallId, name } of await server.waiting()) {
      if (this.#deciding.has(toolCallId)) continue;
      const decision = this.#call(toolCallId)?.decision ?? "yes";
      const turn = this.#count(`${toolCallId} waits`);
      if (decision !== "yes" && decision !== "no" && turn === 1) {
        await this.command(`waiting ${toolCallId}`, [decision]);
        return true;
      }
      if (turn > DECISIONS) continue;
      const process = this.#process;
      this.#deciding.add(toolCallId); // before the answer, because its append may end the process
      const answer = CLIENT_TOOLS.has(name)
        ? server.answer(toolCallId, `answer ${toolCallId}`)
        : server.decide(toolCallId, decision !== "no");
      const decided = answer.finally(() => process.isAlive && this.#deciding.delete(toolCallId));
      this.#follow(process, `${toolCallId} decided`, decided, (text) => text, "command");
      return true;
    }
    return false;
  }

  #step(name: string): Step {
    const [label = "", index = "0"] = name.split(".");
    return this.#story.asks[Number(label)]?.steps[Number(index)] ?? LAST_STEP;
  }

  #call(toolCallId: string): Call | undefined {
    const [, label, index, place] = toolCallId.split("_");
    return this.#step(`${label}.${index}`).calls[Number(place)];
  }

  async #atStep(process: StoryProcess, name: string, signal: AbortSignal | undefined): Promise<StepAttempt> {
    await process.gate(`model ${name}`, signal);
    const step = this.#step(name);
    return { name, step, trouble: step.troubles[this.#count(`model ${name}`) - 1] };
  }

  #tools(process: StoryProcess): object {
    const tool = (work: (toolCallId: string, signal: AbortSignal) => unknown, more: object = {}) => ({
      inputSchema: { type: "object" },
      execute: async (
        _input: unknown,
        { toolCallId, abortSignal }: { toolCallId: string; abortSignal: AbortSignal },
      ) => {
        await process.gate(`tool ${toolCallId}`, abortSignal);
        return work(toolCallId, abortSignal);
      },
      ...more,
    });
    const result = (toolCallId: string) => `result ${toolCallId}`;
    return {
      look: tool(result, { repeatable: true }),
      pay: tool(result),
      sign: tool(result, { needsApproval: true }),
      ask_user: { inputSchema: { type: "object" } },
      broken: tool(() => {
        throw new Error("secret words of a driver");
      }),
      flaky: tool((toolCallId) => {
        if (this.#count(`flaky ${toolCallId}`) === 1) throw this.#runtime.toolError("Too many at once.");
        return result(toolCallId);
      }),
      stuck: tool(
        (_, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      ),
    };
  }

  /** The store as a process has it: appends fail as the story says, and a dead process gets no answers. */
  #storeOf(process: StoryProcess): ThreadStore {
    const never = () => new Promise<never>(() => undefined);
    const alive = async (work: () => Promise<unknown>): Promise<unknown> => {
      if (!process.isAlive) return never();
      const ended = await work().then(
        (value) => () => value,
        (error: unknown) => () => {
          throw error;
        },
      );
      return process.isAlive ? ended() : never();
    };
    const append: ThreadStore["append"] = (threadId, entries, options) => {
      const write = () => this.#store.append(threadId, entries, options);
      return alive(() => this.#append(process, [entries].flat(), write)) as ReturnType<typeof write>; // what `write` resolves to
    };
    return new Proxy(this.#store, {
      get: (target, key) => {
        if (key === "append") return append;
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        return ITERABLES.has(key) ? call : (...args: unknown[]) => alive(async () => call(...args));
      },
    });
  }

  async #append<Result>(
    process: StoryProcess,
    entries: readonly EntryInput[],
    write: () => Promise<Result>,
  ): Promise<Result> {
    for (const [name, fault] of entries.flatMap((entry) => this.#faultsOf(entry))) {
      const attempt = this.#count(`fault ${name}`);
      if (attempt > 1) continue;
      if (fault === "fail_long") this.#awayUntil = this.#world.now + OUTAGE_MS;
      if (fault === "full") throw this.#fault(new StoreFullError(new Error("no space left on device")));
      if (fault === "fail_once") throw this.#fault(unreachable());
      if (fault === "die_after" || fault === "lost") await write();
      if (fault === "lost") throw this.#fault(unreachable());
      if (fault === "die_before" || fault === "die_after") this.#die(process);
    }
    if (this.#world.now < this.#awayUntil) throw this.#fault(unreachable());
    return process.isAlive ? write() : new Promise<never>(() => undefined);
  }

  /** The faults of the story for an entry: of an ask, an answer or a result. */
  #faultsOf({ payload = {} }: EntryInput): readonly (readonly [name: string, fault: Fault])[] {
    const { role, content } = payload as { readonly role?: string; readonly content?: unknown };
    const text = JSON.stringify(payload);
    if (role === "user") {
      const label = /^Ask (\d+)\./.exec(String(content))?.[1];
      return label === undefined ? [] : [[`ask ${label}`, this.#story.asks[Number(label)]?.fault ?? "none"]];
    }
    if (role === "assistant") {
      const [, label, index] = /step_(\d+)_(\d+)/.exec(text) ?? [];
      return label === undefined ? [] : [[`answer ${label}.${index}`, this.#step(`${label}.${index}`).fault]];
    }
    const toolCallId = role === "tool" ? /step_\d+_\d+_\d+/.exec(text)?.[0] : undefined;
    return toolCallId === undefined ? [] : [[toolCallId, this.#call(toolCallId)?.fault ?? "none"]];
  }

  #fault(error: Error): Error {
    this.#storeFaults += 1;
    return error;
  }

  #die(process: StoryProcess): void {
    process.die();
    this.#deciding.clear();
    for (const name of this.#pending) this.outcomes.set(name, "died");
    this.#pending.clear();
  }

  /** Notes what becomes of a promise, as long as its process lives. The play waits for it, unless it is a command. */
  #follow<Value>(
    process: StoryProcess,
    name: string,
    promise: Promise<Value>,
    read: (value: Value) => string,
    kind: "awaited" | "command" = "awaited",
  ): void {
    this.outcomes.set(name, process.isAlive ? "no answer" : "died");
    if (kind === "awaited" && process.isAlive) this.#pending.add(name);
    const note = (outcome: string): void => {
      if (!process.isAlive) return;
      this.outcomes.set(name, outcome);
      this.#pending.delete(name);
      if (name === "stop") this.#die(process); // a new process follows
    };
    void promise.then(
      (value) => process.isAlive && note(read(value)),
      (error: unknown) => note(failure(error)),
    );
  }

  #count(name: string): number {
    const count = (this.#attempts.get(name) ?? 0) + 1;
    this.#attempts.set(name, count);
    return count;
  }

  #once(name: string): boolean {
    if (this.#done.has(name)) return false;
    this.#done.add(name);
    return true;
  }
}

function failure(error: unknown): string {
  const { code, name, cause } = Object(error) as { code?: string; name?: string; cause?: { code?: string } };
  return `${name} ${code}${cause?.code === undefined ? "" : `: ${cause.code}`}`;
}

function unreachable(): Error {
  return new StoreError({ code: "store_unreachable", retryable: true, message: "The store is away. Try again." });
}
