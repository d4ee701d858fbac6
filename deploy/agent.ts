import { defineAgent } from "heddle";

/** Replace it by your own. `heddle serve` runs all agents that the file exports. */
export const agent = defineAgent({
  name: "assistant",
  model: "anthropic:claude-sonnet-4",
  systemPrompt: "You are a helpful assistant.",
});
