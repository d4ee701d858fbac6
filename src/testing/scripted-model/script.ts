import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { PartMetadata } from "../../thread/message.ts";
import type { AskedMessage, ScriptedRequest } from "./request.ts";

/** The whole text, exactly; or a pattern found anywhere in it. */
export type TextMatch = string | RegExp;

/** Of what is named everything must be equal; what is not named is not looked at. */
export interface ExpectedMessage {
  readonly role?: AskedMessage["role"];
  readonly text?: TextMatch;
  readonly thinking?: TextMatch;
  /** All calls, in their order. */
  readonly calls?: readonly { readonly id?: string; readonly name?: string; readonly arguments?: JsonValue }[];
  /** All results, in their order. */
  readonly results?: readonly {
    readonly id?: string;
    readonly name?: string;
    readonly value?: JsonValue | RegExp;
    readonly isError?: boolean;
  }[];
  /** The media types of all files, in their order. */
  readonly files?: readonly string[];
}

/** What a request must be. Of what is named everything must be equal; what is not named is not looked at. */
export interface Expectation {
  /** The last thing the user said. */
  readonly lastUser?: TextMatch;
  readonly system?: TextMatch;
  /** The names of all tools that are offered, in any order. */
  readonly tools?: readonly string[];
  /** The whole conversation, without the system prompt. */
  readonly messages?: readonly ExpectedMessage[];
  /** How the conversation ends. */
  readonly endsWith?: readonly ExpectedMessage[];
  readonly where?: (request: ScriptedRequest) => boolean;
}

/** Said in one piece, or in exactly these deltas. */
export type Deltas = string | readonly string[];

export interface ScriptedCall {
  /** Default: "call_1", "call_2" and so on, for each model. */
  readonly id?: string;
  readonly name: string;
  /** Default: {}. */
  readonly arguments?: JsonValue;
  /** Instead of `arguments`: the text itself as the model wrote it, which need not be JSON. */
  readonly input?: Deltas;
  readonly metadata?: PartMetadata;
}

export type ScriptedPart =
  | { readonly thinking: Deltas; readonly metadata?: PartMetadata }
  | { readonly text: Deltas; readonly metadata?: PartMetadata }
  | ScriptedCall;

/** An error as a provider reports it: arrives as the AI SDK's APICallError. */
export interface ScriptedApiError {
  readonly status: number;
  readonly message?: string;
  /** Sent as the header `retry-after-ms`. */
  readonly retryAfterMs?: number;
}

/** What the model does. Said in this order: thinking, text, calls; `parts` has an order of its own. */
export interface ScriptedAnswer {
  readonly thinking?: Deltas;
  readonly text?: Deltas;
  readonly calls?: readonly ScriptedCall[];
  /** Of the thinking, such as its signature; of the text when there is no thinking. */
  readonly metadata?: PartMetadata;
  /** Instead of thinking, text and calls. */
  readonly parts?: readonly ScriptedPart[];
  /** What is not given follows from the texts: a token for every four characters, rounded up. */
  readonly usage?: Usage;
  /** Default: "tool-calls" when there are calls, else "stop". */
  readonly finishReason?: FinishReason;
  readonly error?: Error | ScriptedApiError;
  /** The error comes in mid-stream, behind so many deltas. Without it the call itself is refused. */
  readonly after?: number;
  /** Waits before the first delta. */
  readonly delayMs?: number;
  /** Waits before each further delta. */
  readonly deltaDelayMs?: number;
  /** Says what there is to say, and then nothing more until it is aborted. */
  readonly hang?: boolean;
}

/** In short: what the user said last, or a predicate. */
export type ScriptedExpect = TextMatch | Expectation | ((request: ScriptedRequest) => boolean);

/** Text alone answers whatever is asked; a function makes the answer of what was asked. */
export type ScriptedStep =
  | string
  | (ScriptedAnswer & { readonly expect?: ScriptedExpect })
  | ((request: ScriptedRequest) => string | ScriptedAnswer | Promise<string | ScriptedAnswer>);
