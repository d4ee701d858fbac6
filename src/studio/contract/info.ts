/** The answer of `GET /api/info`: name, agent, tools and limits of this Studio. */
export interface Info {
  readonly name: string;
  readonly version: string;
  readonly readOnly: boolean;
  /** Whether the offline demo answers instead of a provider's model. */
  readonly demo: boolean;
  readonly model: string;
  readonly agent: string;
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
  readonly prompts: readonly OfferedPrompt[];
  /** The label of the store. It has no password and no path. */
  readonly store: string;
  /** The wire formats that a call can be shown in. */
  readonly providers: readonly string[];
  /** The largest import, in bytes. */
  readonly importLimit: number;
}

/** A prompt that the empty page offers. */
export interface OfferedPrompt {
  readonly title: string;
  readonly text: string;
  /** Prompts that are asked next, each after the answer to the one before. */
  readonly next?: readonly string[];
}
