import type { StoredRequestOptions } from "../../agent/signal.ts";
import { dataOptions } from "../ask-options.ts";
import type { ThreadOptions } from "../perform/scene.ts";
import { outputSchemaOf } from "../structured-output.ts";
import type { HookLimit } from "../time-limits.ts";
import type { AnyAskOptions } from "./options.ts";

interface OptionSource {
  readonly options: Pick<ThreadOptions, "definition" | "ports">;
}

/**
 * The options of an ask as its entry stores them. Of functions and tools it stores only that they were passed. The
 * tools of the ask are always allowed: `allowedTools` chooses among those of the agent.
 */
export function storedOptions(
  options: AnyAskOptions,
  thread: OptionSource & { readonly hookLimit: HookLimit },
): StoredRequestOptions | Promise<StoredRequestOptions> {
  const { output } = options;
  const { definition, ports } = thread.options;
  const stored = dataOptions(options, { definition, now: ports.clock() });
  // An ask without a schema to convert is put at once, before commands that come after it.
  return output === undefined
    ? stored
    : outputSchemaOf(output, thread.hookLimit).then((schema) => ({ ...stored, output: schema }));
}
