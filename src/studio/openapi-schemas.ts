import type { JsonObject } from "../thread/json.ts";
import type { ThreadData } from "../thread/thread-data.ts";
import type { Branches } from "./branches.ts";
import type {
  AccessCode,
  AccessToken,
  AskAccepted,
  CallDetail,
  CallDiff,
  CallPage,
  CallRow,
  CallWire,
  CancelResult,
  Cause,
  DecisionResult,
  DeleteResult,
  EntryWindow,
  ForkRow,
  Info,
  OperationResult,
  Problem,
  SteerResult,
  SuggestedPrompt,
  SummaryResult,
  ThreadDetail,
  ThreadRow,
  ThreadRowPage,
  ThreadView,
} from "./contract.ts";

type Optional<Shape> = { [Name in keyof Shape]-?: object extends Pick<Shape, Name> ? Name : never }[keyof Shape];
type Fields<Names extends PropertyKey> = { readonly [Name in Names]: JsonObject };

const text: JsonObject = { type: "string" };
const whole: JsonObject = { type: "integer" };
const flag: JsonObject = { type: "boolean" };
const object: JsonObject = { type: "object" };
const list = (items: JsonObject = object): JsonObject => ({ type: "array", items });
const words = (...some: readonly string[]): JsonObject => ({ type: "string", enum: [...some] });
const described = (schema: JsonObject, description: string): JsonObject => ({ ...schema, description });

/**
 * Builds the JSON schema of a type: required fields, then optional ones. The compiler rejects missing and extra fields.
 */
function shape<Shape>(
  needed: Fields<Exclude<keyof Shape, Optional<Shape>>>,
  ...[optional]: [Optional<Shape>] extends [never] ? [] : [Fields<Optional<Shape>>]
): JsonObject {
  return { type: "object", properties: { ...needed, ...optional }, required: Object.keys(needed) };
}

const LIVE = described(flag, "This process runs or holds an open request. `status` is that of all processes.");
const ROW = { id: text, title: text, live: LIVE, rev: whole, createdAt: whole, updatedAt: whole } as const;
const ROW_MAY = { status: text, agent: text, parentThreadId: text, forkSeq: whole } as const;
const SHOWN = { messages: list(), toolSpec: list(), provenance: list() } as const;

const trouble = shape<Problem>({ code: text, message: text });
const cause = shape<Cause>({ rule: text, why: text });
const entry = shape<EntryWindow["entries"][number]>(
  { id: text, seq: whole, at: whole, kind: text, payload: object, refs: object },
  { v: whole },
);
const threadRow = shape<ThreadRow>(ROW, ROW_MAY);
const waiting: JsonObject = {
  type: "object",
  properties: {
    toolCallId: text,
    name: text,
    arguments: {},
    kind: words("approval", "answer", "sleep"),
    deadline: whole,
  },
  required: ["toolCallId", "name", "arguments", "kind"],
};
const callRow = shape<CallRow>(
  {
    ...{ callId: text, seq: whole, at: whole, estimatedTokens: whole, usage: object, finishReason: text },
    ...{ fingerprint: text, basisLastSeq: whole, lane: text, view: object },
  },
  { requestId: text, iteration: whole, model: text, error: trouble },
);

/** The schemas of the answers of the API. */
export const SCHEMAS = {
  Error: {
    type: "object",
    properties: {
      error: {
        type: "object",
        properties: {
          ...{ code: text, message: text, retryable: flag },
          ...{ needed: whole, available: whole, parts: object },
        },
        required: ["code", "message", "retryable"],
      },
    },
    required: ["error"],
  },
  Info: shape<Info>({
    ...{ name: text, version: text, readOnly: flag, demo: flag, model: text, agent: text },
    agents: list(shape<Info["agents"][number]>({ name: text, model: text, tools: list(text) })),
    tools: list(shape<Info["tools"][number]>({ name: text }, { description: text })),
    prompts: list(shape<SuggestedPrompt>({ title: text, text }, { next: list(text) })),
    store: text,
    providers: list(text),
    importLimit: described(whole, "The largest import, in bytes."),
  }),
  ThreadRow: threadRow,
  ThreadPage: shape<ThreadRowPage>(
    { threads: list(threadRow) },
    {
      cursor: described(text, "For the next page. After a search that stopped early: to continue the search."),
      searchedTo: described(
        whole,
        "Set if the search took too long: it stopped at a thread of this time. `cursor` continues it.",
      ),
    },
  ),
  ThreadDetail: shape<ThreadDetail>(
    { ...ROW, lanes: list(text), activeLane: text, forks: list(shape<ForkRow>({ id: text, forkSeq: whole })) },
    {
      ...ROW_MAY,
      request: shape<NonNullable<ThreadDetail["request"]>>(
        {
          ...{ id: text, iteration: whole, state: words("running", "waiting", "done") },
          waiting: list(waiting),
        },
        { agent: text },
      ),
      branches: described(
        shape<Branches>({ hidden: list(list(whole)), siblings: object }),
        "Set if other branches have entries that the active one does not have: their ranges, and the siblings of messages.",
      ),
    },
  ),
  Entry: entry,
  EntryWindow: shape<EntryWindow>(
    { entries: list(entry), rev: whole },
    {
      searched: described(
        shape<NonNullable<EntryWindow["searched"]>>({ from: whole, to: whole }),
        "With `kinds` or `lane`: the searched range, both ends included. Continue before `from` or after `to`.",
      ),
    },
  ),
  Tail: shape<ThreadData>(
    {
      ...{ format: text, id: text, rev: whole, createdAt: whole, updatedAt: whole, metadata: object },
      entries: list(entry),
    },
    { firstSeq: whole, base: described(object, "Facts about the entries before `firstSeq`, which projection needs.") },
  ),
  View: shape<ThreadView>({ ...SHOWN, meta: object, explained: list(), policy: object }),
  CallRow: callRow,
  CallPage: shape<CallPage>({ calls: list(callRow) }, { searchedTo: whole }),
  CallDetail: shape<CallDetail>(
    {
      ...SHOWN,
      ...{ callId: text, call: callRow, record: object, settings: object, explained: list() },
      heldSettings: list(entry),
      ...{ transformed: flag, proven: flag },
    },
    {
      ...{ meta: object, policy: object, environment: object, problem: trouble },
      previous: shape<NonNullable<CallDetail["previous"]>>(
        { callId: text, stablePrefix: whole },
        {
          firstChange: {
            type: "object",
            properties: { index: whole, rule: text, why: text },
            required: ["index", "rule", "why"],
          },
        },
      ),
    },
  ),
  Wire: shape<CallWire>({ provider: text, proven: flag, body: {} }),
  Diff: shape<CallDiff>(
    {
      same: described(whole, "How many messages both share at the start."),
      a: list(),
      b: list(),
      changes: list(
        shape<CallDiff["changes"][number]>(
          { index: whole, kind: words("same", "added", "removed", "changed") },
          { a: described(whole, "Index in `a`."), b: described(whole, "Index in `b`.") },
        ),
      ),
      causes: list(cause),
    },
    { problem: trouble },
  ),
  Asked: shape<AskAccepted>({ requestId: text }),
  Steered: shape<SteerResult>({ id: text, accepted: flag }, { reason: text }),
  Cancelled: shape<CancelResult>({ cancelled: flag }),
  Decided: shape<DecisionResult>({ decided: flag }),
  Operated: shape<OperationResult>({ opId: text, status: words("applied", "deferred", "duplicate") }),
  SummaryResult: shape<SummaryResult>({ seq: whole }),
  Deleted: shape<DeleteResult>({ deleted: flag }),
  Entered: shape<AccessToken>({ token: text }),
  MintedCode: shape<AccessCode>({ code: text }),
} as const;
