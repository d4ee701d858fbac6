import type { AnyAgent } from "../agent/definition/config.ts";
import type { RuntimePorts } from "./ports.ts";
import { RequestError } from "./request/request-error.ts";

/** The time limit of a hook (a function of the caller), and a signal that ends the wait earlier. */
export interface HookLimit {
  readonly ports: Pick<RuntimePorts, "after">;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The name of a hook and the code of its errors. */
export interface HookName {
  readonly name: string;
  readonly code: string;
  /** The option that sets the limit. Default "hookTimeoutMs". */
  readonly option?: string;
}

/** The result of a hook, or an error after its time limit, because a hook may never end. */
export async function hookAnswer<Answer>(
  { ports, timeoutMs, signal = new AbortController().signal }: HookLimit,
  hook: HookName,
  work: () => Answer | PromiseLike<Answer>,
): Promise<Answer> {
  const late = Promise.withResolvers<never>();
  const cancel = ports.after(timeoutMs, () => late.reject(tooLate(hook, timeoutMs)));
  try {
    return await untilAborted(signal, () => Promise.race([Promise.resolve().then(work), late.promise]));
  } finally {
    cancel();
  }
}

/** As `hookAnswer`, but a hook that throws is called once more. One that was late is not. */
export async function retriedAnswer<Answer>(
  limit: HookLimit,
  hook: HookName,
  work: () => Answer | PromiseLike<Answer>,
): Promise<Answer> {
  try {
    return await hookAnswer(limit, hook, work);
  } catch (error) {
    const isLate = RequestError.isInstance(error) && error.code === hook.code;
    if (isLate || limit.signal?.aborted) throw error;
    return hookAnswer(limit, hook, work);
  }
}

function tooLate({ name, code, option = "hookTimeoutMs" }: HookName, timeoutMs: number): RequestError {
  const message = `${name} did not answer within ${timeoutMs} ms. Make it faster, or raise ${option}.`;
  return new RequestError({ code, message });
}

/** The result of a function of the caller, or the reason of the signal as soon as it is aborted. */
export function untilAborted<Answer>(signal: AbortSignal, work: () => Answer | PromiseLike<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    Promise.resolve()
      .then(() => work())
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Whether the work ends within so many milliseconds. Rethrows an error in that time, and ignores a later one. */
export async function inTime(
  { after }: Pick<RuntimePorts, "after">,
  ms: number,
  work: Promise<unknown>,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const cancel = after(ms, () => resolve(false));
  work.catch(() => undefined);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    cancel();
  }
}

const A_MINUTE = 60_000;

/** How long a call waits for a summary from outside. */
export function summaryWaitMs({ onNeedsSummary, summaryWaitMs }: AnyAgent): number {
  return summaryWaitMs ?? (onNeedsSummary === undefined ? 0 : A_MINUTE);
}
