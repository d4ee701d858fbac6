import type { FinishReason, Usage } from "../../agent/answer.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { PartMetadata } from "../../thread/message.ts";
import type { AskedMessage, ScriptedRequest } from "./request.ts";

/** The exact text, or a pattern that occurs in it. */
export type TextMatch = string | RegExp;

/** All named fields must be equal. Other fields are ignored. */
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

/** The expected request. All named fields must be equal. Other fields are ignored. */
export interface Expectation {
  /** The text of the last user message. */
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

/** A text in one piece, or as exactly these deltas. */
export type Deltas = string | readonly string[];

export interface ScriptedCall {
  /** Default: "call_1", "call_2" and so on, for each model. */
  readonly id?: string;
  readonly name: string;
  /** Default: {}. */
  readonly arguments?: JsonValue;
  /** Instead of `arguments`: the raw text of the model, which need not be JSON. */
  readonly input?: Deltas;
  readonly metadata?: PartMetadata;
}

export type ScriptedPart =
  | { readonly thinking: Deltas; readonly metadata?: PartMetadata }
  | { readonly text: Deltas; readonly metadata?: PartMetadata }
  | ScriptedCall;

/** An error response of a provider. The caller gets an APICallError of the AI SDK. */
export interface ScriptedApiError {
  readonly status: number;
  readonly message?: string;
  /** Sent as the header `retry-after-ms`. */
  readonly retryAfterMs?: number;
}

/** The answer of a step. The order is thinking, text, calls; use `parts` for another order. */
export interface ScriptedAnswer {
  readonly thinking?: Deltas;
  readonly text?: Deltas;
  readonly calls?: readonly ScriptedCall[];
  /** Metadata of the thinking, such as its signature; of the text when there is no thinking. */
  readonly metadata?: PartMetadata;
  /** Instead of thinking, text and calls. */
  readonly parts?: readonly ScriptedPart[];
  /** Default for absent counts: one token per four characters of the texts, rounded up. */
  readonly usage?: Usage;
  /** Default: "tool-calls" when there are calls, else "stop". */
  readonly finishReason?: FinishReason;
  readonly error?: Error | ScriptedApiError;
  /** Emit the error after this many deltas. Default: the call itself fails. */
  readonly after?: number;
  /** Milliseconds to wait before the first delta. Default 0. */
  readonly delayMs?: number;
  /** Milliseconds to wait before each further delta. Default 0. */
  readonly deltaDelayMs?: number;
  /** Sends the content and then hangs until the call is aborted. Default false. */
  readonly hang?: boolean;
}

/** Short forms of an expectation: the last user text, or a predicate. */
export type ScriptedExpect = TextMatch | Expectation | ((request: ScriptedRequest) => boolean);

/** A text answers any request; a function computes the answer from the request. */
export type ScriptedStep =
  | string
  | (ScriptedAnswer & { readonly expect?: ScriptedExpect })
  | ((request: ScriptedRequest) => string | ScriptedAnswer | Promise<string | ScriptedAnswer>);
