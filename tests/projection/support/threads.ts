import fc from "fast-check";
import type { ContextPolicyInput, Message, Thread, ToolSpec } from "heddle";
import type { PendingItem, ProjectionInput } from "../../../src/projection/input/input.ts";
import { naiveProject } from "./oracle/naive.ts";
import { anyGarbagePlan, anyPlan, grown, type Plan } from "./threads/thread.ts";
import { content, maybe, models, result, text } from "./threads/words.ts";

export { anyThread } from "./threads/thread.ts";

const kinds = ["message", "tool_call", "tool_result", "summary", "ai_message", "ai_context_operation"] as const;

/** Windows are small, so that most threads do not fit. */
export const anyPolicy: fc.Arbitrary<ContextPolicyInput> = fc
  .record(
    {
      maxInputTokens: fc.oneof(fc.integer({ min: 60, max: 250 }), fc.integer({ min: 100, max: 800 })),
      reserve: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 40 })),
      maxMessages: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 12 })),
      maxTurns: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 4 })),
      keepLastTurns: fc.nat({ max: 3 }),
      summarization: fc.constantFrom("none", "use_existing", "use_existing", "request_new"),
      summaryRole: fc.constantFrom("system", "user"),
      includeKinds: fc.oneof({ weight: 8, arbitrary: fc.constant(kinds) }, fc.subarray([...kinds], { minLength: 4 })),
      systemPrompt: fc.constantFrom("You are helpful.", "Short."),
      mode: fc.constantFrom("stable", "sliding"),
      step: fc.double({ min: 0.05, max: 1, noNaN: true }),
      keepLast: fc.nat({ max: 2 }),
      maxTokens: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })),
      thinking: fc.constantFrom("auto", "keep", "drop"),
      overflow: fc.constantFrom("error", "shrink"),
      summarizeThreshold: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 20 })),
      maxThreadTokens: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
    },
    { requiredKeys: ["maxInputTokens", "reserve", "mode", "step", "keepLast", "maxTokens"] },
  )
  .map(({ reserve, mode, step, keepLast, maxTokens, keepLastTurns, ...fields }): ContextPolicyInput => {
    const { maxTurns = 0, maxMessages = 0 } = fields;
    const ceilings = [maxTurns, maxMessages].filter((ceiling) => ceiling > 0);
    return {
      ...fields,
      ...(keepLastTurns !== undefined && { keepLastTurns: Math.min(keepLastTurns, ...ceilings) }),
      reserveOutputTokens: Math.floor((fields.maxInputTokens * reserve) / 100),
      window: { mode, step },
      toolResults: { keepLast, maxTokens },
    } as ContextPolicyInput;
  });

const tool: ToolSpec = { name: "search", description: "Finds yarn.", inputSchema: { type: "object" } };

/** The nth call from the end that is waited for; whether it has its result already does not matter. */
const resultFor = fc.record({ back: fc.nat({ max: 4 }), result });

type PlannedPending = PendingItem | { readonly back: number; readonly result: unknown };

const message: fc.Arbitrary<Message> = fc.oneof(
  content.map((content): Message => ({ role: "user", content })),
  fc.constant<Message>({ role: "assistant", content: "Well " }),
  fc.constant<Message>({
    role: "assistant",
    content: "",
    toolCalls: [{ id: "call_0", name: "search", arguments: {} }],
  }),
  fc.constantFrom(true, false).map(
    (approved): Message => ({
      role: "assistant",
      content: "",
      toolCalls: [{ id: "call_0", name: "search", arguments: {}, approval: { id: "a0", approved } }],
    }),
  ),
  fc.constant<Message>({ role: "tool", toolCallId: "call_0", name: "search", content: "found" }),
  fc.constant<Message>({ role: "system", content: "Be brief." }),
);

const item: fc.Arbitrary<PlannedPending> = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: message },
  { weight: 3, arbitrary: resultFor },
  content.map((content) => ({ kind: "message", payload: { role: "user", content }, refs: { requestId: "r1" } })),
);

function pendingOf(thread: Thread, planned: PlannedPending): PendingItem {
  if (typeof planned === "string" || !("back" in planned)) return planned;
  const { back, result } = planned;
  const calls = thread.toArray().flatMap(({ kind, payload, refs }) => {
    const made = kind === "tool_call" ? [payload] : Array.isArray(payload["toolCalls"]) ? payload["toolCalls"] : [];
    return made.map(({ id, name }) => ({ id, name, refs }));
  });
  const { id, name = "search", refs = {} } = calls.at(-1 - back) ?? {};
  const toolCallId = typeof id === "string" && { toolCallId: id };
  return { kind: "tool_result", payload: { ...toolCallId, name, result: result as string }, refs };
}

interface Rest {
  readonly policy: ContextPolicyInput;
  readonly pending: PlannedPending | readonly PlannedPending[] | undefined;
  readonly system: ProjectionInput["system"];
  readonly tools: readonly ToolSpec[] | undefined;
  readonly lane: string | undefined;
  readonly model: string | undefined;
}

const rest: fc.Arbitrary<Rest> = fc.record({
  policy: anyPolicy,
  pending: maybe(4, fc.oneof(item, fc.array(item, { maxLength: 3 }))),
  system: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    fc.constantFrom<ProjectionInput["system"]>("Be kind.", { prompt: "Be quick." }, {}, ""),
  ),
  tools: fc.constantFrom(undefined, undefined, [], [tool]),
  lane: maybe(1, fc.constantFrom("default", "side", "deep")),
  model: fc.constantFrom(undefined, ...models),
});

function inputOf(plan: Plan, { pending, ...rest }: Rest): ProjectionInput {
  const { policy, system, tools, model } = rest;
  const fingerprint = (thread: Thread): string => {
    try {
      return naiveProject({ thread, policy, system, tools, model }).meta.fingerprint;
    } catch {
      return "it did not fit";
    }
  };
  const thread = grown(plan, fingerprint);
  const isList = Array.isArray(pending);
  const planned = (isList ? pending : pending === undefined ? [] : [pending]) as readonly PlannedPending[];
  const items = planned.map((item) => pendingOf(thread, item));
  const given: Partial<ProjectionInput> = { ...rest, pending: isList ? items : items[0] };
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  const input: ProjectionInput = { thread, ...Object.fromEntries(fields) };
  return Object.defineProperty(input, fc.toStringMethod, { value: () => printed(input) });
}

/** A counterexample as one reads it: an entry a line. */
function printed({ thread, ...rest }: ProjectionInput): string {
  const lines = thread
    .toArray()
    .map(({ seq, kind, payload, refs, v }) => JSON.stringify([seq, kind, payload, refs, v]));
  return `${JSON.stringify(rest)}\n${lines.join("\n")}\n`;
}

/** A thread with a policy and everything else that a projection may be asked with. */
export const anyInput: fc.Arbitrary<ProjectionInput> = fc
  .tuple(anyPlan, rest)
  .map(([plan, rest]) => inputOf(plan, rest));

/** The same with entries that cannot be read. */
export const anyGarbageInput: fc.Arbitrary<ProjectionInput> = fc
  .tuple(anyGarbagePlan, rest)
  .map(([plan, rest]) => inputOf(plan, rest));
