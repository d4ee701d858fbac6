/** A project that keeps conversations, doing the job that heddle's log does. */
export interface Peer {
  readonly name: string;
  /** Names and versions of what is measured, as installed. */
  readonly packages: readonly string[];
  /** Notes for a fair comparison, one sentence each. */
  readonly notes: readonly string[];
  /** A log in this empty folder. */
  open(folder: string): Promise<PeerLog>;
}

export interface PeerLog {
  /** Adds message `index` at the end of a conversation and resolves when the peer calls it stored. */
  append(conversation: string, index: number): Promise<unknown>;
  /** Writes messages 0 to `count` - 1 of a new conversation in whatever way is quickest. */
  fill(conversation: string, count: number): Promise<unknown>;
  /** The texts of the last messages, oldest first. */
  tail(conversation: string, count: number): Promise<readonly string[]>;
  /** The settings that decide its durability, read back from the open database. */
  durability(): Promise<string>;
  /** Leaves all data in the main files of the folder. */
  close(): Promise<void>;
}
