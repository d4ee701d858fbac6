import type { EntryInput } from "../../thread/entry.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { TokenCounter } from "../../tokens/counter.ts";
import type { ContextPolicyInput } from "../policy/fields.ts";
import type { Projection } from "../projection.ts";
import type { ProjectorName } from "../rules.ts";
import type { Readers } from "../transcript/reader.ts";

/** What is to be shown but is not in the thread yet: a text of the user, a message, or an entry as it will be appended. */
export type PendingItem = string | Message | EntryInput;

/** Everything that can change a projection. */
export interface ProjectionInput {
  readonly thread: Thread;
  /** Default `ContextPolicy.create()`. */
  readonly policy?: ContextPolicyInput | undefined;
  /** The ask that is not committed yet, or tool results that are not; what would show nothing is refused. */
  readonly pending?: PendingItem | readonly PendingItem[] | undefined;
  /** Wins over the system prompt of the policy; the one of a replaced lane wins over both. */
  readonly system?: string | { readonly prompt?: string | undefined } | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  /** Default the lane that is active in the thread. */
  readonly lane?: string | undefined;
  /** The model that will be asked, as `provider:model` or `provider/model`: it alone can read its thinking again. */
  readonly model?: string | undefined;
  /** Readers of your own kinds; name the kinds in `policy.includeKinds` too. */
  readonly readers?: Readers | undefined;
  /** Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
  /** The rules to project by. Default `PROJECTOR`, the newest; an older name rebuilds the calls that recorded it. */
  readonly rules?: ProjectorName | undefined;
  /** The projection before this one, to learn how many messages stayed as they were. */
  readonly previous?: Pick<Projection, "messages"> | undefined;
}
