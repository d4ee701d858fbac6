import type { JsonObject, JsonValue } from "./json.ts";
import type { Author, Content } from "./message.ts";

// The payloads are type aliases, because interfaces are not assignable to JsonObject.

/** The lane an entry belongs to. Default: the active lane at its place in the log. */
type InLane = {
  readonly contextRef?: string;
};

/** A message of any role, without tool calls. */
export type MessagePayload = InLane & {
  readonly role: string;
  readonly content: Content;
  /** Of a user message: the person who wrote it. The model is shown the name. */
  readonly author?: Author;
};

/** One tool call of a model. */
export type ToolCallPayload = InLane & {
  readonly id?: string;
  readonly name: string;
  readonly arguments: JsonValue;
};

/** The result of a tool call. */
export type ToolResultPayload = InLane & {
  readonly toolCallId?: string;
  readonly name: string;
  /** Data, or exactly `{ ok: true, value }` for data of any shape, or `{ ok: false, error }` for an error. */
  readonly result: JsonValue;
};

/** A summary that replaces the entries `fromSeq` to `toSeq` in the context. */
export type SummaryPayload = InLane & {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly content: string;
  readonly format?: string;
  /** The record of the summarizer's call. */
  readonly call?: JsonObject;
  /** For people. No model is shown it. */
  readonly details?: JsonValue;
  /** The subject that the summary was asked to keep most of. */
  readonly focus?: string;
  /** A synthetic summary: how often the range could not be summarized. */
  readonly skipped?: { readonly failures: number };
};

/** A message of a request, as agents write it: an answer has its tool calls, a result names its call. */
export type AiMessagePayload = InLane & {
  readonly role: string;
  readonly content: Content;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: JsonValue }[];
  readonly toolCallId?: string;
  readonly name?: string;
  readonly thinking?: JsonValue;
  /** Of a result: what people may see of it. No model is shown it. */
  readonly details?: JsonValue;
  /**
   * Of a result: the parts that the tool wrote for the page. No model is shown them. `event` is the number of the event of a part.
   * `first` is that of its first version, if it replaced an earlier one: that is its place on the page.
   */
  readonly written?: readonly {
    readonly type: `data-${string}`;
    readonly id?: string;
    readonly data: JsonValue;
    readonly event: number;
    readonly first?: number;
  }[];
  /** Of a result: the tool failed. */
  readonly isError?: boolean;
  /** An answer that was interrupted, or the last output of a tool that was stopped. */
  readonly partial?: true | "cancelled" | "timed_out";
  /** Of a user message in a running request: how it was added. */
  readonly steer?: "steer" | "inject" | "follow_up" | "repair" | "continue";
  /** Of such a message: its author, when it is not the user. */
  readonly source?: string;
  /** Of a user message: the person who wrote it. The model is shown the name. */
  readonly author?: Author;
  /** Of a message to a running request: the parts and metadata that a page shows beside the content. */
  readonly display?: JsonObject;
  /** Of an ask: the name of the agent, and the options of the request. */
  readonly agent?: string;
  /** Of an ask of a thread that was handed over: its first agent. */
  readonly startedBy?: string;
  readonly options?: JsonObject;
  /** Of an answer: the record of its model call. See `recordedCall`. */
  readonly call?: JsonObject;
  /** Of the last answer of a request: how the request ended. */
  readonly end?: JsonObject;
  /** Of a result from outside: the person who gave it. */
  readonly by?: string;
  /** Of a result: a process that did not run the thread wrote it. */
  readonly elsewhere?: true;
  /** Of a result: the child that has answered, and its usage. */
  readonly child?: JsonObject;
  /** Milliseconds of work so far, of a request with a time limit. */
  readonly workedMs?: number;
  /** Of an imported message: its format, and the message where the other fields cannot reproduce it. */
  readonly original?: JsonObject;
  /** Of a result: the arguments that the call ran with, if its approval has edited them. The model is shown these. */
  readonly editedArguments?: JsonValue;
  /** Of a result: the name of the agent that has the thread from here on. */
  readonly handoff?: string;
  readonly requestId?: string;
  readonly runId?: string;
};

/** A note. Any JSON; agents write these fields. */
export type NotePayload = InLane & {
  /** The request starts on the ask and the results of this one, by the agent with this name. */
  readonly continues?: string;
  readonly agent?: string;
  /** As that of an ask. */
  readonly startedBy?: string;
  readonly options?: JsonObject;
  readonly requestId?: string;
  readonly runId?: string;
  /** The request started again: the number of the attempt. */
  readonly attempt?: number;
  /** A server stopped during the request: the calls that had started, and whether a model call was cut. `call` is its record. */
  readonly handedOver?: { readonly begun: readonly string[]; readonly cut?: true };
  /** A model call failed and is made again: its id, the code of the failure, and the next model if another one is called. */
  readonly retried?: { readonly callId: string; readonly code: string; readonly model?: string };
  /** An answer of the lane was cut: the model is shown its first characters. The newest cut of an answer counts. */
  readonly cut?: { readonly seq: number; readonly characters: number };
  /** Messages of a page that a loop of the user has saved, in place of those that these entries make. */
  readonly shown?: JsonObject;
  /** The title that a host made for the thread, or that a person gave. `call` is the record of the model call of a host. */
  readonly title?: string;
  /** Two cuts with one opId are the same one. */
  readonly opId?: string;
  /** The range of a summary that failed. */
  readonly summaryFailed?: JsonObject;
  /** Why it failed. */
  readonly reason?: string;
  /** The record of the failed call. */
  readonly call?: JsonObject;
  readonly workedMs?: number;
  /** How the request ended. */
  readonly end?: JsonObject;
} & JsonObject;

/** An error. Any JSON; agents write these fields. */
export type ErrorPayload = InLane & {
  readonly code?: string;
  readonly message?: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** Of a prompt that was too long: its tokens and the limit, by the provider, and the largest estimate that fits. */
  readonly promptTokens?: number;
  readonly maxPromptTokens?: number;
  readonly correctedRoom?: number;
  readonly call?: JsonObject;
  /** Of a cancelled request: its last answer is shown cut, as by a note. */
  readonly cut?: { readonly seq: number; readonly characters: number };
  readonly end?: JsonObject;
} & JsonObject;

/** A change to the content of a lane (`replace`), or a change of the active lane (`switch`). */
export type AiContextOperationPayload = {
  readonly opId: string;
  readonly contextRef: string;
  readonly operation: {
    readonly type: "replace" | "switch";
    readonly reason: "manual" | "restore" | "compaction" | "system";
    readonly resultContext?: JsonObject;
    readonly baseSeq?: number;
    readonly from?: string;
    readonly atSeq?: number;
    readonly meta?: JsonObject;
  };
  /** Of an imported prompt: its format, and the message where the other fields cannot reproduce it. */
  readonly original?: JsonObject;
};

/** The value of a setting. A tool has its specification and the hash of it, never code. Null takes a setting back. */
export type Setting =
  | { readonly type: "system_prompt"; readonly value: string | null }
  /** The fields of a context policy. */
  | { readonly type: "context_policy"; readonly value: JsonObject | null }
  /** The name of a mode of the agent. */
  | { readonly type: "mode"; readonly value: string | null }
  /** Names of models, in the order in which they are called. */
  | { readonly type: "model"; readonly value: readonly string[] | null }
  | {
      readonly type: "tool";
      readonly name: string;
      readonly description?: string;
      readonly inputSchema: JsonObject;
      /** A tool that a provider defines. */
      readonly provider?: { readonly id: string; readonly args: JsonObject };
      readonly hash: string;
    }
  /** The model is not shown the tool, also if the agent has one of this name. */
  | { readonly type: "tool_removed"; readonly name: string }
  /** A permission rule. It holds at once, also for calls that wait. */
  | { readonly type: "rule"; readonly name: string; readonly value: RuleValue | null };

/** The value of a permission rule: a verdict on calls of a tool. */
export type RuleValue = {
  readonly tool: string;
  /** Whether the calls run without an approval, or do not run. */
  readonly verdict: "allow" | "deny";
  /** Globs by the path of an argument, such as `{ "file.path": "src/**" }`. Default: all calls of the tool. */
  readonly pattern?: { readonly [path: string]: string };
  /** The hash of the specification that the tool had. A rule that allows holds for no other one. */
  readonly hash?: string;
};

/** A setting of the thread, or of one lane. It holds for the requests that are asked after it; a rule holds at once. */
export type AiSettingPayload = {
  /** Two settings with one opId are the same one. */
  readonly opId: string;
  /** Default: the setting is one of the thread. */
  readonly contextRef?: string;
  /** Of a rule: the only request that it holds for. Default: all requests. */
  readonly requestId?: string;
  /** The person who set it. */
  readonly by?: string;
  readonly reason?: string;
  readonly setting: Setting;
};

/** The start of an instruction of a Direct agent. Parameters are recorded by name only. */
export type InstructionStartPayload = {
  readonly action: string;
  readonly instructionId: string;
  /** Default: none. */
  readonly paramKeys?: readonly string[];
};

/** The end of an instruction of a Direct agent. */
export type InstructionEndPayload = InstructionStartPayload & {
  readonly status: "ok" | "error";
  /** The code of the failure. */
  readonly code?: string;
  readonly durationMs: number;
};

/** A tool call waits for approval. */
export type ApprovalRequestedPayload = InLane & {
  readonly toolCallId: string;
  readonly name: string;
  readonly workedMs?: number;
  /** When it stops to wait, in milliseconds since 1970. Default: it waits without limit. */
  readonly deadline?: number;
  /** Then the call is denied, or the request fails. Default "deny". */
  readonly onTimeout?: "deny" | "fail";
  /** `guardTools` asks for the approval, so no rule allows the call. */
  readonly guard?: true;
};

/** The decision on a tool call that waits for approval. */
export type ApprovalResolvedPayload = InLane & {
  readonly toolCallId: string;
  readonly approved: boolean;
  readonly by?: string;
  readonly reason?: string;
  /** The person who wrote the reason. The model is shown the name before it. */
  readonly author?: Author;
  /** The reason, in logs of 0.1. */
  readonly note?: string;
  /** The arguments that the call runs with. Default: those of the call. */
  readonly editedArguments?: JsonValue;
  /** The permission rule that has decided. Default: a person has. */
  readonly rule?: string;
  /** The deadline has decided. Default: a person has. */
  readonly expired?: true;
  readonly workedMs?: number;
  /** Whether the process that wrote the entry started the call right away. Default false. */
  readonly started?: boolean;
};

/** A part that a tool wrote for the page. */
export type WrittenPart = NonNullable<AiMessagePayload["written"]>[number];

/** A tool has suspended its call with a question, which waits for an answer. */
export type QuestionAskedPayload = InLane & {
  readonly toolCallId: string;
  readonly name: string;
  readonly question: JsonValue;
  /** The parts that the tool wrote for the page before. */
  readonly written?: readonly WrittenPart[];
  readonly workedMs?: number;
};

/** The answer to the question of a tool. */
export type QuestionAnsweredPayload = InLane & {
  readonly toolCallId: string;
  readonly answer: JsonValue;
  /** The person who answered. */
  readonly by?: string;
  /** Whether the process that wrote the entry resumed the call right away. Default false. */
  readonly started?: boolean;
};

/** A tool lets its call sleep until a time. The other fields are the result of the call then. */
export type SleepStartedPayload = InLane & {
  readonly toolCallId: string;
  readonly name: string;
  /** In milliseconds since 1970. */
  readonly until: number;
  readonly content: Content;
  /** Default false. */
  readonly isError?: boolean;
  readonly details?: JsonValue;
  /** The parts that the tool has written for the page. */
  readonly written?: readonly WrittenPart[];
  readonly workedMs?: number;
};

/** Written before an approved call starts. From here on the call may have run. Or the call has asked another agent. */
export type ToolStartedPayload = InLane & {
  readonly toolCallId: string;
  readonly name: string;
  /** The thread, request and agent of the child that the call has asked. */
  readonly child?: JsonObject;
  readonly workedMs?: number;
};

/**
 * The payload of each known kind. Any string can be a kind. Declare your own by declaration merging; after that
 * `entry.kind === "invoice"` narrows the payload.
 *
 * @example
 * declare module "heddle" {
 *   interface EntryKinds {
 *     invoice: { readonly number: string; readonly total: number };
 *   }
 * }
 */
export interface EntryKinds {
  message: MessagePayload;
  tool_call: ToolCallPayload;
  tool_result: ToolResultPayload;
  summary: SummaryPayload;
  ai_message: AiMessagePayload;
  ai_context_operation: AiContextOperationPayload;
  ai_setting: AiSettingPayload;
  approval_requested: ApprovalRequestedPayload;
  approval_resolved: ApprovalResolvedPayload;
  question_asked: QuestionAskedPayload;
  question_answered: QuestionAnsweredPayload;
  sleep_started: SleepStartedPayload;
  tool_started: ToolStartedPayload;
  instruction_start: InstructionStartPayload;
  instruction_end: InstructionEndPayload;
  note: NotePayload;
  error: ErrorPayload;
  checkpoint: JsonObject;
}

/** The keys of more than one word in the payload of each kind. Free kinds, such as `note`, have none. */
const MULTI_WORD_KEYS: { readonly [kind: string]: readonly string[] } = {
  message: ["contextRef", "toolCalls", "toolCallId", "isError"],
  ai_message: ["contextRef", "toolCalls", "toolCallId", "isError", "requestId", "runId"],
  tool_call: ["contextRef", "toolCallId"],
  tool_result: ["contextRef", "toolCallId"],
  summary: ["contextRef", "fromSeq", "toSeq"],
  ai_context_operation: ["opId", "contextRef"],
  ai_setting: ["opId", "contextRef"],
  approval_requested: ["contextRef", "toolCallId"],
  approval_resolved: ["contextRef", "toolCallId"],
  question_asked: ["contextRef", "toolCallId"],
  question_answered: ["contextRef", "toolCallId"],
  sleep_started: ["contextRef", "toolCallId", "isError"],
  tool_started: ["contextRef", "toolCallId"],
  instruction_start: ["instructionId", "paramKeys"],
  instruction_end: ["instructionId", "paramKeys", "durationMs"],
};

/** The key of a kind that is written so in snake_case: `toolCallId` for `tool_call_id`. */
export function camelCaseKey(kind: string, key: string): string | undefined {
  const keys = Object.hasOwn(MULTI_WORD_KEYS, kind) ? MULTI_WORD_KEYS[kind] : undefined;
  return keys?.find((known) => known === camelCase(key) && known !== key);
}

export function camelCase(key: string): string {
  return key.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
