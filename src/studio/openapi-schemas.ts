import type { JsonObject } from "../thread/json.ts";

type Properties = { readonly [name: string]: JsonObject };

const text: JsonObject = { type: "string" };
const whole: JsonObject = { type: "integer" };
const flag: JsonObject = { type: "boolean" };
const object: JsonObject = { type: "object" };
const list = (items: JsonObject = object): JsonObject => ({ type: "array", items });
/** All of `needed` have to be there, of `optional` none. */
const shape = (needed: Properties, optional: Properties = {}): JsonObject => ({
  type: "object",
  properties: { ...needed, ...optional },
  required: Object.keys(needed),
});

const ROW = {
  needed: { id: text, title: text, live: flag, rev: whole, createdAt: whole, updatedAt: whole },
  optional: { status: text, agent: text, parentThreadId: text, forkSeq: whole },
} as const;

const SHOWN = { messages: list(), toolSpec: list(), provenance: list() } as const;
const CAUSE = shape({ rule: text, why: text });

/** What the answers of the API are made of. */
export const SCHEMAS = {
  Error: shape({
    error: shape({ code: text, message: text, retryable: flag }, { needed: whole, available: whole, parts: object }),
  }),
  Info: shape({
    name: text,
    version: text,
    readOnly: flag,
    demo: flag,
    model: text,
    agent: text,
    tools: list(),
    prompts: list(shape({ title: text, text }, { next: list(text) })),
    store: text,
    providers: list(text),
  }),
  ThreadRow: shape(ROW.needed, ROW.optional),
  ThreadDetail: shape(
    { ...ROW.needed, lanes: list(text), activeLane: text, forks: list(shape({ id: text, forkSeq: whole })) },
    {
      ...ROW.optional,
      request: shape({
        id: text,
        state: text,
        iteration: whole,
        waiting: list(
          shape({
            toolCallId: text,
            name: text,
            arguments: {},
            kind: { type: "string", enum: ["approval", "answer"] },
          }),
        ),
      }),
    },
  ),
  Entry: shape({ id: text, seq: whole, at: whole, kind: text, payload: object, refs: object }, { v: whole }),
  View: shape({ ...SHOWN, meta: object, explained: list(), policy: object }),
  CallRow: shape(
    {
      callId: text,
      seq: whole,
      at: whole,
      estimatedTokens: whole,
      usage: object,
      finishReason: text,
      fingerprint: text,
      basisLastSeq: whole,
    },
    { requestId: text, iteration: whole, model: text, lane: text, view: object, error: object },
  ),
  CallDetail: shape(
    { call: object, record: object, ...SHOWN, settings: object, explained: list(), transformed: flag, proven: flag },
    {
      meta: object,
      policy: object,
      environment: object,
      problem: shape({ code: text, message: text }),
      previous: shape(
        { callId: text, stablePrefix: whole },
        { firstChange: shape({ index: whole, rule: text, why: text }) },
      ),
    },
  ),
  Diff: shape(
    {
      same: { ...whole, description: "How many messages both begin with." },
      a: list(),
      b: list(),
      changes: list(
        shape(
          { index: whole, kind: { type: "string", enum: ["same", "added", "removed", "changed"] } },
          { a: { ...whole, description: "Index in `a`." }, b: { ...whole, description: "Index in `b`." } },
        ),
      ),
      causes: list(CAUSE),
    },
    { problem: object },
  ),
} as const;
