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

/**
 * Returns the agent that answers. It is the agent that the file exports, else one on the model whose key is in the
 * environment, else the offline demo. The choice between the last two is printed on stderr.
 */
export async function agentFor(io: Io, out: Output, file: string | undefined): Promise<AnyAgent> {
  if (file !== undefined) return agentIn(io, file);
  const model = await modelFromEnv(io.env);
  if (model !== undefined) {
    await out.info(out.paintError("dim", `${qualifiedModelName(model)} answers.`));
    return assistantAgent(model);
  }
  await out.info(
    out.paintError(
      "dim",
      "The offline demo answers. It is not a language model. Set ANTHROPIC_API_KEY or OPENAI_API_KEY for one.",
    ),
  );
  return offlineDemo(io);
}

/** Returns the agent for commands that only read. It gets no requests, and nothing is printed. */
export async function readerFor(io: Io, file: string | undefined): Promise<AnyAgent> {
  return file === undefined ? offlineDemo(io) : agentIn(io, file);
}

function offlineDemo({ env }: Io): AnyAgent {
  const wordMs = Number(env["HEDDLE_DEMO_WORD_MS"] || Number.NaN);
  return demoAgent(Number.isNaN(wordMs) ? {} : { wordMs });
}

async function agentIn(io: Io, file: string): Promise<AnyAgent> {
  const [agent] = agentsOf(await moduleIn(io, file), file);
  return agent;
}

/** All agents that the file exports, its default first, then `agent`. */
export function agentsOf(module: Exports, file: string): readonly [AnyAgent, ...AnyAgent[]] {
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
