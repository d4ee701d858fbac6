import { StoreError } from "heddle";

/** Repeats what may be repeated until it succeeds, as a caller does while a server restarts. */
export async function retryUntilDone<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!StoreError.isInstance(error) || !error.retryable) throw error;
    }
  }
}
