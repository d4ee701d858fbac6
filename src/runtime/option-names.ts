import { checkAgent, UNNAMED } from "../agent/definition/define-agent.ts";
import { AgentError } from "../agent/definition/errors.ts";
import { describe, isPlainObject } from "../thread/json.ts";
import { checkName, type OptionNames, refuseUnknownOptions } from "../thread/options.ts";
import { Thread } from "../thread/thread.ts";
import type { AdvanceOptions } from "./host/advance.ts";
import type {
  AgentChoice,
  HostGetOptions,
  HostOptions,
  TenantWorkOptions,
  ThreadReadOptions,
  WaitingListOptions,
  WorkOptions,
} from "./host/options.ts";
import { RequestError } from "./request/request-error.ts";
import type {
  AnswerOptions,
  AnyAskOptions,
  ApproveOptions,
  CancelRequestOptions,
  CommandChange,
  CutOptions,
  DecideOptions,
  Decider,
  InjectOptions,
  ResultOptions,
  SenderOptions,
  ServerOptions,
  SettingOptions,
  SteerOptions,
  StopOptions,
} from "./server/options.ts";
import type { SummarizeOptions } from "./server/summarize-range.ts";
import type { CancelOptions, ContinueOptions, RunOptions } from "./standalone/options.ts";

// Unknown names are refused, so that a typo cannot disable an option in code without types.

const ASK: OptionNames<AnyAskOptions> = {
  context: true,
  contextPolicy: true,
  tools: true,
  allowedTools: true,
  maxIterations: true,
  branch: true,
  queue: true,
  maxOutputTokens: true,
  temperature: true,
  topP: true,
  stopSequences: true,
  seed: true,
  reasoning: true,
  toolChoice: true,
  providerOptions: true,
  limits: true,
  at: true,
  deadline: true,
  mode: true,
  model: true,
  headers: true,
  output: true,
  requestId: true,
  idempotencyRef: true,
  refs: true,
  author: true,
  owner: true,
  display: true,
  signal: true,
};

const SERVER: OptionNames<ServerOptions<never>> = {
  agent: true,
  store: true,
  threadId: true,
  context: true,
  tools: true,
  resolveTool: true,
  resolveModel: true,
  headers: true,
  onNeedsSummary: true,
  signal: true,
  holder: true,
  leaseTtlMs: true,
  claimWaitMs: true,
  telemetry: true,
  warn: true,
  onError: true,
  ports: true,
};

const { threadId: _ofOne, signal: _ofStart, ...SHARED } = SERVER;
const HOST: OptionNames<HostOptions<never>> = {
  ...SHARED,
  agents: true,
  idleMs: true,
  scheduler: true,
  titles: true,
  bus: true,
  revocations: true,
};

const HOST_ASK: OptionNames<AnyAskOptions & AgentChoice> = { ...ASK, agent: true };
const RUN: OptionNames<RunOptions<never>> = {
  ...ASK,
  thread: true,
  store: true,
  threadId: true,
  telemetry: true,
  warn: true,
  onError: true,
  ports: true,
};

const THREAD: OptionNames<ThreadReadOptions> = { whole: true };
const GET: OptionNames<HostGetOptions> = { agent: true, context: true, tools: true, signal: true, claimWaitMs: true };

/** The options that continuing and cancelling a run share. */
const TOKEN = {
  context: true,
  store: true,
  telemetry: true,
  warn: true,
  onError: true,
  ports: true,
  revocations: true,
} as const;

const CONTINUE: OptionNames<ContinueOptions<never>> = {
  ...TOKEN,
  tools: true,
  headers: true,
  signal: true,
  approve: true,
  deny: true,
  answers: true,
  query: true,
};

const CUT: OptionNames<CutOptions> = {
  requestId: true,
  entryId: true,
  characters: true,
  spoken: true,
  opId: true,
  source: true,
  refs: true,
};

const CANCEL: OptionNames<CancelOptions<never>> = { ...TOKEN, reason: true };

interface Placed {
  readonly store?: unknown;
}

interface Parts {
  readonly agent: unknown;
  readonly store: unknown;
}

export function checkAskOptions(options: object): void {
  checkNames("An ask", options, ASK);
}

export function checkHostAskOptions(options: object): void {
  checkNames("An ask", options, HOST_ASK);
}

const COMMAND: OptionNames<SenderOptions> = { source: true, refs: true };
const DECIDER: OptionNames<Decider> = { ...COMMAND, by: true, reason: true };
const DECIDE: OptionNames<DecideOptions> = { ...DECIDER, requestId: true, author: true, remember: true };
const APPROVE: OptionNames<ApproveOptions> = { ...DECIDE, arguments: true };
const REMEMBER: OptionNames<NonNullable<DecideOptions["remember"]>> = { tool: true, pattern: true, scope: true };
const SCOPES: readonly unknown[] = ["request", "lane", "thread", undefined];
const SETTING: OptionNames<SettingOptions> = { ...DECIDER, lane: true, opId: true };
const MESSAGE = { ...COMMAND, requestId: true, id: true } as const;
const INJECT: OptionNames<InjectOptions> = { ...MESSAGE, key: true, wake: true };
const STEER: OptionNames<SteerOptions> = { ...MESSAGE, author: true, display: true };
const WAITING: OptionNames<WaitingListOptions> = { kind: true, limit: true, cursor: true };
const STOP: OptionNames<StopOptions> = { graceMs: true };
const RESULT: OptionNames<ResultOptions> = { timeoutMs: true };

export function checkDecider(what: "approve" | "deny", toolCallId: unknown, options: object): void {
  checkToolCallId(toolCallId);
  checkNames(what, options, what === "approve" ? APPROVE : DECIDE);
  const { remember, requestId } = options as DecideOptions;
  checkTexts({ requestId });
  if (remember === undefined) return;
  checkNames("remember", remember, REMEMBER);
  if (SCOPES.includes(remember.scope)) return;
  throw new RequestError({ code: "invalid_options", message: "remember.scope must be request, lane or thread." });
}

export function checkWaitingOptions(options: object): void {
  checkNames("waiting", options, WAITING);
  const { kind, cursor }: { readonly kind?: unknown; readonly cursor?: unknown } = options; // of a caller without types
  checkTexts({ cursor });
  if (![undefined, "approval", "answer", "sleep"].includes(kind as string))
    throw invalid('kind must be "approval", "answer" or "sleep".');
}

export function checkRevokeOptions(options: object): void {
  checkNames("revokeRule", options, DECIDER);
}

export function checkCutOptions(options: object): void {
  checkNames("cutAnswer", options, CUT);
}

export function checkSettingOptions(what: string, options: object): void {
  checkNames(what, options, SETTING);
}

export function checkSteerOptions(what: string, options: object): void {
  checkNames(what, options, what === "inject" ? INJECT : what === "steer" ? { ...STEER, skip: true } : STEER);
  for (const [name, value] of Object.entries(options)) {
    const isFine = (name !== "skip" && name !== "wake") || value === undefined || typeof value === "boolean";
    if (!isFine) throw invalid(`${name} must be true or false.`);
  }
}

/** The person who decides, of a caller without types. */
export function checkBy(by: unknown): void {
  if (by !== undefined && typeof by !== "string") throw invalid("by must be text: the name of a person.");
}

export function checkAnswer(toolCallId: unknown, options: AnswerOptions): void {
  checkToolCallId(toolCallId);
  checkNames("answer", options, { ...COMMAND, by: true, requestId: true });
  checkTexts({ requestId: options.requestId });
  checkBy(options.by);
}

function checkToolCallId(toolCallId: unknown): void {
  if (typeof toolCallId !== "string") throw invalid("toolCallId must be text: that of a call in `waiting`.");
}

export function checkCancelRequest(texts: { readonly [name: string]: unknown }, options: CancelRequestOptions): void {
  checkNames("cancel", options, { ...COMMAND, pending: true, spoken: true });
  const { spoken } = options;
  checkTexts({ ...texts, spoken });
  if (spoken !== undefined && texts["requestId"] === undefined) {
    throw invalid("spoken needs a requestId.");
  }
  const pending: unknown = options.pending; // of a caller without types
  if (pending === undefined || ["keep", "drop", "return"].includes(String(pending))) return;
  throw new RequestError({ code: "invalid_options", message: 'pending must be "keep", "drop" or "return".' });
}

/** Arguments that are text, or left out. */
export function checkTexts(given: { readonly [name: string]: unknown }): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || typeof value === "string") continue;
    const message = `${name} must be text, not ${describe(value)}. Options come after it.`;
    throw new RequestError({ code: "invalid_options", message });
  }
}

const CHANGE: OptionNames<CommandChange> = { content: true, at: true };

export function checkCommandChange(change: object): void {
  checkNames("amend", change, CHANGE);
  if (Object.values(change).every((value) => value === undefined)) throw invalid("amend needs a content, or { at }.");
}

const ADVANCE: OptionNames<AdvanceOptions> = { untilMs: true };

export function checkAdvanceOptions(options: object): void {
  checkNames("advance", options, ADVANCE);
  checkDuration("untilMs", (options as AdvanceOptions).untilMs);
}

export function checkStopOptions(options: object): void {
  checkNames("stop", options, STOP);
  checkDuration("graceMs", (options as StopOptions).graceMs);
}

export function checkResultOptions(options: object): void {
  checkNames("result", options, RESULT);
  checkDuration("timeoutMs", (options as ResultOptions).timeoutMs);
}

const SUMMARIZE: OptionNames<SummarizeOptions> = { fromSeq: true, toSeq: true, focus: true, signal: true };

export function checkSummarizeOptions(options: object): void {
  checkNames("summarize", options, SUMMARIZE);
  const { focus } = options as SummarizeOptions;
  if (focus === undefined || typeof focus === "string") return;
  throw new RequestError({
    code: "invalid_options",
    message: "focus must be text: what the summary should keep most of.",
  });
}

export function checkContextOperation(operation: object): void {
  checkNames("modifyContext", operation, { opId: true, contextRef: true, operation: true });
}

export function checkBranchOptions(options: object): void {
  checkNames("branch", options, { at: true, before: true, lane: true, opId: true });
}

/**
 * Checks the options of a stream. A turn of `chatTurn` may be passed as it is: `thread` is an option, `request` and
 * `joined` are ignored.
 */
export function checkStreamOptions(what: string, options: object, names: { readonly [name: string]: true }): void {
  const { request: _source, joined: _joined, ...own } = options as { readonly [name: string]: unknown }; // an object
  checkNames(what, own, names);
  const { onError, data, metadata, messageMetadata } = own;
  checkFunctions({ onError, data, metadata, messageMetadata });
}

export function checkUIOptions(what: string, options: object, names: { readonly [name: string]: true }): void {
  checkNames(what, options, names);
}

export function checkThreadOptions(options: object): void {
  checkNames("thread", options, THREAD);
}

export function checkGetOptions(options: object): void {
  checkNames("get", options, GET);
}

export function checkRunOptions(options: Placed & { readonly thread?: unknown }): void {
  checkPlaced("A run", options, RUN);
  if ("at" in options && options.at !== undefined)
    throw invalid("at needs a server or a host, which waits for the time.");
  if (options.thread === undefined || Thread.isThread(options.thread)) return;
  throw invalid("thread must be a Thread; of messages Thread.fromMessages(list, { format }) makes one.");
}

export function checkContinueOptions(options: Placed): void {
  checkPlaced("A continued run", options, CONTINUE);
}

export function checkCancelOptions(options: Placed): void {
  checkPlaced("A cancelled run", options, CANCEL);
}

function checkPlaced(what: string, options: Placed, names: { readonly [name: string]: true }): void {
  checkNames(what, options, names);
  if (options.store !== undefined) checkStore(options.store);
}

export function checkServerOptions(options: Parts & ClaimOptions): void {
  checkNames("A server", options, SERVER);
  checkCallbacks(options as object);
  checkAgent("agent", options.agent);
  checkStore(options.store);
  checkClaim(options);
}

const WORK: OptionNames<WorkOptions> = {
  concurrency: true,
  rate: true,
  modelCalls: true,
  agents: true,
  version: true,
  mayStart: true,
  signal: true,
};

export function checkTenantWorkOptions(options: TenantWorkOptions, known: ReadonlyMap<string, unknown>): void {
  checkWorkOptions(options, known, { ...WORK, perTenant: true });
  checkFrom1("perTenant", options.perTenant);
}

export function checkWorkOptions(
  options: WorkOptions,
  known: ReadonlyMap<string, unknown>,
  names: { readonly [name: string]: true } = WORK,
): void {
  checkNames("work", options, names);
  checkFrom1("concurrency", options.concurrency);
  checkFrom1("version", options.version);
  const { agents, rate, modelCalls, mayStart } = options;
  if (rate !== undefined) {
    checkNames("rate", rate, { calls: true, perMs: true });
    checkFrom1("rate.calls", rate.calls ?? 0);
    checkFrom1("rate.perMs", rate.perMs ?? 0);
  }
  if (modelCalls !== undefined && !isPlainObject(modelCalls))
    throw invalid('modelCalls must be an object of numbers, such as { "openai": 200 }.');
  for (const [name, calls] of Object.entries(modelCalls ?? {}))
    checkFrom1(`modelCalls[${JSON.stringify(name)}]`, calls);
  if (mayStart !== undefined && typeof mayStart !== "function") throw invalid("mayStart must be a function.");
  if (agents === undefined) return;
  const isList = Array.isArray(agents) && agents.length > 0 && agents.every((name) => known.has(name));
  if (!isList) throw invalid(`agents must be names of agents of this host: ${[...known.keys()].join(", ")}.`);
}

export function checkHostOptions(options: HostParts): void {
  checkNames("A host", options, HOST);
  checkCallbacks(options as object);
  checkDuration("idleMs", options.idleMs);
  const { scheduler } = options as { readonly scheduler?: unknown };
  if (scheduler !== undefined && typeof Object(scheduler).wake !== "function")
    throw invalid("scheduler must be an object with a function wake(threadId, at).");
  const { bus } = options as { readonly bus?: unknown };
  const { publish, subscribe } = Object(bus) as { readonly publish?: unknown; readonly subscribe?: unknown };
  if (bus !== undefined && !(typeof publish === "function" && typeof subscribe === "function"))
    throw invalid("bus must be an object with functions publish(message) and subscribe(listen).");
  const { titles } = options as { readonly titles?: unknown };
  if (titles !== undefined && typeof titles !== "boolean") {
    if (!isPlainObject(titles)) throw invalid("titles must be true, false or an object of options.");
    checkNames("titles", titles, { model: true, instructions: true, write: true });
    if (titles["write"] !== undefined && typeof titles["write"] !== "function")
      throw invalid("titles.write must be a function that returns a title.");
  }
  if (options.agents === undefined) checkAgent("agent", options.agent);
  else checkAgents(options.agents, options.agent);
  checkStore(options.store);
  checkClaim(options);
}

interface HostParts extends ClaimOptions, Pick<HostOptions<never>, "idleMs" | "store"> {
  readonly agent?: unknown;
  readonly agents?: unknown;
}

/** The name of an agent is a part of a store row, so it has the same rule. */
function checkAgents(agents: unknown, agent: unknown): void {
  const isList = Array.isArray(agents);
  const list = Object.entries(Object(agents));
  if (agent !== undefined) throw invalid("A host has either one `agent` or several `agents`.");
  if (list.length === 0) throw invalid("agents must be an object of agents by name, or a list of agents with names.");
  const names = new Set<string>();
  for (const [key, each] of list) {
    const path = `agents.${key}`;
    checkAgent(path, each);
    const name = isList ? each.name : key;
    checkName(path, name);
    if (names.size === names.add(name).size) throw invalid(`Two of agents have the name ${JSON.stringify(name)}.`);
    if (each.name === name || each.name === UNNAMED) continue;
    const message = `${path} has the name ${JSON.stringify(each.name)}. Make it the key, or remove the name of the agent.`;
    throw new AgentError({ code: "invalid_agent", path, message });
  }
}

type ClaimOptions = Pick<ServerOptions<never>, "holder" | "leaseTtlMs" | "claimWaitMs">;

/** Checked here, because the store would refuse them only with the first thread, and under other names. */
function checkClaim({ holder, leaseTtlMs, claimWaitMs }: ClaimOptions): void {
  if (holder !== undefined) checkName("holder", holder);
  checkFrom1("leaseTtlMs", leaseTtlMs);
  checkDuration("claimWaitMs", claimWaitMs);
}

export function checkFrom1(name: string, value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= 1)) return;
  throw invalid(`${name} must be a whole number from 1.`);
}

export function checkDuration(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw invalid(`${name} must be a number of milliseconds from 0.`);
}

function checkNames(what: string, options: unknown, names: { readonly [name: string]: true }): void {
  refuseUnknownOptions(what, options, names, invalid);
  const { signal } = options as { readonly signal?: unknown }; // an object
  if (signal === undefined || typeof Object(signal).addEventListener === "function") return;
  throw invalid(`signal must be an AbortSignal, not ${describe(signal)}.`);
}

const CALLBACKS = [
  "context",
  "tools",
  "headers",
  "resolveTool",
  "resolveModel",
  "onNeedsSummary",
  "warn",
  "onError",
] as const;

/** Of a caller without types. A value in place of a function would fail only with the first request that needs it. */
function checkCallbacks(options: { readonly [Name in (typeof CALLBACKS)[number]]?: unknown }): void {
  checkFunctions(Object.fromEntries(CALLBACKS.map((name) => [name, options[name]])));
}

/** Of a caller without types, as above. */
export function checkFunctions(given: { readonly [name: string]: unknown }): void {
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined && typeof value !== "function") {
      throw invalid(`${name} must be a function, not ${describe(value)}.`);
    }
  }
}

export function checkStore(store: unknown): void {
  if (typeof Object(store).append === "function" && typeof Object(store).claim === "function") return;
  if (typeof Object(store).then === "function") throw invalid("store is a promise; await it: `await openStore(url)`.");
  throw invalid("store must be a ThreadStore, such as memoryStore() or `await openStore(url)`.");
}

export function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
