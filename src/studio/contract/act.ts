// What the routes answer that do something.

export interface Asked {
  readonly requestId: string;
}

export interface Steered {
  readonly id: string;
  readonly accepted: boolean;
  readonly reason?: string;
}

export interface Cancelled {
  readonly cancelled: boolean;
}

export interface Decided {
  readonly decided: true;
}

/** `deferred` waits for the end of the request at work. */
export interface Operated {
  readonly opId: string;
  readonly status: "applied" | "deferred" | "duplicate";
}

export interface Summarised {
  readonly seq: number;
}

/** The token, for the header `Authorization: Bearer`. */
export interface Entered {
  readonly token: string;
}

/** Good once, in an address; empty where no token is asked for. */
export interface MintedCode {
  readonly code: string;
}

export interface Deleted {
  readonly deleted: true;
}
