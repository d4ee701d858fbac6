import { ContextOpError, type ContextOpErrorCode } from "../../lanes/context-operation.ts";
import { SettingError } from "../../lanes/setting.ts";
import { HeddleError, ThreadError } from "../../thread/errors.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import type { Setting } from "../../thread/kinds.ts";
import type { Brought, RemoteCall } from "../live/live.ts";
import type { Loop } from "../loop.ts";
import type { PerformedCall } from "../perform/scene.ts";
import type { AgentRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { AskOptions, SettingOptions } from "./options.ts";
import { makeAgain, ValueFunctionError } from "./request-values.ts";
import { set } from "./set.ts";

/** The methods that another process may call. Each is safe to repeat with the same arguments, because a call may be performed twice. */
const METHODS = [
  "ask",
  "continueRequest",
  "cancel",
  "finish",
  "steer",
  "inject",
  "followUp",
  "modifyContext",
  "branch",
  "switchBranch",
  "cutAnswer",
  "summarize",
  "setContextPolicy",
  "setSystemPrompt",
  "setModel",
  "setMode",
  "unregisterTool",
  "revokeRule",
] as const;

type Method = (typeof METHODS)[number];

/** The server of a thread. */
type CalledServer = { readonly [Name in Method]: (...args: never[]) => Promise<unknown> };

/** The part of an answer that is data. The caller's process makes requests and promises again, from the log. */
function dataOf(method: string, answer: unknown): JsonValue {
  if (method === "ask" || method === "continueRequest") return (answer as AgentRequest).id; // as these methods answer
  if (!isPlainObject(answer)) return answer as JsonValue; // a boolean, or a list of waiting commands
  const data = Object.entries(answer).filter(([, value]) => !(value instanceof Promise));
  return Object.fromEntries(data) as JsonObject; // all other values of these answers are JSON
}

/** A setting that the caller has checked, such as a tool whose code is in that process. */
type SetArguments = [setting: Setting, options: SettingOptions];

/** The codes of a process that stops. The call stays in the inbox, for the next one. */
const NOT_ENDED = new Set(["server_stopped", "request_suspended", "stale_holder", "thread_held", "store_closed"]);

/** Performs a call of another process. Undefined when this process could not end it. */
export async function performCall(
  server: CalledServer,
  loop: Loop,
  { method, args, isLocal, brought }: RemoteCall,
): Promise<PerformedCall | undefined> {
  try {
    const known = METHODS.find((name) => name === method);
    if (known === undefined && method !== "set") throw unknownMethod(method);
    if (isLocal) throw notSent();
    const sent = args.map((arg) => (Array.isArray(arg) ? arg[0] : undefined));
    const given = (brought === undefined ? sent : await broughtAgain(loop, sent, brought)) as never[]; // checked by the method, as those of any caller
    const answer = await (known === undefined
      ? set(loop, ...(given as unknown as SetArguments))
      : server[known](...given));
    return { outcome: { status: "answered", value: dataOf(method, answer) } };
  } catch (error) {
    if (HeddleError.isInstance(error) && NOT_ENDED.has(error.code)) return undefined;
    return { outcome: { status: "failed", error: storedError(error) } };
  }
}

/** The arguments of an ask, with the values that the functions of this host make again. */
async function broughtAgain(
  { options, hookLimit }: Loop,
  sent: readonly unknown[],
  { context, headers }: Brought,
): Promise<readonly unknown[]> {
  const asked = sent.at(-1) as AskOptions; // its options
  const about = { refs: asked.refs ?? {}, asked: headers === undefined ? {} : { askedHeaders: headers } };
  const made = await makeAgain({ ...options, tools: undefined }, about, hookLimit).catch((error: unknown) => {
    throw error instanceof ValueFunctionError ? new RequestError({ code: error.code, message: error.message }) : error;
  });
  if ((context && made.context === undefined) || (headers && made.headers === undefined)) throw notSent();
  return [
    ...sent.slice(0, -1),
    { ...asked, ...(context && { context: made.context }), ...(headers && { headers: made.headers }) },
  ];
}

function notSent(): RequestError {
  const message =
    "Another process runs a request on this thread, and `context`, `tools` or other values of this ask cannot be sent to it. Ask again after the end of the request.";
  return new RequestError({ code: "busy", retryable: true, message });
}

function unknownMethod(method: string): RequestError {
  const message = `This process does not know the method ${JSON.stringify(method)}. Deploy the same version everywhere.`;
  return new RequestError({ code: "command_invalid", message });
}

/** The arguments of a call as JSON: each is a list, which is empty for undefined. Undefined when one is not JSON. */
export function portableArguments(args: readonly unknown[]): readonly JsonValue[] | undefined {
  try {
    return args.map((arg) =>
      arg === undefined ? [] : [copyJsonRepaired(withoutDates(arg), "argument")],
    ) as JsonValue[]; // checked while it is copied
  } catch {
    return undefined;
  }
}

/** Options may have dates, and fields that are undefined. */
function withoutDates(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(withoutDates);
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutDates(field)]));
}

/** The facts of an error that are data. */
function storedError(error: unknown): JsonObject {
  if (!HeddleError.isInstance(error)) return { name: "RequestError", code: "runtime_failed", message: INTERNAL };
  const { name, code, message, retryable } = error;
  const { requestId, path } = error as Partial<Pick<RequestError, "requestId"> & Pick<ThreadError, "path">>; // if it has them
  return {
    name,
    code,
    message,
    retryable,
    ...(requestId !== undefined && { requestId }),
    ...(path !== undefined && { path }),
  };
}

const INTERNAL = "The call met an unexpected error in the process that holds the thread. Its `onError` has it.";

/** The error of a call that failed in another process, with the class and the code that it had there. */
export function errorOf(stored: JsonValue | undefined): HeddleError {
  const { name, code, message, retryable, requestId, path } = isPlainObject(stored) ? stored : {};
  const facts = { code: String(code), message: String(message), retryable: retryable === true };
  const at = typeof path === "string" ? { path } : {};
  if (name === "ContextOpError") return new ContextOpError({ ...facts, ...at, code: facts.code as ContextOpErrorCode }); // as it was there
  if (name === "SettingError") return new SettingError({ ...facts, ...at, code: facts.code as never }); // as it was there
  if (name === "ThreadError") return new ThreadError({ ...facts, ...at });
  return new RequestError({ ...facts, ...(typeof requestId === "string" && { requestId }) });
}
