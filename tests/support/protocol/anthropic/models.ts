import type { IncomingHttpHeaders } from "node:http";

/** From Claude 4.6 on nobody may put words into the model's mouth. */
export function refusesPrefill(model: string): boolean {
  return versionOf(model) >= 4.6;
}

/** System messages in the middle: a beta, and only some models have it. */
export function takesSystemMessages(model: string, headers: IncomingHttpHeaders): boolean {
  const beta = String(headers["anthropic-beta"] ?? "").includes("mid-conversation-system-2026-04-07");
  return beta && /^claude-(?:opus-5|opus-4-8|fable-5)/.test(model);
}

/** From how many tokens on a prompt is cached. */
export function minCachedTokens(model: string): number {
  if (/opus-5|fable-5|mythos-5/.test(model)) return 512;
  if (/opus-4-7/.test(model)) return 2048;
  return /opus-4-[56]|haiku-4-5/.test(model) ? 4096 : 1024;
}

/** "claude-opus-4-8" is 4.8, "claude-sonnet-4-20250514" is 4; names of the old form are 3. */
function versionOf(model: string): number {
  const [, major, minor = "0"] = /^claude-[a-z]+-(\d+)(?:-(\d{1,2})(?!\d))?/.exec(model) ?? [];
  return major === undefined ? 3 : Number(`${major}.${minor}`);
}
