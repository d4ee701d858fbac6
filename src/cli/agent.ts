import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyAgent } from "../agent/definition/agent.ts";
import { isAgent } from "../agent/definition/define-agent.ts";
import { modelNameOf } from "../agent/definition/language-model.ts";
import { assistant } from "../studio/agents/assistant.ts";
import { modelFromEnv } from "../studio/agents/model-from-env.ts";
import { demoAgent } from "../studio/demo/demo-agent.ts";
import { CliError, EXIT } from "./exit.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";

/** Who answers: the agent of a file, a plain one on the model there is a key for, or the offline demo; said on stderr. */
export async function agentFor(io: Io, out: Output, file: string | undefined): Promise<AnyAgent> {
  if (file !== undefined) return agentIn(io, file);
  const model = await modelFromEnv(io.env);
  if (model !== undefined) {
    await out.say(out.talk("dim", `${modelNameOf(model)} answers.`));
    return assistant(model);
  }
  await out.say(out.talk("dim", "The offline demo answers, which is not a language model: there is no key for one."));
  return offlineDemo(io);
}

/** For what only reads: it says nothing, and is not asked. */
export async function readerFor(io: Io, file: string | undefined): Promise<AnyAgent> {
  return file === undefined ? offlineDemo(io) : agentIn(io, file);
}

function offlineDemo({ env }: Io): AnyAgent {
  const wordMs = Number(env["HEDDLE_DEMO_WORD_MS"] || Number.NaN);
  return demoAgent(Number.isNaN(wordMs) ? {} : { wordMs });
}

async function agentIn(io: Io, file: string): Promise<AnyAgent> {
  const module = await loaded(io, file);
  const exports = [module["default"], module["agent"], ...Object.values(module)];
  const agent = exports.find(isAgent);
  if (agent !== undefined) return agent;
  throw new CliError({
    code: "agent_missing",
    exit: EXIT.usage,
    message: `${file} exports no agent. Export what defineAgent() gave: export const agent = defineAgent({ … }).`,
  });
}

async function loaded(io: Io, file: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    return await import(pathToFileURL(resolve(io.cwd, file)).href);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : "it threw something";
    const message = `The agent in ${file} cannot be loaded: ${why}`;
    throw new CliError({ code: "agent_missing", exit: EXIT.usage, message, cause });
  }
}
