// The answers of the routes that change something.

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

/** `deferred`: the operation waits for the end of the running request. */
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

/** The code works once, in an address. Empty if Studio requires no token. */
export interface MintedCode {
  readonly code: string;
}

export interface Deleted {
  readonly deleted: true;
}
