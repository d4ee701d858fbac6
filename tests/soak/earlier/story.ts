import fc from "fast-check";

/** A story fixes by step what the model answers, which commands come and which faults happen. It is plain data. */
export interface Story {
  readonly agent: AgentSettings;
  readonly asks: readonly StoryAsk[];
}

interface AgentSettings {
  readonly maxIterations: number;
  readonly streaming: boolean;
  readonly busy: "reject" | "queue";
  readonly toolConcurrency: number;
  readonly recover: "resume" | "fail";
  readonly modelMaxRetries: number;
  readonly toolMaxRetries: number;
  /** Tokens of the window. */
  readonly maxInputTokens: number;
  readonly autoSummarize: boolean;
}

interface StoryAsk {
  /** Commands that come before the ask, while no request runs. */
  readonly before: readonly Command[];
  /** The store's fault when the ask is appended. */
  readonly fault: Fault;
  /** One for each iteration. After the last one the model answers with a text. */
  readonly steps: readonly Step[];
}

/** One iteration of a request. */
export interface Step {
  readonly answer: "text" | "long" | "empty" | "cut_by_length" | "empty_by_length";
  readonly calls: readonly Call[];
  /** How the first attempts of the model call fail. */
  readonly troubles: readonly Trouble[];
  /** Commands that come while the model is called for the first time. */
  readonly commands: readonly Command[];
  /** The store's fault when the answer is appended. */
  readonly fault: Fault;
}

export interface Call {
  readonly tool: (typeof TOOLS)[number];
  /** What a person does when the call waits. */
  readonly decision: "yes" | "no" | Command;
  /** Commands that come while the tool runs. */
  readonly commands: readonly Command[];
  /** The store's fault when the result is appended. */
  readonly fault: Fault;
}

export type Trouble = "busy" | "down" | "refused" | "too_long" | "cut" | "hang_up" | "stall";
export type Fault = "none" | "fail_once" | "fail_long" | "full" | "lost" | "die_before" | "die_after";
/** Settings are not among them: they became entries, so the earlier runtime is no oracle for them. */
export type Command =
  | "steer"
  | "inject"
  | "follow_up"
  | "cancel"
  | "finish"
  | "ask"
  | "reset"
  | "replace"
  | "summarize"
  | "stop"
  | "die";

const TOOLS = ["look", "pay", "sign", "ask_user", "broken", "flaky", "stuck", "unknown", "invalid"] as const;

/** Tools that a person outside answers. */
export const CLIENT_TOOLS: ReadonlySet<string> = new Set(["ask_user"]);

const command = fc.constantFrom<Command>(
  "steer",
  "inject",
  "follow_up",
  "cancel",
  "finish",
  "ask",
  "reset",
  "replace",
  "summarize",
  "stop",
  "die",
);
const commands = rarely(fc.array(command, { minLength: 1, maxLength: 2 }), [] as readonly Command[]);
const fault = rarely(
  fc.constantFrom<Fault>("fail_once", "fail_long", "full", "lost", "die_before", "die_after"),
  "none" as Fault,
  8,
);
const troubles = rarely(
  fc.array(fc.constantFrom<Trouble>("busy", "down", "refused", "too_long", "cut", "hang_up", "stall"), {
    minLength: 1,
    maxLength: 3,
  }),
  [] as readonly Trouble[],
);
const call = fc.record<Call>({
  tool: fc.constantFrom(...TOOLS),
  decision: fc.oneof(
    { arbitrary: fc.constantFrom("yes" as const, "no" as const), weight: 3 },
    { arbitrary: command, weight: 1 },
  ),
  commands,
  fault,
});
const step = fc.record<Step>({
  answer: rarely(fc.constantFrom("long", "empty", "cut_by_length", "empty_by_length"), "text" as Step["answer"], 6),
  calls: fc.oneof(
    { arbitrary: fc.array(call, { minLength: 1, maxLength: 3 }), weight: 2 },
    { arbitrary: fc.constant([]), weight: 1 },
  ),
  troubles,
  commands,
  fault,
});

/** Stories of one to three asks. */
export const stories: fc.Arbitrary<Story> = fc.record({
  agent: fc.record({
    maxIterations: fc.integer({ min: 1, max: 5 }),
    streaming: fc.boolean(),
    busy: fc.constantFrom("reject" as const, "queue" as const),
    toolConcurrency: fc.integer({ min: 1, max: 3 }),
    recover: rarely(fc.constant("fail" as const), "resume" as "resume" | "fail"),
    modelMaxRetries: fc.integer({ min: 0, max: 3 }),
    toolMaxRetries: fc.integer({ min: 0, max: 1 }),
    maxInputTokens: fc.constantFrom(900, 2_000, 20_000),
    autoSummarize: fc.boolean(),
  }),
  asks: fc.array(fc.record<StoryAsk>({ before: commands, fault, steps: fc.array(step, { maxLength: 4 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
});

/** Once in `every` cases the special value. */
function rarely<Special, Usual>(
  special: fc.Arbitrary<Special>,
  usual: Usual,
  every = 4,
): fc.Arbitrary<Special | Usual> {
  return fc.oneof({ arbitrary: fc.constant(usual), weight: every - 1 }, { arbitrary: special, weight: 1 });
}
