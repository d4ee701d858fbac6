import type { Clock } from "../../../thread/ports.ts";
import type { ThrownFacts } from "./thrown.ts";

/** What the provider asked to wait: by header, in milliseconds, seconds or as a date; Gemini says it in the body. */
export function retryAfterOf({ header, text }: ThrownFacts, clock: Clock | undefined): number | undefined {
  const ms = number(header("retry-after-ms"));
  if (ms !== undefined) return ms;
  const after = header("retry-after");
  const seconds = number(after);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  const date = after === undefined ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date) && clock !== undefined) return Math.max(0, date - clock());
  const delay = number(/"retryDelay":\s*"([\d.]+)s"/.exec(text)?.[1]);
  return delay === undefined ? undefined : Math.ceil(delay * 1000);
}

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
