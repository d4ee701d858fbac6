/** A file that a model call needs, by URL. */
export interface DownloadRequest {
  readonly url: URL;
  /** Whether the model can load this URL itself. */
  readonly isUrlSupportedByModel: boolean;
  readonly abortSignal?: AbortSignal;
}

export interface DownloadResult {
  readonly data: Uint8Array;
  /** The media type from the server; undefined keeps the media type of the part. */
  readonly mediaType: string | undefined;
}

/**
 * Downloads files by URL, like `download` of the AI SDK. Called at most once per model call, with the URLs that the request
 * has not downloaded yet. Returns one result for each, in order. `null` passes the URL to the model unchanged.
 */
export type DownloadFunction = (requests: DownloadRequest[]) => PromiseLike<(DownloadResult | null)[]>;

export interface DownloadLimits {
  /** The largest file, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** The timeout for one file with its redirects, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether loopback, link-local, private and metadata addresses are allowed. Default false: every address of a host is
   * checked when the connection looks it up, also after redirects. A runtime without `node:http` checks only addresses
   * written in the URL. There, block such addresses in the network if the agent accepts URLs from users.
   */
  readonly allowPrivateAddresses?: boolean | undefined;
}
