/** What a Studio is: `GET /api/info`. */
export interface Info {
  readonly name: string;
  readonly version: string;
  readonly readOnly: boolean;
  /** No provider is asked: the answers come from the offline demo model. */
  readonly demo: boolean;
  readonly model: string;
  readonly agent: string;
  readonly tools: readonly { readonly name: string; readonly description?: string | undefined }[];
  readonly prompts: readonly OfferedPrompt[];
  /** Where the threads are, without what nobody else should know. */
  readonly store: string;
  /** The wire formats that a call can be shown in. */
  readonly providers: readonly string[];
  /** The largest import, in bytes. */
  readonly importLimit: number;
}

/** A thing to try, offered on the empty page. */
export interface OfferedPrompt {
  readonly title: string;
  readonly text: string;
  /** Asked one after the other, each when the one before has been answered. */
  readonly next?: readonly string[];
}
