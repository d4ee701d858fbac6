import { resumeTokens } from "heddle";
import { run } from "./fake-io.ts";

/** An agent whose tool waits for its result, as a module. */
export const AGENT = `
import { defineAgent } from ${JSON.stringify(new URL("../../../src/agent/definition/define-agent.ts", import.meta.url).href)};
import { scriptedModel } from ${JSON.stringify(new URL("../../../src/scripted-model/scripted-model.ts", import.meta.url).href)};
const sensor = { inputSchema: { type: "object", properties: {} } };
export const agent = defineAgent({
  name: "sensors",
  tools: { sensor },
  model: scriptedModel([{ calls: [{ id: "call_1", name: "sensor", arguments: {} }] }, "Cold."]),
});
`;

/** What the files that examples read from hold. */
export async function stdinOf(name: string | undefined): Promise<string | undefined> {
  if (name === "questions.txt") return "What is 1 + 1?\n";
  if (name !== "token.txt") return undefined;
  const state = { runId: "run_1", requestId: "req_1", phase: "after_llm", context: {} } as const;
  return `${await resumeTokens.mint(state, { tokenSecret: "s".repeat(32) })}\n`;
}

/** Where an example names a Studio there is one, on a port of its own. */
const TOKEN = "a-token-of-the-tests";

export async function withServer<Result>(
  words: readonly string[],
  cwd: string,
  work: (args: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const isCalled = words.includes("http://127.0.0.1:4747");
  const isStarted = words[1] === "studio" && !words.includes("--port");
  if (!isCalled) return work([...words.slice(1), ...(isStarted ? ["--port", "0"] : [])]);
  const { promise: url, resolve } = Promise.withResolvers<string>();
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const studio = run(["studio", "--port", "0", "--token", TOKEN], {
    cwd,
    onWrite: (text, interrupt) => {
      if (!text.startsWith("http")) return;
      resolve(`${new URL(text.trim()).origin}/?token=${TOKEN}`);
      void isOver.then(interrupt);
    },
  });
  try {
    const address = await url;
    return await work(words.slice(1).map((word) => (word === "http://127.0.0.1:4747" ? address : word)));
  } finally {
    end();
    await studio;
  }
}
