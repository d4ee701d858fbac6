/** A project that runs agents, as a user would run one. */
export interface AgentPeer {
  readonly name: string;
  /** Names and versions of what is measured, as installed. */
  readonly packages: readonly string[];
  /** Notes for a fair comparison, one sentence each. */
  readonly notes: readonly string[];
  /** One agent with its storage, in this empty folder. */
  open(folder: string, kind: AgentKind): Promise<PeerAgent>;
}

interface AgentKind {
  /** Its model calls the tool once in each request. */
  readonly usesTool: boolean;
}

export interface PeerAgent {
  /** Begins a conversation. */
  begin(id: string): Promise<Conversation>;
  /** Messages that the model was shown last, the system's left out. */
  readonly seen: number;
  /** Waits until idle conversations are released. */
  rest?(): Promise<void>;
  /** How durable an answer is when it is given. */
  durability(): Promise<string>;
  close(): Promise<void>;
}

export interface Conversation {
  /** The whole request, up to the answer's text. */
  ask(text: string): Promise<string>;
  /** Releases all resources. The conversations stay. */
  end(): Promise<void>;
}
