import type { DirectAgent } from "./direct/agent.ts";
import { type CommandOptions, decideDirect } from "./direct/decide.ts";
import type { DirectDirective, DirectSignal } from "./direct/signal.ts";
import type { Directive } from "./directive.ts";
import type { ReactAgent } from "./react/agent.ts";
import { decide } from "./react/decide.ts";
import type { Signal } from "./signal.ts";

/**
 * What an agent makes of a signal: the agent afterwards, whose thread has the new entries, and what is to be done now. Pure:
 * nothing is stored and nobody is called. Make the new entries durable, then perform the directives in their order, and
 * tell the agent what came of it with the next signal.
 *
 * A request that is refused is a directive; what throws is a programmer's mistake, a context operation that is malformed,
 * or `tail_too_short`, after which the same call with more of the thread loaded gives what it would have given.
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
