import type { Tools } from "../../agent/definition/tool.ts";
import { checkAgentTools } from "../../agent/definition/tool-checks.ts";
import type { HookLimit } from "../hook.ts";
import type { ToolFacts } from "../live/live.ts";
import { toolSettings } from "./settings.ts";

/** What the model is told of tools; their schemas are converted here. */
export async function factsOf(tools: Tools, limit?: HookLimit): Promise<ToolFacts> {
  checkAgentTools(tools);
  return toolSettings(tools, limit);
}
