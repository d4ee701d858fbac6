import type { AnyAgent } from "../../agent/definition/config.ts";
import { checkAgent } from "../../agent/definition/define-agent.ts";
import { AgentError } from "../../agent/definition/errors.ts";
import type { AnyTool, Tool } from "../../agent/definition/tool.ts";
import { type OptionNames, refuseUnknownOptions } from "../../thread/options.ts";

/** The description of a handoff for a model. */
export interface HandoffOptions extends Pick<Tool, "needsApproval" | "approval"> {
  /** The text from which the model knows when to hand the conversation over. */
  readonly description: string;
}

const REASON = {
  type: "object",
  properties: { reason: { type: "string", description: "Why, in a sentence. The next agent reads it." } },
  additionalProperties: false,
} as const;

const NAMES: OptionNames<HandoffOptions> = { description: true, needsApproval: true, approval: true };

/** The agent that gets the thread. `agent` is absent where only its name was given. */
interface Receiver {
  readonly name: string;
  readonly agent?: AnyAgent;
}

/** A registered symbol: it works across copies of this package, and stays when a tool is spread. */
const RECEIVER = Symbol.for("heddle.handoff-of-tool");

/**
 * A tool that hands the conversation to another agent. That agent makes the next call of the same request, with its own prompt,
 * tools and model, and answers all later asks of the thread. It needs an `AgentHost`. For agents that hand over to each other, give
 * the name of one: the host must serve it.
 *
 * @example
 * const billing = defineAgent({ name: "billing", model: scriptedModel(["Your invoice is paid."]) });
 * const tools = { billing: handoff(billing, { description: "Questions about invoices" }) };
 */
export function handoff(agent: AnyAgent | string, options: HandoffOptions): Tool<{ readonly reason?: string }, string> {
  if (typeof agent !== "string" || agent === "") checkAgent("agent", agent);
  checkToolOptions("handoff", options, NAMES);
  const { description, ...more } = options;
  const receiver: Receiver = typeof agent === "string" ? { name: agent } : { name: agent.name, agent };
  const tool: Tool<{ readonly reason?: string }, string> = {
    description,
    inputSchema: REASON,
    ...more,
    execute: () => `The conversation is with ${receiver.name} now.`,
    repeatable: true,
  };
  return { ...tool, ...{ [RECEIVER]: receiver } };
}

/** Throws if the model would not know when to use the tool, or if a name is misspelled. */
export function checkToolOptions<Options extends HandoffOptions>(
  tool: "handoff" | "agentTool",
  options: Options | undefined,
  names: OptionNames<Options>,
): void {
  const { description } = Object(options) as { readonly description?: unknown };
  if (options !== undefined) refuseUnknownOptions(tool, options, names);
  if (typeof description === "string" && description !== "") return;
  const message = `${tool} needs a description: the text from which the model knows when to use it.`;
  throw new AgentError({ code: "invalid_agent", path: "description", message });
}

/** The agent that gets the thread from a tool; undefined for any other tool. */
export function receiverOf(tool: AnyTool | undefined): Receiver | undefined {
  return tool === undefined ? undefined : (tool as { readonly [RECEIVER]?: Receiver })[RECEIVER]; // `handoff` has set it
}
