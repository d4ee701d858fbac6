import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { inScratch, mustBeBuilt, root, run } from "../docs/built.ts";

/** What a library on top of heddle may export without writing a type down. */
const LIBRARY = `
import { type Agent, AgentHost, AgentServer, type AskArguments, type ContextFor, defineAction, defineAgent, type InputSchema,
  type LanguageModel, memoryStore, openTelemetry, react, type RunOptions, tool, type Tools } from "heddle";
import { chatTurn, projectionStep } from "heddle/ai-sdk";
import { scriptedModel, specify } from "heddle/testing";

declare const model: LanguageModel;
export const withTools = <Given extends Tools>(tools: Given) => defineAgent({ model, tools });
export const withOutput = <Schema extends InputSchema>(output: Schema) => defineAgent({ model, output });
export const echo = <Schema extends InputSchema>(inputSchema: Schema) => tool({ inputSchema, execute: (input) => input });
export const action = defineAction({ name: "a", inputSchema: { type: "object" }, run: () => 1 });
export const run = <Schema extends InputSchema>(output: Schema) => react.run("Hi.", { model, output });
type Running<Given extends Tools> = AskArguments<RunOptions<Agent<Given, ContextFor<Given>>>>;
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

const OPTIONS =
  "--ignoreConfig --declaration --emitDeclarationOnly --outDir types --target es2023 --module nodenext --strict --skipLibCheck";

test("whatever heddle infers for a library on top of it can be named there", async () => {
  mustBeBuilt();
  await inScratch(async (folder) => {
    for (const part of ["package.json", "dist"])
      cpSync(join(root, part), join(folder, "node_modules/heddle", part), { recursive: true });
    for (const name of ["uuid", "@noble/hashes", "@types/node", "undici-types"]) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "library.ts"), LIBRARY);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(
      process.execPath,
      [tsc, ...OPTIONS.split(" "), "--types", "node", "library.ts"],
      folder,
    );
    expect(stdout).toBe("");
  });
});
