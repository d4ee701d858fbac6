import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/thread/json.ts";
import { resultText } from "../../../src/thread/results.ts";
import { errorIn, given, run } from "./support/call.ts";

const PIXEL = "iVBORw0KGgo=";

describe("a plain result", () => {
  test("of any JSON reads as results do everywhere", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const { content, isError } = await given(value);
        expect({ content, isError }).toEqual(resultText(JSON.parse(JSON.stringify(value)) as JsonValue));
      }),
    );
  });

  test.each([
    ["undefined is null", undefined, "null"],
    ["an undefined property is absent", { a: undefined, b: 1 }, '{"b":1}'],
    ["an envelope is opened", { ok: true, value: { n: 1 } }, '{"n":1}'],
    ["half of a character is replaced", { text: "cut \ud83d", "k\ud83d": 1 }, '{"text":"cut \ufffd","k\ufffd":1}'],
  ])("%s", async (_, output, content) => {
    expect(await given(output)).toMatchObject({ content, isError: false });
  });

  test("that says it failed is an error without having been one", async () => {
    const result = await given({ ok: false, error: { type: "no_such_city", message: "Nowhere" } });
    expect(errorIn(result)).toEqual({ type: "no_such_city", message: "Nowhere" });
    expect(result).toMatchObject({ isError: true, attempts: 1, failure: { code: "tool_failed" } });
  });
});

describe("a result that is no JSON", () => {
  const cyclic: { [key: string]: unknown } = {};
  cyclic["a"] = { b: cyclic };
  const twice: { [key: string]: unknown } = {};
  Object.assign(twice, { a: twice, b: twice });
  class Row {
    readonly id = 1;
  }
  test.each([
    ["a date", { rows: [{ at: new Date(0) }] }, "result.rows[0].at"],
    ["a bigint", { n: 1n }, "result.n"],
    ["a cycle", cyclic, "result.a.b"],
    ["two cycles", twice, "result.a"],
    ["a class", new Row(), "result"],
    ["a map", { m: new Map() }, "result.m"],
    ["bytes", new Uint8Array(3), "result"],
    ["a function", { f: () => 1 }, "result.f"],
    ["no number", [Number.NaN], "result[0]"],
    ["a symbol", Symbol("s"), "result"],
    ["a hole", [undefined], "result[0]"],
    ["a cycle with half a character", Object.assign(["\ud83d"], { 1: cyclic }), "result[1].a.b.a.b"],
    [
      "a getter that throws",
      {
        get x() {
          throw new Error("no");
        },
      },
      "result.x",
    ],
  ])("is an error that names the place: %s", async (_, output, path) => {
    const result = await given(output);
    expect(result).toMatchObject({ isError: true, attempts: 1, failure: { code: "tool_result_not_json" } });
    expect(errorIn(result).message).toContain(`no JSON: ${path} `);
  });

  test("is never run again because of it", async () => {
    const result = await run({ execute: () => 1n, repeatable: true }, {}, { maxRetries: 3 });
    expect(result.attempts).toBe(1);
  });
});

describe("a result that is too large", () => {
  const maxResultBytes = 1_000;

  test("is an error with both sizes, and is not cut", async () => {
    const result = await given("é".repeat(501), { maxResultBytes });
    expect(errorIn(result)).toEqual({
      type: "tool_result_too_large",
      message: "The result of probe has 1002 bytes; the limit is 1000. Ask for less, or in pages.",
    });
    expect(result.failure).toMatchObject({ code: "tool_result_too_large", retryable: false });
    expect(await given("é".repeat(500), { maxResultBytes })).toMatchObject({ isError: false });
  });

  test.each([
    ["a long list", Array.from({ length: 2_000 }, () => 1)],
    ["a file", { type: "content", value: [{ type: "file-data", mediaType: "image/png", data: "A".repeat(2_000) }] }],
    ["an MCP image", { content: [{ type: "image", mimeType: "image/png", data: "A".repeat(2_000) }] }],
    ["escapes", ["\u0001".repeat(900)]],
  ])("may be %s", async (_, output) => {
    expect((await given(output, { maxResultBytes })).failure?.code).toBe("tool_result_too_large");
  });

  test("is seen before it is copied: 40 MB, and a few objects that hold each other a billion times", async () => {
    expect((await given("x".repeat(40 * 1024 * 1024))).failure?.message).toContain("41943040 bytes");
    let bomb: unknown = "x";
    for (let level = 0; level < 30; level++) bomb = [bomb, bomb];
    expect((await given(bomb)).failure?.code).toBe("tool_result_too_large");
  });

  test("is measured as the model's part when the tool makes one", async () => {
    const tool = { execute: () => "x".repeat(5_000), toModelOutput: () => ({ type: "text", value: "short" }) };
    expect(await run(tool, {}, { maxResultBytes })).toMatchObject({ content: "short", isError: false });
  });
});

describe("toModelOutput", () => {
  const told = (output: unknown) => run({ execute: () => "raw", toModelOutput: () => output });

  test("is told what was asked and given", async () => {
    const seen: unknown[] = [];
    const toModelOutput = (options: unknown) => {
      seen.push(options);
      return { type: "text", value: "" };
    };
    await run({ execute: () => ({ n: 1 }), toModelOutput }, { a: 1 });
    expect(seen).toEqual([{ toolCallId: "call_1", input: { a: 1 }, output: { n: 1 } }]);
  });

  test.each([
    [{ type: "text", value: "eighteen" }, "eighteen", false],
    [{ type: "json", value: { ok: false, error: 1 } }, '{"ok":false,"error":1}', false],
    [{ type: "error-text", value: "no" }, "no", true],
    [{ type: "error-json", value: { code: 5 } }, '{"error":{"code":5}}', true],
    [{ type: "execution-denied", reason: "not today" }, '{"error":{"type":"denied","message":"not today"}}', true],
    [{ type: "content", value: [{ type: "text", text: "one" }] }, "one", false],
    [{ type: "content", value: [] }, "", false],
    ["bare", "bare", false],
  ])("%j", async (output, content, isError) => {
    expect(await told(output)).toMatchObject({ content, isError });
  });

  test("that throws is an error of the tool", async () => {
    const toModelOutput = (): never => {
      throw new Error("no words");
    };
    expect(errorIn(await run({ execute: () => 1, toModelOutput }))).toEqual({
      type: "tool_failed",
      message: "no words",
    });
  });

  test.each([
    [
      "7, bytes",
      { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2]) } },
      { base64: "AQI=" },
    ],
    ["7, base64", { type: "file", mediaType: "image/png", data: { type: "data", data: PIXEL } }, { base64: PIXEL }],
    [
      "7, a URL",
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.example/x.png") } },
      { url: "https://a.example/x.png" },
    ],
    ["6", { type: "image-data", mediaType: "image/png", data: PIXEL }, { base64: PIXEL }],
    [
      "6, a URL",
      { type: "file-url", mediaType: "image/png", url: "https://a.example/x.png" },
      { url: "https://a.example/x.png" },
    ],
    ["5", { type: "media", mediaType: "image/png", data: PIXEL }, { base64: PIXEL }],
    ["our own form", { type: "file", mediaType: "image/png", data: { base64: PIXEL } }, { base64: PIXEL }],
  ])("takes files of the AI SDK %s", async (_, part, data) => {
    const file = { type: "file", mediaType: "image/png", data };
    expect((await told({ type: "content", value: [part] })).content).toEqual([file]);
    expect((await given({ type: "content", value: [part] })).content).toEqual([file]);
  });

  test("keeps names and what providers are to be told, and notes files that stay with their provider", async () => {
    const cache = { anthropic: { cacheControl: { type: "ephemeral" } } };
    const value = [
      { type: "text", text: "see", providerOptions: cache },
      { type: "file-data", mediaType: "text/csv", data: PIXEL, filename: "a.csv" },
      { type: "file", mediaType: "text/plain", data: { type: "text", text: "inline" } },
      { type: "file", mediaType: "image/png", data: { type: "reference", reference: { openai: "file_1" } } },
      { type: "custom", providerOptions: {} },
    ];
    expect((await told({ type: "content", value })).content).toEqual([
      { type: "text", text: "see", metadata: cache },
      { type: "file", mediaType: "text/csv", filename: "a.csv", data: { base64: PIXEL } },
      { type: "text", text: "inline" },
      { type: "text", text: "[A file (image/png) that cannot be shown here]" },
    ]);
  });
});

describe("data that only looks like parts stays data", () => {
  test.each([
    [{ type: "content", value: [{ type: "paragraph" }] }],
    [{ type: "content", value: [{ type: "text", text: "a" }], page: 1 }],
    [{ type: "content", value: [] }],
    [{ type: "text", value: "a row" }],
    [{ content: [{ type: "text", text: "a" }], author: "b" }],
    [{ content: [{ type: "video" }] }],
    [{ content: [] }],
  ])("%j", async (output) => {
    expect(await given(output)).toMatchObject({ content: JSON.stringify(output), isError: false });
  });
});

describe("a result of MCP", () => {
  test("becomes parts", async () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: PIXEL },
      { type: "audio", mimeType: "audio/wav", data: PIXEL },
      { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "inside" } },
      { type: "resource", resource: { uri: "file:///b", mimeType: "image/gif", blob: PIXEL } },
      { type: "resource_link", name: "Notes", uri: "file:///n" },
    ];
    expect(await given({ content, structuredContent: { a: 1 } })).toMatchObject({
      isError: false,
      content: [
        { type: "text", text: "look" },
        { type: "file", mediaType: "image/png", data: { base64: PIXEL } },
        { type: "file", mediaType: "audio/wav", data: { base64: PIXEL } },
        { type: "text", text: "inside" },
        { type: "file", mediaType: "image/gif", data: { base64: PIXEL } },
        { type: "text", text: "Notes file:///n" },
      ],
    });
  });

  test("of one text is that text, and of nothing but structure is the structure", async () => {
    expect((await given({ content: [{ type: "text", text: "18" }] })).content).toBe("18");
    expect((await given({ content: [], structuredContent: { n: 1 } })).content).toBe('{"n":1}');
  });

  test("that is an error is one", async () => {
    const result = await given({ content: [{ type: "text", text: "no such file" }], isError: true });
    expect(result).toMatchObject({ content: "no such file", isError: true, failure: { code: "tool_failed" } });
  });
});
