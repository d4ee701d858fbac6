import type { JsonObject, JsonValue } from "../thread/json.ts";
import type { CallOptions } from "./lease.ts";

/**
 * A request to act on a thread, for its inbox. All fields beside `id` and `type` are the body. The id is a name of the
 * caller's choice: a retry with the same id and content is not posted twice.
 */
export interface CommandInput {
  readonly id: string;
  /** The kind of request, such as "steer": 1 to 128 characters. */
  readonly type: string;
  readonly [field: string]: JsonValue | undefined;
}

/** A command that waits in the inbox of a thread. */
export interface Command {
  readonly id: string;
  readonly type: string;
  readonly body: JsonObject;
  /** How often the command was amended. Pass it to `consumes`, so that an amendment in between is noticed. */
  readonly revision: number;
  /** By the store's clock, in milliseconds since 1970. */
  readonly postedAt: number;
}

/**
 * How a command ended, in words of the holder that consumed it. The store itself writes only `withdrawn`. After the outcome
 * was purged, the status is `logged`, with the `seq` of the entry `<id>/0`.
 */
export interface CommandOutcome {
  readonly status: string;
  readonly [detail: string]: JsonValue | undefined;
}

/** The result of `post`, `amend` and `withdraw`. */
export interface CommandResult {
  /** Whether an earlier call has done the same; this one wrote nothing. */
  readonly replayed: boolean;
  /** Absent while the command is pending. */
  readonly outcome?: CommandOutcome;
}

/** A command that an append answers. */
export interface ConsumedCommand {
  readonly id: string;
  readonly outcome: CommandOutcome;
  /** Refuse unless the command was amended this many times: its `revision` as you read it. Default: not checked. */
  readonly revision?: number | undefined;
}

/** A command that an append posts to any thread. */
export interface PostedCommand {
  readonly threadId: string;
  readonly command: CommandInput;
  /** The name of the agent that takes the command, as in `post`. Default: not known. */
  readonly agent?: string | undefined;
}

/** Options of `post`. */
export interface PostOptions extends CallOptions {
  /** The agent that the command is for. Used when the store knows none for this thread. Default: not known. */
  readonly agent?: string | undefined;
  /** Workers take a thread with a greater one first. It lasts until another one is given. Default: as it was, at first 0. */
  readonly priority?: number | undefined;
}
