import { cpSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inScratch, root, runScript } from "../docs/built.ts";

const PROGRAM = `import { AgentServer, defineAgent, openStore } from "./src/index.ts";
import { scriptedModel } from "./src/testing.ts";
const store = await openStore("sqlite:./sources.db");
const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["Four."]) }), store });
const request = await server.ask("What is 2 + 2?");
const { text } = await request.result;
const thread = await store.load(server.threadId);
await server.stop();
await store.close();
const postgres = await openStore("postgres://nobody@127.0.0.1:1/none").catch(({ code }) => code);
console.log(JSON.stringify([text, thread.entryCount > 1, postgres]));
`;

test("the sources run an agent on SQLite, and reach Postgres, where there is no dist", async () => {
  await inScratch(async (folder) => {
    cpSync(join(root, "src"), join(folder, "src"), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "name": "heddle", "type": "module" }');
    writeFileSync(join(folder, "program.ts"), PROGRAM);
    const { stdout, stderr } = await runScript("program.ts", folder);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual(["Four.", true, "store_unreachable"]);
  });
});
