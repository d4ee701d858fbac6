import type { DirectAgent, DirectDirective, DirectSignal } from "./direct/agent.ts";
import { type CommandOptions, decideDirect } from "./direct/decide.ts";
import type { Directive } from "./directive.ts";
import type { ReactAgent } from "./react/agent.ts";
import { decide } from "./react/decide.ts";
import type { Signal } from "./signal.ts";

/**
 * Applies a signal to an agent. Returns the next agent, whose thread has the new entries, and the directives to perform.
 * Pure: it stores nothing and does no I/O. Make the new entries durable, then perform the directives in order, and pass
 * each result to the agent as the next signal.
 *
 * A refused request is a directive, not an exception. This throws for a wrong call, for a malformed context operation, and
 * with `tail_too_short` or `lane_not_loaded`: then load more of the thread and call it again.
 *
 * @example
 * const agent = reactAgent(reactSettings({ systemPrompt: "You are a calculator." }));
 * const asked = cmd(agent, { type: "ask", content: "What's 2+2?" });
 * asked.agent.thread.rev; // 1
 * asked.directives.map(({ type }) => type); // ["emit", "emit", "llm_stream"]
 */
export function cmd(
  agent: ReactAgent,
  signal: Signal,
): { readonly agent: ReactAgent; readonly directives: readonly Directive[] };
export function cmd<Context>(
  agent: DirectAgent<Context>,
  signal: DirectSignal,
  options?: CommandOptions,
): { readonly agent: DirectAgent<Context>; readonly directives: readonly DirectDirective[] };
export function cmd<Context>(
  agent: ReactAgent | DirectAgent<Context>,
  signal: Signal | DirectSignal,
  options?: CommandOptions,
): {
  readonly agent: ReactAgent | DirectAgent<Context>;
  readonly directives: readonly (Directive | DirectDirective)[];
} {
  // The overloads give each agent its own signals.
  if (agent.strategy === "react") return decide(agent, signal as Signal);
  return decideDirect(agent, signal as DirectSignal, options);
}
