import { callTimedOut } from "../errors.ts";

/** Rejects with `store_timeout` when the work has not settled in time. Does not stop the work. */
export async function withDeadline<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(callTimedOut(ms)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
