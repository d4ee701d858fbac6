import { ThreadError } from "./errors.ts";
import { describe, type JsonObject } from "./json.ts";
import { type Clock, type Ids, type Ports, systemPorts } from "./ports.ts";

export interface ThreadOptions {
  readonly id?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
}

export function portsOf({ clock = systemPorts.clock, ids = systemPorts.ids }: ThreadOptions): Ports {
  if (typeof clock !== "function") throw invalid("options.clock", `must be a function, not ${describe(clock)}`);
  if (typeof ids !== "function") throw invalid("options.ids", `must be a function, not ${describe(ids)}`);
  return { clock, ids };
}

export function now({ clock }: Ports): number {
  const at = clock();
  if (!Number.isSafeInteger(at)) throw invalid("options.clock", "must return whole milliseconds since 1970");
  return at;
}

function invalid(path: string, trouble: string): ThreadError {
  return new ThreadError({ code: "invalid_options", path, message: `${path} ${trouble}.` });
}
