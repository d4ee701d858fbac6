import type { EntryInput } from "../../thread/entry.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { ContextPolicyInput } from "../policy/fields.ts";
import type { Projection } from "../projection.ts";
import type { ProjectorName } from "../rules.ts";
import type { Readers } from "../transcript/reader.ts";

/** An item to show that is not in the thread yet: text of the user, a message, or an entry as it will be appended. */
export type PendingItem = string | Message | EntryInput;

/** Everything that can change a projection. */
export interface ProjectionInput {
  readonly thread: Thread;
  /** Default `ContextPolicy.create()`. */
  readonly policy?: ContextPolicyInput | undefined;
  /** A user message or tool results that are not committed yet. Refused if nothing of an item would be shown. Default none. */
  readonly pending?: PendingItem | readonly PendingItem[] | undefined;
  /** Overrides the system prompt of the policy, its default. The prompt of a replaced context overrides both. */
  readonly system?: string | { readonly prompt?: string | undefined } | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  /** Default: the active lane of the thread. */
  readonly lane?: string | undefined;
  /** The model to call, as `provider:model` or `provider/model`. Only the model that wrote thinking can read it. Default none. */
  readonly model?: string | undefined;
  /** Readers of your own kinds. Name the kinds in `policy.includeKinds` too. Default none. */
  readonly readers?: Readers | undefined;
  /** Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The projection rules. Default `PROJECTOR`, the newest. An older name rebuilds calls that recorded it. */
  readonly rules?: ProjectorName | undefined;
  /** The previous projection. With it, `meta.stablePrefix` counts the unchanged messages. Default none. */
  readonly previous?: Pick<Projection, "messages"> | undefined;
}
