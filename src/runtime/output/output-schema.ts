import type { InputSchema } from "../../agent/definition/schema.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { HookLimit } from "../hook.ts";
import { toolSpecsOf } from "../tools/specs.ts";

/** The JSON Schema of an output, for providers that can be told of it. */
export async function outputSchemaOf(output: InputSchema, limit: HookLimit): Promise<JsonObject | undefined> {
  const [spec] = await toolSpecsOf({ output: { inputSchema: output } }, { limit });
  return spec?.inputSchema;
}
