import type { Message } from "heddle";

/** A project that turns a conversation into the messages for a model. */
export interface ContextPeer {
  /** Names and versions of what is measured, as installed. */
  readonly packages: readonly string[];
  readonly variants: readonly Variant[];
}

export type TableName = "build" | "cache" | "illegal";

/** One way to do it. */
export interface Variant {
  readonly name: string;
  /** The tables that list it. */
  readonly tables: readonly TableName[];
  /** The unit of its limit. */
  readonly counts: "tokens" | "items";
  /** It has no budget: the limit it gets where the others get theirs from the budget. */
  readonly fixed?: number;
  /** The conversation is one message longer at each build. */
  readonly grows?: boolean;
  /** Notes for a fair comparison, one sentence each. */
  readonly notes?: readonly string[];
  /** An empty conversation. */
  open(limit: number): Conversation;
}

/** How a list that was built is read, in heddle's neutral form. */
export type Reading = () => readonly Message[];

export interface Conversation {
  /** Adds to the end, in whatever form the project holds a conversation. Not measured. */
  add(messages: readonly Message[]): unknown;
  /** Makes the list that the model would be sent now. Throws where the project refuses. */
  build(): Reading | Promise<Reading>;
}
