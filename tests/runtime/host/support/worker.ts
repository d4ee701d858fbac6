import { writeSync } from "node:fs";
import { argv } from "node:process";
import { createInterface } from "node:readline";
import type { AnyAgent } from "../../../../src/agent/definition/config.ts";
import { defineAgent } from "../../../../src/agent/definition/define-agent.ts";
import { AgentHost } from "../../../../src/runtime/host/agent-host.ts";
import { scriptedModel } from "../../../../src/scripted-model/scripted-model.ts";
import { sqliteStore } from "../../../../src/stores/sqlite/sqlite-store.ts";

// One process with a host. Reads commands, one JSON list in each line, and writes what came of them.

const [, , path = "", script = "[]", names] = argv;
const say = (...words: readonly unknown[]): void => void writeSync(1, `${JSON.stringify(words)}\n`);

const pay = {
  inputSchema: { type: "object" as const },
  needsApproval: true,
  execute: () => {
    say("ran");
    return "paid";
  },
};
const found = { inputSchema: { type: "object" as const }, execute: () => "found" };
const agent = defineAgent({
  model: scriptedModel(JSON.parse(script)),
  tools: { pay },
  resolveTool: (name) => (name === "find" ? found : undefined),
  tokenSecret: "a secret of at least 32 bytes....",
}) as AnyAgent;
const store = sqliteStore(path);
/** The agents of the host, if it has several. */
const agents = names === undefined ? undefined : Object.fromEntries(names.split(",").map((name) => [name, agent]));
const host = AgentHost.create({ ...(agents ? { agents } : { agent }), store, leaseTtlMs: 500 });

async function obey([command, threadId, argument, name]: readonly string[]): Promise<unknown> {
  switch (command) {
    case "ask": {
      const request = await host.ask(threadId ?? "", argument ?? "", { agent: name });
      say("asked");
      let asked = false;
      for await (const event of request.events()) {
        if (event.kind === "approval_requested") asked = true;
        if (event.kind === "checkpoint" && asked) say("waiting", event.data.token);
        if (event.kind === "request_completed") say("completed", event.data.text);
      }
      return "read";
    }
    case "approve":
      await host.approve(threadId ?? "", argument ?? "");
      return "approved";
    case "prompt":
      return (await (await host.get(threadId ?? "")).setSystemPrompt(argument ?? "")).status;
    case "register":
      return (await (await host.get(threadId ?? "")).registerTool(argument ?? "", found)).status;
    case "read": {
      const [waiting, explained] = [await host.waiting(threadId ?? ""), await host.explain(threadId ?? "")];
      return JSON.stringify({ waiting, explained, entries: (await host.thread(threadId ?? "")).toArray() });
    }
    case "work":
      host.work();
      return "works";
    case "resume": {
      const request = await host.resume(threadId ?? "");
      return request === undefined ? "nothing" : (await request.result).text;
    }
    default:
      await host.stop({ graceMs: 0 });
      await store.close();
      return "stopped";
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as string[];
  obey(command).then(
    (answer) => {
      say("did", command[0], answer);
      if (command[0] === "stop") process.exit(0);
    },
    (error: { readonly code?: string }) => say("failed", command[0], error.code),
  );
});
say("ready");
