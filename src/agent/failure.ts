/** An error as data, for signals, entries and events. The message contains no secrets and no arguments. */
export type Failure = {
  readonly code: string;
  readonly message: string;
  /** Whether a retry may work later. Default false. */
  readonly retryable?: boolean;
  /** How long the provider asks to wait before a retry. */
  readonly retryAfterMs?: number;
  /** For a prompt that was too long: its tokens, if the provider reports them. */
  readonly promptTokens?: number;
  /** For a prompt that was too long: the model's limit, if the provider reports it. */
  readonly maxPromptTokens?: number;
};
