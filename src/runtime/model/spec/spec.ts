import type { ModelFinishReason, Usage } from "../../../agent/model-call.ts";
import type { AISDKMessage } from "../../../providers/ai-sdk/types.ts";
import type { FileContentPart } from "../../../thread/message.ts";
import type { RawPart } from "../raw-part.ts";

/** A prompt's message; what V4 has more than the formatter knows is added by this room. */
export type PromptMessage = AISDKMessage | { readonly role: "assistant"; readonly content: readonly object[] };

/** What differs between the versions of the specification. Everything else in a stream or a result is the same in all. */
export interface ModelSpec {
  /** The prompt, which is V4's, in the form of this version; what it has no place for is left out. */
  readonly prompt: (messages: readonly PromptMessage[]) => object[];
  /** The bytes or the address of a file that the model made; undefined when there are none. */
  readonly fileData: (part: RawPart) => FileContentPart["data"] | undefined;
  readonly usage: (value: unknown) => Usage;
  readonly finishReason: (value: unknown) => ModelFinishReason;
  /** Whether a call can say how much the model is to think. */
  readonly takesReasoning: boolean;
}
