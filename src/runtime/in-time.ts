import type { RuntimePorts } from "./ports.ts";

/** Whether work came to its end in so many milliseconds. What it throws until then is thrown on; later nobody hears of it. */
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
