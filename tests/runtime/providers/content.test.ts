import { describe, expect, test } from "vitest";
import { EVERY_WAY, modelAt, WAYS } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, told, weatherIn } from "./support/stage.ts";
import { THREAD } from "./support/thread.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  const output = {
    jsonSchema: {
      type: "object",
      properties: { city: { type: "string" }, sunny: { type: "boolean" } },
      required: ["city", "sunny"],
      additionalProperties: false,
    },
    validate: (value: unknown) =>
      typeof (value as { readonly sunny?: unknown }).sunny === "boolean"
        ? { success: true as const, value }
        : { success: false as const, error: new Error("sunny must be true or false") },
  };

  test("an answer in a shape, put right after a word", async () => {
    const scene = await stage(setting);
    scene.provider.answer(
      { text: JSON.stringify({ city: "Bern", sunny: "very" }) },
      { text: JSON.stringify({ city: "Bern", sunny: true }) },
    );
    const server = await scene.start({ output, tools: {} });
    const request = await server.ask("Weather?");
    const { object } = await request.result;
    expect(object).toEqual({ city: "Bern", sunny: true });
    expect((await told(request)).map(({ kind }) => kind)).toContain("output_repaired");
    expectAccepted(scene);
    expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain('"sunny":{"type":"boolean"}');
    expect(await proveBodies(scene)).toBe(2);
  });

  test("a text file that the package cannot send is its text, and the thread continues", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ text: "Read." }, { text: "You are welcome." });
    const server = await scene.start();
    const request = await server.ask([
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "text/plain", filename: "notes.txt", data: { base64: btoa("Looms.") } },
    ]);
    expect((await request.result).text).toBe("Read.");
    expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
    expect(scene.provider.requests.filter(({ accepted }) => !accepted)).toEqual([]);
    const isTaken = setting.api !== "openai-chat" && setting.api !== "openai-responses";
    const shown = JSON.stringify("[notes.txt, text/plain]\nLooms.");
    expect(JSON.stringify(scene.provider.requests[1]?.body).includes(shown)).toBe(!isTaken);
    expect(scene.warnings.some((warning) => warning.includes("cannot take these files (text/plain)"))).toBe(!isTaken);
    expect(await proveBodies(scene)).toBe(2);
  });

  test("a picture in an ask", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ text: "A pixel." });
    const server = await scene.start();
    const request = await server.ask([
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", data: { base64: PNG } },
    ]);
    expect((await request.result).text).toBe("A pixel.");
    expectAccepted(scene);
    expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain(PNG);
    expect(await proveBodies(scene)).toBe(1);
  });
});

const FOREIGN = EVERY_WAY.filter(({ api }) => api !== "anthropic");

test.each(FOREIGN)(
  "a search that Anthropic's server ran is not sent as a call to another provider: $api, $way",
  async (setting) => {
    const scene = await stage(setting);
    await scene.store.append(THREAD, [
      { kind: "message", payload: { role: "user", content: "Find looms." } },
      {
        kind: "message",
        payload: {
          role: "assistant",
          content: [
            { type: "provider_call", id: "srvtoolu_01", name: "web_search", arguments: { query: "looms" } },
            {
              type: "provider_result",
              id: "srvtoolu_01",
              name: "web_search",
              result: [{ url: "https://example.com" }],
            },
            { type: "text", text: "Found one." },
          ],
        },
      },
    ]);
    scene.provider.answer({ text: "You are welcome." });
    const server = await scene.start();
    expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
    expectAccepted(scene);
    expect(JSON.stringify(scene.provider.requests[0]?.body)).not.toContain("srvtoolu_01");
  },
);

const SHAPE = {
  jsonSchema: { type: "object", properties: { sunny: { type: "boolean" } }, required: ["sunny"] },
} as const;

test.each(WAYS)("an older Claude answers in a shape through a tool of its package, $way", async ({ streaming }) => {
  const scene = await stage({ api: "anthropic", streaming });
  const model = modelAt(scene.provider.url, "anthropic", { name: "claude-sonnet-4-20250514" });
  scene.provider.answer(
    { calls: [weatherIn("Bern")] },
    { calls: [{ name: "json", arguments: { sunny: true } }] },
    { calls: [{ name: "json", arguments: { sunny: false } }] },
  );
  const server = await scene.start({ output: SHAPE, model });
  expect((await (await server.ask("Weather?")).result).object).toEqual({ sunny: true });
  expect((await (await server.ask("And tomorrow?")).result).object).toEqual({ sunny: false });
  expectAccepted(scene);
  expect(await proveBodies({ ...scene, model })).toBe(3);
});

test("a warning of a package is reported once", async () => {
  const scene = await stage({ api: "openai-responses", streaming: true });
  scene.provider.answer(() => ({ text: "Four" }));
  const server = await scene.start({ temperature: 0.5 });
  await (await server.ask("What's 2+2?")).result;
  await (await server.ask("And now?")).result;
  expect(scene.warnings).toHaveLength(1);
  expect(scene.warnings[0]).toContain("temperature");
});

test.each(WAYS)("a comment in a text of its own does not spoil the shape, $way", async ({ streaming }) => {
  const scene = await stage({ api: "openai-responses", streaming });
  scene.provider.answer({ parts: [{ text: "Let me see." }, { text: '{"sunny":true}' }] });
  const server = await scene.start({ output: SHAPE, tools: {} });
  expect((await (await server.ask("Weather?")).result).object).toEqual({ sunny: true });
  expect(scene.provider.requests).toHaveLength(1);
});
