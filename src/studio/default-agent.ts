import { defineAgent } from "../agent/definition/define-agent.ts";
import type { ProviderModel } from "../agent/definition/language-model.ts";
import { systemRuntimePorts } from "../runtime/ports.ts";
import { demoTools } from "./demo/demo-tools.ts";
import { StudioError } from "./http/response.ts";

/**
 * An agent for a real model, with the demo's tools to try out. The tools use no network.
 * @example
 * const agent = assistantAgent(scriptedModel(["Hello."]));
 * console.log(Object.keys(agent.tools)[0]); // calculator
 */
export function assistantAgent(model: ProviderModel) {
  return defineAgent({
    name: "assistant",
    model,
    systemPrompt:
      "You are a helpful assistant. Your tools are for trying things out: a calculator, and small fixed tables of cities, " +
      "their weather and some prices. send_money only pretends.",
    tools: demoTools({ after: systemRuntimePorts.after, isSlow: false }),
    maxIterations: 40,
  });
}

type Env = { readonly [name: string]: string | undefined };

type PackageName = "@ai-sdk/anthropic" | "@ai-sdk/google" | "@ai-sdk/openai" | "@ai-sdk/openai-compatible";

interface ProviderPackage {
  /** The npm package of the provider, an optional peer dependency. */
  readonly pack: PackageName;
  readonly create: string;
  readonly settings: { readonly [name: string]: string };
  readonly modelId: string;
}

/**
 * The model whose key is in the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, or
 * OPENAI_BASE_URL for any server with OpenAI's Chat API. HEDDLE_MODEL names another model than the default of the provider.
 * Undefined if there is no key. This loads the package of the provider; if it is missing, the error says how to install it.
 *
 * @example
 * const model = await modelFromEnv(process.env);
 * const studio = await startStudio({ port: 0, url: "memory:", agent: model && assistantAgent(model) });
 * await studio.stop();
 */
export async function modelFromEnv(env: Env): Promise<ProviderModel | undefined> {
  const maker = makerFor(env);
  if (maker === undefined) return undefined;
  const { pack, create, settings, modelId } = maker;
  const make = (await loadProvider(pack))[create];
  if (typeof make !== "function") throw missing(pack);
  return make(settings)(modelId) as ProviderModel; // each AI SDK provider is a function that takes a model id
}

function makerFor(env: Env): ProviderPackage | undefined {
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, OPENAI_BASE_URL } = env;
  const model = env["HEDDLE_MODEL"]?.replace(/^[a-z-]+[:/](?=.)/, "");
  const provider = /^(anthropic|openai|google)[:/]/.exec(env["HEDDLE_MODEL"] ?? "")?.[1];
  const wants = (name: string): boolean => provider === undefined || provider === name;
  if (OPENAI_BASE_URL) {
    const key = OPENAI_API_KEY ? { apiKey: OPENAI_API_KEY } : {};
    const settings = { name: "openai-compatible", baseURL: OPENAI_BASE_URL, ...key };
    const modelId = env["HEDDLE_MODEL"] ?? "default"; // not split at a slash, which names of such servers may have
    return { pack: "@ai-sdk/openai-compatible", create: "createOpenAICompatible", settings, modelId };
  }
  if (ANTHROPIC_API_KEY && wants("anthropic")) {
    const settings = { apiKey: ANTHROPIC_API_KEY };
    return { pack: "@ai-sdk/anthropic", create: "createAnthropic", settings, modelId: model ?? "claude-sonnet-5" };
  }
  if (OPENAI_API_KEY && wants("openai")) {
    const settings = { apiKey: OPENAI_API_KEY };
    return { pack: "@ai-sdk/openai", create: "createOpenAI", settings, modelId: model ?? "gpt-5" };
  }
  if (GOOGLE_GENERATIVE_AI_API_KEY && wants("google")) {
    const settings = { apiKey: GOOGLE_GENERATIVE_AI_API_KEY };
    return { pack: "@ai-sdk/google", create: "createGoogleGenerativeAI", settings, modelId: model ?? "gemini-3-flash" };
  }
  return undefined;
}

/**
 * Package names are literals, so that bundlers can follow them. Inside `try`, a missing optional package is only a
 * warning.
 */
async function loadProvider(pack: PackageName): Promise<{ readonly [name: string]: unknown }> {
  try {
    switch (pack) {
      case "@ai-sdk/anthropic":
        return await import("@ai-sdk/anthropic");
      case "@ai-sdk/google":
        return await import("@ai-sdk/google");
      case "@ai-sdk/openai":
        return await import("@ai-sdk/openai");
      case "@ai-sdk/openai-compatible":
        return await import("@ai-sdk/openai-compatible");
    }
  } catch {
    throw missing(pack);
  }
}

function missing(pack: string): StudioError {
  const message = `There is a key for a model, but the package ${pack} is not installed. Install it: npm install ${pack}`;
  return new StudioError({ code: "provider_missing", status: 500, message });
}
