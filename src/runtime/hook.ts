import type { RuntimePorts } from "./ports.ts";
import { RequestError } from "./request/request-error.ts";
import { untilAborted } from "./until-aborted.ts";

/** How long a function of the caller may take, and what ends the wait earlier. */
export interface HookLimit {
  readonly ports: Pick<RuntimePorts, "after">;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A function of the caller, as its errors name it. */
export interface HookName {
  readonly name: string;
  readonly code: string;
  /** The option that sets the limit. Default "hookTimeoutMs". */
  readonly option?: string;
}

const NEVER_ABORTED = new AbortController().signal;

/** What a function of the caller returns, or an error when the wait is over: the function may never end. */
export async function hookAnswer<Answer>(
  { ports, timeoutMs, signal = NEVER_ABORTED }: HookLimit,
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

function tooLate({ name, code, option = "hookTimeoutMs" }: HookName, timeoutMs: number): RequestError {
  const message = `${name} did not answer within ${timeoutMs} ms. Make it faster, or raise ${option}.`;
  return new RequestError({ code, message });
}
