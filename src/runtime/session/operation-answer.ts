/** What became of a context operation that had to wait. */
export type OperationSettled =
  | { readonly status: "applied" }
  /** A later one took its place. */
  | { readonly status: "superseded" }
  | { readonly status: "failed"; readonly error: unknown };

/** The answer to `modifyContext`, at once; `settled` tells what comes of an operation that is deferred. */
export interface OperationAnswer {
  readonly opId: string;
  readonly status: "applied" | "deferred" | "duplicate";
  readonly settled: Promise<OperationSettled>;
}
