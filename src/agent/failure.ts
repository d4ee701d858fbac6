/** Why something did not work, as data: it goes into signals, entries and events. The message holds no secrets and no arguments. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  /** Whether the same may work later. */
  readonly retryable?: boolean;
  /** What the provider asked to wait before trying again. */
  readonly retryAfterMs?: number;
  /** Of a prompt that was too long, where the provider says it: its tokens, and the most that the model takes. */
  readonly promptTokens?: number;
  readonly maxPromptTokens?: number;
};
