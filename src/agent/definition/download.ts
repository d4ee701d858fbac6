/** A file by URL that a model call needs. */
export interface DownloadRequest {
  readonly url: URL;
  /** Whether the model takes this URL itself. */
  readonly isUrlSupportedByModel: boolean;
  readonly abortSignal?: AbortSignal;
}

export interface DownloadResult {
  readonly data: Uint8Array;
  /** What the server said; undefined keeps the media type of the part. */
  readonly mediaType: string | undefined;
}

/**
 * Downloads files by URL, as `download` of the AI SDK does. Called at most once per model call, with the URLs that were not
 * downloaded before in the request; gives one result for each, in order. `null` hands the URL to the model as it is.
 */
export type DownloadFunction = (requests: DownloadRequest[]) => PromiseLike<(DownloadResult | null)[]>;

export interface DownloadLimits {
  /** The largest file. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long one file may take, redirects included. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether loopback, link-local, private and metadata addresses may be asked. Default false: every address of a
   * host is checked when the connection looks it up, also behind redirects. A runtime without `node:http` checks only
   * addresses that stand in the URL; there, an agent that takes foreign URLs needs a network that refuses such addresses.
   */
  readonly allowPrivateAddresses?: boolean | undefined;
}
