import type { CallEnvironment, CallRecord } from "../agent/call-record.ts";
import type { WaitingCall } from "../agent/react/waiting.ts";
import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type { ExplainedEntry, Projection } from "../projection/projection.ts";
import type { callRow } from "../studio/calls/call-row.ts";
import type { FirstChange } from "../studio/calls/causes.ts";
import type { Change } from "../studio/calls/changes.ts";
import type { ThreadRow } from "../studio/threads/row.ts";
import type { Entry } from "../thread/entry.ts";
import type { JsonObject } from "../thread/json.ts";
import type { Message, ToolSpec } from "../thread/message.ts";

// What Studio's API answers, as its routes write it.

export interface ThreadsPage {
  readonly threads: readonly ThreadRow[];
  readonly cursor?: string;
}

export interface ThreadDetail extends ThreadRow {
  readonly lanes: readonly string[];
  readonly activeLane: string;
  readonly request?: { readonly id: string; readonly state: string; readonly waiting: readonly WaitingCall[] };
}

export interface EntriesWindow {
  readonly entries: readonly Entry[];
  readonly rev: number;
}

export type CallRow = ReturnType<typeof callRow>;

export interface CallDetail extends Pick<Projection, "provenance"> {
  readonly call: CallRow;
  readonly record: CallRecord;
  readonly messages: readonly Message[];
  readonly toolSpec: readonly ToolSpec[];
  readonly settings: JsonObject;
  readonly meta?: Projection["meta"];
  readonly explained: readonly ExplainedEntry[];
  readonly policy?: ContextPolicyInput;
  readonly environment?: CallEnvironment;
  readonly proven: boolean;
  readonly problem?: { readonly code: string; readonly message: string };
  readonly previous?: { readonly callId: string; readonly stablePrefix: number; readonly firstChange?: FirstChange };
}

export interface ViewAnswer extends Projection {
  readonly explained: readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
}

export interface DiffAnswer {
  readonly same: number;
  readonly a: readonly Message[];
  readonly b: readonly Message[];
  readonly changes: readonly Change[];
  readonly causes: readonly { readonly rule: string; readonly why: string }[];
  readonly problem?: { readonly code: string; readonly message: string };
}

export interface StudioInfo {
  readonly demo: boolean;
  readonly model: string;
  readonly agent: string;
  readonly tools: readonly { readonly name: string }[];
}
