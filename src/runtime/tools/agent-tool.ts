import type { AnyAgent } from "../../agent/definition/config.ts";
import { checkAgent } from "../../agent/definition/define-agent.ts";
import { ToolError } from "../../agent/definition/errors.ts";
import { type InferInput, type InputSchema, jsonSchema } from "../../agent/definition/schema.ts";
import { type AnyTool, childResult, type Tool, type ToolResult, type Tools } from "../../agent/definition/tool.ts";
import { contentOf } from "../../projection/transcript/payload.ts";
import { describe } from "../../thread/json.ts";
import type { Content } from "../../thread/message.ts";
import type { OptionNames } from "../../thread/options.ts";
import { checkToolOptions, receiverOf } from "./handoff.ts";

/** The description of the agent for a model, and how the arguments of a call become an ask. */
export interface AgentToolOptions<Schema extends InputSchema = InputSchema>
  extends Pick<Tool<InferInput<Schema>>, "needsApproval" | "approval" | "exclusive"> {
  /** The text from which the model knows what the agent does and when to ask it. */
  readonly description: string;
  /** The arguments of a call. Default: `{ task }`, a text. */
  readonly inputSchema?: Schema | undefined;
  /** Makes the ask from the arguments. It may run again after a crash. Default: the task, or the arguments as JSON. */
  readonly prompt?: ((input: InferInput<Schema>) => Content) | undefined;
}

const NAMES: OptionNames<AgentToolOptions> = {
  description: true,
  inputSchema: true,
  prompt: true,
  needsApproval: true,
  approval: true,
  exclusive: true,
};

const TASK = {
  type: "object",
  properties: { task: { type: "string", description: "The whole task: the agent sees nothing else." } },
  required: ["task"],
  additionalProperties: false,
} as const;

/** A call without a task must not start an agent, which costs money. */
const TASK_INPUT = jsonSchema(TASK, {
  validate: (input) => {
    const { task } = Object(input) as { readonly task?: unknown };
    if (typeof task === "string") return { success: true, value: { task } };
    return { success: false, error: new TypeError("needs the field task, a text") };
  },
});

/** A registered symbol: it works across copies of this package, and stays when a tool is spread. */
const AGENT = Symbol.for("heddle.agent-of-tool");

/**
 * A tool that asks another agent. Each call is a thread of its own, linked by the refs `parentThreadId` and `parentCallId`. The
 * call waits without a time limit, also across restarts, and its result is the answer. It needs an `AgentHost`, which serves the
 * agent too.
 *
 * @example
 * const agent = defineAgent({ name: "researcher", model: scriptedModel(["42"]) });
 * const tools = { research: agentTool(agent, { description: "Finds facts" }) };
 */
export function agentTool<const Schema extends InputSchema = typeof TASK>(
  agent: AnyAgent,
  options: AgentToolOptions<Schema>,
): Tool<InferInput<Schema>, unknown> {
  checkAgent("agent", agent);
  checkToolOptions("agentTool", options, NAMES);
  const { description, inputSchema, prompt = taskIn, ...more } = options;
  if (typeof prompt !== "function") {
    const message = `agentTool: prompt must be a function that makes the ask from the arguments, not ${describe(prompt)}.`;
    throw new ToolError({ code: "invalid_options", path: "prompt", message });
  }
  const execute = (input: InferInput<Schema>): ToolResult =>
    childResult({ agent: agent.name, content: contentOf(prompt(input), "The answer of prompt") });
  const schema = inputSchema ?? TASK_INPUT;
  const tool: Tool<InferInput<Schema>, unknown> = {
    description,
    inputSchema: schema,
    ...more,
    execute,
    repeatable: true,
  };
  return { ...tool, ...{ [AGENT]: agent } };
}

function taskIn(input: unknown): string {
  const { task } = Object(input) as { readonly task?: unknown };
  return typeof task === "string" ? task : JSON.stringify(input);
}

/** The agent that a tool asks; undefined for any other tool. */
export function agentOfTool(tool: AnyTool | undefined): AnyAgent | undefined {
  return tool === undefined ? undefined : (tool as { readonly [AGENT]?: AnyAgent })[AGENT]; // `agentTool` has set it
}

/** The agents that these tools ask or hand over to, and those of their tools. */
export function agentsInTools(tools: Tools): readonly AnyAgent[] {
  return Object.values(tools).flatMap((tool) => {
    const agent = agentOfTool(tool) ?? receiverOf(tool)?.agent;
    return agent === undefined ? [] : [agent, ...agentsInTools(agent.tools)];
  });
}
