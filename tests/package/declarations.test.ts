import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root, run } from "../docs/built.ts";
import { inProject } from "./support/installed.ts";

/** What a library on top of heddle may export without writing a type down. */
const LIBRARY = `
import { type AgentDefinition, AgentHost, AgentServer, type AskArguments, type ToolsContext, defineAgent, type InputSchema, type ProviderModel, memoryStore, openTelemetry, react, type RunOptions, defineTool, type Tools } from "heddle";
import { defineAction } from "heddle/core";
import { chatTurn, projectionStep } from "heddle/ai-sdk";
import { scriptedModel, specify } from "heddle/testing";

declare const model: ProviderModel;
export const withTools = <Given extends Tools>(tools: Given) => defineAgent({ model, tools });
export const withOutput = <Schema extends InputSchema>(output: Schema) => defineAgent({ model, output });
export const echo = <Schema extends InputSchema>(inputSchema: Schema) => defineTool({ inputSchema, execute: (input) => input });
export const action = defineAction({ name: "a", inputSchema: { type: "object" }, run: () => 1 });
export const run = <Schema extends InputSchema>(output: Schema) => react.run("Hi.", { model, output });
type Running<Given extends Tools> = AskArguments<RunOptions<AgentDefinition<Given, ToolsContext<Given>>>>;
export const started = <Given extends Tools>(tools: Given, ...options: Running<Given>) =>
  react.start("Hi.", { model, tools }, ...options);
export const server = <Given extends Tools>(tools: Given) =>
  AgentServer.start({ agent: withTools(tools), store: memoryStore() });
export const host = AgentHost.create({ agent: defineAgent({ model }), store: memoryStore() });
export const turn = () => chatTurn(host, "thread_1", []);
export const step = projectionStep({});
export const called = () => model.doGenerate({ prompt: [] });
export const streamed = () => model.doStream({ prompt: [] });
export const begun = async () => (await openTelemetry()).request;
export const scripted = scriptedModel([]);
export const answered = scripted.doGenerate({ prompt: [] });
export const outcome = specify({}).given([]);
`;

/** The types of these are named in `heddle/core`, which this library does not import. */
const ONE_IMPORT = `
import { react } from "heddle";
export const agent = react();
`;

/** Values that may be missing, as the flag makes them differ from options that are left out. */
const APPLICATION = `
import { AgentHost, ContextPolicy, createProjector, defineAgent, type ProviderModel, memoryStore, openCalls, openStore, project,
  type ProjectionInput, react, Thread, defineTool } from "heddle";
import { chatTurn, projectionStep, toAISDKPrompt, uiMessageStreamResponse } from "heddle/ai-sdk";
import { toAnthropic } from "heddle/providers";

declare const model: ProviderModel;
declare const text: string | undefined;
declare const count: number | undefined;
declare const signal: AbortSignal | undefined;
const thread = Thread.create({ id: text });
const input: ProjectionInput = { thread, model: text, system: text, policy: { maxTurns: count, window: { step: count } } };
const { messages, meta } = project(input);
export const prompt = toAISDKPrompt(messages, { cache: { stablePrefix: meta.stablePrefix } });
export const anthropic = toAnthropic(messages, [], { cache: { stablePrefix: meta.stablePrefix } });
export const again = createProjector().project(input);
export const policy = ContextPolicy.create({ maxInputTokens: count, toolResults: { maxTokens: count } });
export const calls = openCalls(thread, { lane: text });
export const sum = defineTool({ description: text, inputSchema: { type: "object" }, timeoutMs: count, execute: () => 1 });
export const agent = defineAgent({ name: text, model, tools: { sum }, maxIterations: count, limits: { maxTokens: count } });
export const host = AgentHost.create({ agent, store: memoryStore({ tenant: text }), idleMs: count });
export const asked = host.ask("thread_1", "Hi.", { requestId: text, signal, maxIterations: count });
export const ran = react.run("Hi.", { model }, { thread, signal });
export const opened = openStore("memory:", { tenant: text });
export const step = projectionStep({ system: text });
export const response = async () => {
  const { request, ...turn } = await chatTurn(host, "thread_1", [], { trigger: text });
  return uiMessageStreamResponse(request, { ...turn, messageId: text });
};
`;

const OPTIONS = "--ignoreConfig --singleThreaded --target es2023 --module nodenext --strict --types node";

/** What tsc says to a program, or to several, in a folder where heddle is installed. */
async function compiled(
  programs: { readonly [name: string]: string },
  flags: string,
  packages: readonly string[] = [],
) {
  return inProject(async (folder) => {
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const args = [tsc, ...`${OPTIONS} ${flags}`.split(" "), ...Object.keys(programs)];
    const { stdout, stderr } = await run(process.execPath, args, folder);
    return stdout + stderr;
  }, packages);
}

test("whatever heddle infers for a library on top of it can be named there", async () => {
  const flags = "--declaration --emitDeclarationOnly --outDir types --skipLibCheck";
  expect(await compiled({ "library.ts": LIBRARY }, flags)).toBe("");
  expect(await compiled({ "library.ts": ONE_IMPORT }, flags)).toBe("");
});

test("an application compiles with exactOptionalPropertyTypes, and heddle's declarations are checked too", async () => {
  const flags = "--noEmit --exactOptionalPropertyTypes --noUncheckedIndexedAccess";
  expect(await compiled({ "application.ts": APPLICATION }, flags)).toBe("");
});

test("the examples compile with exactOptionalPropertyTypes", async () => {
  const names = globSync("*.ts", { cwd: join(root, "examples") });
  const examples = Object.fromEntries(names.map((name) => [name, readFileSync(join(root, "examples", name), "utf8")]));
  expect(await compiled(examples, "--noEmit --exactOptionalPropertyTypes --skipLibCheck", ["ai"])).toBe("");
});
