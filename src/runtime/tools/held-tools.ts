import { checkAgentTools } from "../../agent/definition/checks.ts";
import type { AnyAgent } from "../../agent/definition/config.ts";
import type { AnyTool, ResolveTool, Tools } from "../../agent/definition/tool.ts";
import { type HeldSettings, specOfSetting } from "../../lanes/setting.ts";
import type { Setting } from "../../thread/kinds.ts";
import type { OnError } from "../callbacks.ts";
import type { Live, ToolFacts } from "../live/live.ts";
import type { RegisteredTool, ThreadOptions } from "../perform/scene.ts";
import { traitsOf } from "../server/settings.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";

type ToolSetting = Extract<Setting, { readonly type: "tool" }>;

/** Where the code of a tool in the log is found. */
export interface ToolSources {
  readonly definition: AnyAgent;
  /** The specifications of the tools of the definition, as the model is shown them. */
  readonly facts: ToolFacts;
  readonly registered: ReadonlyMap<string, RegisteredTool>;
  readonly resolveTool: ResolveTool | undefined;
  readonly threadId: string;
  readonly limit: HookLimit;
  readonly warn: (message: string) => void;
  readonly onError: OnError;
}

/** The sources that a thread has when it starts. */
export function toolSources(options: ThreadOptions): Omit<ToolSources, "facts"> {
  const {
    definition,
    resolveTool = definition.resolveTool,
    registered,
    threadId,
    ports,
    warnOnce: warn,
    onError,
  } = options;
  const limit = { ports, timeoutMs: definition.hookTimeoutMs };
  return { definition, registered, resolveTool, threadId, limit, warn, onError };
}

/** The tools of an agent after its settings. */
export interface HeldTools {
  readonly code: Tools;
  readonly facts: ToolFacts;
  /** The seqs of the settings that were read. Empty if there are none. */
  readonly seqs: readonly number[];
  readonly unresolved: Live["unresolved"];
}

/** Finds the code of the tools that were set. A tool without code is left out, with a warning. */
export async function findHeldTools(sources: ToolSources, { tools: settings, seqs }: HeldSettings): Promise<HeldTools> {
  const { definition, facts } = sources;
  if (settings.size === 0) return { code: definition.tools, facts, seqs, unresolved: [] };
  const set = [...settings.values()].filter((setting) => setting.type === "tool");
  const found = await Promise.all(set.map(async (setting) => ({ setting, tool: await findCode(sources, setting) })));
  const known = found.flatMap(({ setting, tool }) => (typeof tool === "string" ? [] : [{ setting, tool }]));
  const unresolved = found.flatMap(({ setting: { name }, tool }) =>
    typeof tool === "string" ? [{ name, reason: tool }] : [],
  );
  const own = Object.entries(definition.tools).filter(([name]) => !settings.has(name));
  const specs = new Map(facts.tools.map((spec) => [spec.name, spec]));
  for (const name of settings.keys()) specs.delete(name);
  for (const { setting } of known) specs.set(setting.name, specOfSetting(setting));
  const traits = known.map(({ setting: { name }, tool }) => [name, traitsOf(tool)] as const);
  return {
    code: Object.fromEntries([...own, ...known.map(({ setting: { name }, tool }) => [name, tool] as const)]),
    facts: { tools: [...specs.values()], traits: { ...facts.traits, ...Object.fromEntries(traits) } },
    seqs,
    unresolved,
  };
}

const HOOK = { name: "The function `resolveTool`", code: "tool_unresolved" };

/** The code of a tool, or the reason why there is none. */
async function findCode(sources: ToolSources, setting: ToolSetting): Promise<AnyTool | string> {
  const { definition, registered, resolveTool, threadId, limit, warn, onError } = sources;
  const { name, hash, description, inputSchema } = setting;
  const here = registered.get(name);
  if (here?.hash === hash) return here.tool;
  if (Object.hasOwn(definition.tools, name)) return definition.tools[name] as AnyTool; // hasOwn is true
  let trouble = "no `resolveTool` is given";
  if (resolveTool !== undefined) {
    try {
      const spec = { ...(description !== undefined && { description }), schema: inputSchema, hash };
      const tool = await hookAnswer(limit, HOOK, () => resolveTool(name, spec));
      if (tool !== undefined) checkAgentTools({ [name]: tool });
      if (tool !== undefined) return tool;
      trouble = "`resolveTool` does not know it";
    } catch (error) {
      if (limit.signal?.aborted) throw error;
      onError(error, { code: HOOK.code, threadId, toolName: name });
      trouble = "`resolveTool` failed";
    }
  }
  const reason = `The agent's \`tools\` do not have it, and ${trouble}.`;
  warn(
    `tool_unresolved: thread ${threadId} has the tool ${JSON.stringify(name)}. ${reason} The model is not shown it.`,
  );
  return reason;
}
