import type { Content, Thread, ToolSpec } from "heddle";
import { ContextPolicy, project } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { qualifiedModelName } from "../../../src/agent/definition/language-model.ts";
import { callModel } from "../../../src/runtime/model/call.ts";
import { systemRuntimePorts } from "../../../src/runtime/ports.ts";
import { startChild } from "../../support/child.ts";
import { type ApiName, type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { APIS, EVERY_WAY, modelAt } from "./support/models.ts";
import { proveBodies, weatherIn } from "./support/stage.ts";
import { THREAD } from "./support/thread.ts";

const script = new URL("./support/agent-process.ts", import.meta.url);

function bookIn(city: string) {
  return { ...weatherIn(city), name: "book" };
}

describe.each(EVERY_WAY)("$api, $way", ({ api, streaming }) => {
  test("a process that steers, cancels and is killed leaves a thread that continues, and that every provider accepts", async () => {
    const provider = await startProtocolServer();
    onTestFinished(() => provider.stop());
    provider.answer(
      { thinking: "Three things.", text: "Looking.", calls: [weatherIn("Bern"), bookIn("Basel"), weatherIn("Bonn")] },
      { thinking: "Sunny all over.", text: "Go to Bern." },
      { error: "stall", thinking: "A story.", text: ["Once ", "upon"], after: api === "openai-chat" ? 1 : 4 },
      { thinking: "Book it.", calls: [weatherIn("Rome"), bookIn("Oslo"), weatherIn("Pisa")] },
      { thinking: "It may be booked.", text: "Check the booking." },
    );
    const path = fastFile();
    const start = (life: number) => startChild(script, provider.url, api, path, String(streaming), String(life));

    const first = start(1);
    await provider.received(3);
    first.tell("cancel");
    const hung = ["hangs in Oslo", "hangs in Pisa", "weather completed"];
    await until(first, (lines) => hung.every((line) => lines.slice(lines.indexOf("cancelled")).includes(line)));
    await first.kill();
    expect(first.lines).toContain("Go to Bern.");

    const second = start(2);
    await second.ended;
    expect(second.lines).toEqual(["ran in Pisa", "Check the booking."]);

    const store = sqliteStore(path);
    onTestFinished(() => store.close());
    const thread = await store.load(THREAD);
    if (thread === undefined) throw new Error("The thread is lost.");
    expect(storyOf(thread)).toEqual(storyOn(api, streaming));
    expect(provider.requests.map(({ violation }) => violation)).toEqual(Array(5).fill(undefined));
    expect(await provider.requests[2]?.ended).toBe("aborted");
    expect(await proveBodies({ provider, store, model: modelAt(provider.url, api), streaming })).toBe(5);
    await expectTakenByAll(provider, thread, streaming ? 0 : thread.lastSeq);
  });
});

/** Each state that the thread was in since that entry, with one more ask, shown to each of the APIs. */
async function expectTakenByAll(provider: ProtocolServer, thread: Thread, fromSeq: number): Promise<void> {
  provider.answer(() => ({ text: "Yes." }));
  const before = provider.requests.length;
  for (let seq = fromSeq; seq <= thread.lastSeq; seq++) {
    for (const api of APIS) {
      const model = modelAt(provider.url, api);
      const { messages } = project({
        thread: thread.upTo(seq),
        policy: ContextPolicy.longContext(),
        pending: { role: "user", content: "Is that so?" },
        system: "Be brief.",
        tools: TOOLS,
        model: qualifiedModelName(model),
      });
      const { content } = await callModel({ model, messages, tools: TOOLS, cache: true, ports: systemRuntimePorts });
      expect(content === "Yes." || JSON.stringify(content).includes("Yes.")).toBe(true);
    }
  }
  const asked = provider.requests.slice(before);
  expect(asked).toHaveLength((thread.lastSeq + 1 - fromSeq) * APIS.length);
  expect(asked.filter(({ accepted }) => !accepted)).toEqual([]);
}

const TOOLS: readonly ToolSpec[] = ["weather", "book"].map((name) => ({
  name,
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
}));

/** What the log tells in the end; OpenAI's chat keeps its thinking to itself. */
function storyOn(api: ApiName, streaming: boolean): readonly string[] {
  const thought = (text: string): string => (api === "openai-chat" ? "" : `(${text}) `);
  return [
    "user: Plan a trip.",
    `assistant: ${thought("Three things.")}Looking. -> Bern, Basel, Bonn`,
    // The tool of Bern ends last: it waits until its words are durable.
    ...["Basel", "Bonn", "Bern"].map((city) => `tool: Sunny in ${city}.`),
    "user: And what of Rome?",
    `assistant: ${thought("Sunny all over.")}Go to Bern. [completed]`,
    "user: Tell me a story.",
    ...(streaming ? ["assistant: Once ..."] : []),
    "error:  [cancelled]",
    "user: Book it.",
    `assistant: ${thought("Book it.")} -> Rome, Oslo, Pisa`,
    "tool: Sunny in Rome.",
    "note: ",
    "tool: interrupted",
    "tool: Sunny in Pisa.",
    `assistant: ${thought("It may be booked.")}Check the booking. [completed]`,
  ].map((line) => line.replaceAll(/ +/g, " "));
}

interface Said {
  readonly role?: string;
  readonly content?: Content;
  readonly toolCalls?: readonly { readonly arguments: { readonly city: string } }[];
  readonly partial?: true;
  readonly isError?: true;
  readonly end?: { readonly status: string };
}

/** The log in short lines. */
function storyOf(thread: Thread): readonly string[] {
  return thread.toArray().map(({ kind, payload }) => {
    const { role = kind, content = "", toolCalls = [], partial, isError, end } = payload as Said; // of this story's kinds
    const calls = toolCalls.map((call) => call.arguments.city).join(", ");
    const what = isError ? textOf(content).match(/"type":"(\w+)"/)?.[1] : textOf(content);
    const more = [partial && "...", calls && ` -> ${calls}`, end && ` [${end.status}]`].filter(Boolean);
    return `${role}: ${what}${more.join("")}`.replaceAll(/ +/g, " ");
  });
}

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => (part.type === "thinking" ? `(${part.text}) ` : part.type === "text" ? part.text : ""))
    .join("");
}

async function until(child: ReturnType<typeof startChild>, isSo: (lines: readonly string[]) => boolean): Promise<void> {
  while (!isSo(child.lines)) {
    const { length } = child.lines;
    await child.wrote(length + 1);
    if (child.lines.length === length) {
      await child.ended;
      throw new Error(`The process has ended, and wrote: ${child.lines.join(", ")}`);
    }
  }
}
