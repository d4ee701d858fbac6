import type { RuntimePorts } from "../ports.ts";

/** So many milliseconds, or as long as the signal is not aborted. */
export async function pause({ after }: Pick<RuntimePorts, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = after(ms, resolve);
  const end = (): void => resolve();
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  await promise;
  cancel();
  signal?.removeEventListener("abort", end);
}
