import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { JsonObject } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import type { AnyTool, Tools } from "../../../src/agent/definition/tool.ts";
import { readBySdk } from "../ui-messages/chat.ts";
import { WAYS } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, told, WEATHER, weatherIn } from "./support/stage.ts";

const search: { readonly [api: string]: unknown } = {
  anthropic: createAnthropic({ apiKey: "none" }).tools.webSearch_20250305({ maxUses: 3 }),
  "openai-responses": createOpenAI({ apiKey: "none" }).tools.webSearch({}),
};
const sent: { readonly [api: string]: JsonObject } = {
  anthropic: { type: "web_search_20250305", name: "web_search", max_uses: 3 },
  "openai-responses": { type: "web_search" },
};
const BERN = { query: "Bern", url: "https://bern.example/" };

const SETTINGS = ["anthropic", "openai-responses"] as const;
const CASES = SETTINGS.flatMap((api) => WAYS.map(({ way, streaming }) => ({ api, way, streaming })));

describe.each(CASES)("a tool that the provider runs: $api, $way", ({ api, streaming }) => {
  const tools: Tools = { find: search[api] as AnyTool, ...WEATHER };

  test("is passed on; call and result are recorded, shown, sent back and rebuilt", async () => {
    const scene = await stage({ api, streaming });
    scene.provider.answer(
      { parts: [{ text: "I look." }, { search: BERN }, { text: "Now the weather." }, { call: weatherIn("Bern") }] },
      { text: "Sunny." },
      { text: "You are welcome." },
    );
    const first = await scene.start({ tools });
    const request = await first.ask("How is Bern?");
    const { message, errors } = await readBySdk(uiMessageStream(request));
    expect(errors).toEqual([]);
    expect((await request.result).text).toBe("Sunny.");
    expect(scene.provider.requests[0]?.body["tools"] as unknown).toMatchObject([sent[api], {}]);
    await first.stop();

    const second = await scene.start({ tools });
    await (await second.ask("Thanks.")).result;
    const history = JSON.stringify(scene.provider.requests[2]?.body);
    expect(history).toContain(api === "anthropic" ? '"type":"web_search_tool_result"' : '"type":"web_search_call"');
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(3);

    const find = (parts: readonly { readonly type: string }[]): object | undefined =>
      parts.find(({ type }) => type === "tool-find");
    const loaded = toUIMessages(await second.thread()).find(({ id }) => id === request.id);
    const shown = find(loaded?.parts ?? []) as JsonObject | undefined;
    expect(shown).toMatchObject({ state: "output-available", providerExecuted: true, output: expect.anything() });
    const { output, input } = shown ?? {};
    expect(JSON.stringify([input, output])).toContain(BERN.query);
    expect(JSON.stringify(output)).toContain(BERN.url);
    expect(find(message.parts)).toMatchObject({ state: "output-available", providerExecuted: true, input, output });
    const started = (await told(request)).filter(({ kind }) => kind === "tool_started");
    expect(started.map(({ toolName }) => toolName)).toEqual(["weather"]); // only this one runs here
  });

  test("is left out for a model that does not have it", async () => {
    const scene = await stage({ api, streaming });
    scene.provider.answer({ text: "No." });
    const other = SETTINGS.find((name) => name !== api) ?? "";
    const server = await scene.start({ tools: { find: search[other] as AnyTool } });
    expect((await (await server.ask("How is Bern?")).result).text).toBe("No.");
    expect(scene.provider.requests.map(({ violation }) => violation)).toEqual([undefined]);
    expect(JSON.stringify(scene.provider.requests[0]?.body)).not.toContain("web_search");
  });
});

describe.each(WAYS)("an answer that Anthropic pauses within a search: $way", ({ streaming }) => {
  const tools: Tools = { find: search["anthropic"] as AnyTool };
  const half = (part: "call" | "result") => ({ search: { ...BERN, half: { part, id: 77 } } });
  const paused = { parts: [{ thinking: "I look." }, half("call")], finish: "pause" } as const;
  const found = { parts: [half("result"), { text: "Sunny." }] };

  test("is sent back, and the next answer ends the request", async () => {
    const scene = await stage({ api: "anthropic", streaming });
    scene.provider.answer(paused, found, { text: "You are welcome." });
    const server = await scene.start({ tools });
    const request = await server.ask("How is Bern?");
    const { message, errors } = await readBySdk(uiMessageStream(request));
    const shown = { type: "tool-find", state: "output-available", providerExecuted: true };
    expect(errors).toEqual([]);
    expect(message.parts).toContainEqual(expect.objectContaining(shown));
    expect(await request.result).toMatchObject({ text: "Sunny.", finishReason: "stop" });
    const [, second] = scene.provider.requests;
    expect(JSON.stringify(second?.body["messages"])).toMatch(/"thinking".*"server_tool_use"[^\]]*\]/);
    await (await server.ask("Thanks.")).result;
    expect(JSON.stringify(scene.provider.requests[2]?.body)).toContain('"type":"web_search_tool_result"');
    expect(toUIMessages(await server.thread())[1]?.parts).toContainEqual(expect.objectContaining(shown));
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(3);
  });

  test("may be followed by a call of a tool that runs here", async () => {
    const scene = await stage({ api: "anthropic", streaming });
    scene.provider.answer(paused, { parts: [half("result"), { call: weatherIn("Bern") }] }, { text: "Sunny." });
    const server = await scene.start({ tools: { ...tools, ...WEATHER } });
    expect((await (await server.ask("How is Bern?")).result).text).toBe("Sunny.");
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(3);
  });

  test("counts as a call; an ask after the end is sent without the search", async () => {
    const scene = await stage({ api: "anthropic", streaming });
    scene.provider.answer(paused, { text: "Hello." });
    const server = await scene.start({ tools });
    const request = await server.ask("How is Bern?", { maxIterations: 1 });
    expect(await request.result).toMatchObject({ terminationReason: "max_iterations", finishReason: "paused" });
    expect((await (await server.ask("Hello?")).result).text).toBe("Hello.");
    expect(JSON.stringify(scene.provider.requests[1]?.body["messages"])).not.toContain("server_tool_use");
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(2);
  });
});

test.each(WAYS)("an error of the provider's tool is shown as one: $way", async ({ streaming }) => {
  const scene = await stage({ api: "anthropic", streaming });
  scene.provider.answer({ parts: [{ search: { ...BERN, error: "max_uses_exceeded" } }, { text: "Not found." }] });
  const server = await scene.start({ tools: { find: search["anthropic"] as AnyTool } });
  const request = await server.ask("How is Bern?");
  const { message } = await readBySdk(uiMessageStream(request));
  const failed = { type: "tool-find", state: "output-error", providerExecuted: true, errorText: "The tool failed." };
  expect(message.parts).toContainEqual(expect.objectContaining(failed));
  expect(toUIMessages(await server.thread())[1]?.parts).toContainEqual(expect.objectContaining(failed));
  expectAccepted(scene);
});
