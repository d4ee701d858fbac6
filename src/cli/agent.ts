import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyAgent } from "../agent/definition/config.ts";
import { isAgent } from "../agent/definition/define-agent.ts";
import { qualifiedModelName } from "../agent/definition/language-model.ts";
import { assistantAgent, modelFromEnv } from "../studio/default-agent.ts";
import { demoAgent } from "../studio/demo/demo-agent.ts";
import { isPlainObject } from "../thread/json.ts";
import { badUsage, CliError, EXIT, type Io } from "./io.ts";
import type { Output } from "./output.ts";

/** The agent that answers in new threads, and the others. */
export type Agents = readonly [AnyAgent, ...AnyAgent[]];

/**
 * Returns the agents that answer. They are those that the file exports, else one on the model whose key is in the
 * environment, else the offline demo. The choice between the last two is printed on stderr.
 */
export async function agentsFor(io: Io, out: Output, given: string | undefined): Promise<Agents> {
  if (given !== undefined) return namedAgents(io, given);
  const model = await modelFromEnv(io.env);
  if (model !== undefined) {
    await out.info(out.paintError("dim", `${qualifiedModelName(model)} answers.`));
    return [assistantAgent(model)];
  }
  await out.info(
    out.paintError(
      "dim",
      "The offline demo answers. It is not a language model. Set ANTHROPIC_API_KEY or OPENAI_API_KEY for one.",
    ),
  );
  return [offlineDemo(io)];
}

/** Returns the agents for commands that only read. They get no requests, and nothing is printed. */
export async function readersFor(io: Io, given: string | undefined): Promise<Agents> {
  return given === undefined ? [offlineDemo(io)] : namedAgents(io, given);
}

function offlineDemo({ env }: Io): AnyAgent {
  const wordMs = Number(env["HEDDLE_DEMO_WORD_MS"] || Number.NaN);
  return demoAgent(Number.isNaN(wordMs) ? {} : { wordMs });
}

/** The name after the # in --agent, if there is one. */
export function chosenAgent(given: string | undefined): string | undefined {
  return /#([^#/]+)$/.exec(given ?? "")?.[1];
}

/** The agents of a file. The name after a # is of the one that answers in new threads: `agents.ts#support`. */
async function namedAgents(io: Io, given: string): Promise<Agents> {
  const name = chosenAgent(given);
  const file = name === undefined ? given : given.slice(0, -name.length - 1);
  const agents = agentsOf(await moduleIn(io, file), file);
  if (name === undefined) return agents;
  const first = agents.find((agent) => agent.name === name);
  if (first !== undefined) return [first, ...agents.filter((agent) => agent !== first)];
  const names = agents.map((agent) => agent.name).join(", ");
  throw new CliError({
    code: "agent_missing",
    exit: EXIT.usage,
    message: `${file} has no agent ${name}: it has ${names}.`,
  });
}

/** All agents that the file exports, its default first, then `agent`. */
export function agentsOf(module: Exports, file: string): Agents {
  const exports = new Set([module["default"], module["agent"], ...Object.values(module)]);
  const [agent, ...others] = [...exports].filter(isAgent);
  if (agent !== undefined) return [agent, ...others];
  throw new CliError({
    code: "agent_missing",
    exit: EXIT.usage,
    message: `${file} exports no agent. Export the result of defineAgent(): export const agent = defineAgent({ … }).`,
  });
}

export type Exports = { readonly [name: string]: unknown };

/** Options that the file exports. The function that gets them checks them. */
export function exported<Options extends object>(module: Exports, name: string, file: string): Options {
  const given = module[name];
  if (given === undefined) return {} as Options; // all are optional
  if (isPlainObject(given)) return given as Options; // checked where they are used
  throw badUsage(`${file} exports \`${name}\`, which must be an object of options.`);
}

export async function moduleIn(io: Io, file: string): Promise<Exports> {
  try {
    return await import(pathToFileURL(resolve(io.cwd, file)).href);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : "it threw a value that is no Error";
    const message = `The agent in ${file} cannot be loaded: ${why}`;
    throw new CliError({ code: "agent_missing", exit: EXIT.usage, message, cause });
  }
}
