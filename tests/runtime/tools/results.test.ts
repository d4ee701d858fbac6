import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../../src/agent/definition/errors.ts";
import { content as contentOf, fail, ok } from "../../../src/agent/definition/tool.ts";
import { mcpTools } from "../../../src/runtime/tools/mcp.ts";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";
import type { JsonValue } from "../../../src/thread/json.ts";
import { valueText } from "../../../src/thread/message.ts";
import { errorIn, given, run } from "./support/call.ts";

const PIXEL = "iVBORw0KGgo=";

test.each([
  ["an Error", new Error("no seat"), "no seat"],
  ["an error of a class of its own", new (class SeatError extends TypeError {})("no seat"), "no seat"],
  ["a Response", new Response("{}"), "await response.text()"],
])("%s that a tool returns is a failed result with a message, and no retry", async (_, output, part) => {
  const result = await given(output, { maxRetries: 2 });
  expect(result).toMatchObject({ isError: true, attempts: 1, content: expect.stringContaining(part) });
});

test.each([
  ["base64 that is none", { base64: "<svg/>" }, "base64"],
  ["no bytes", { base64: "" }, "base64"],
  ["the start of a data URL in its base64", { base64: `data:image/png;base64,${PIXEL}` }, "base64"],
  ["a URL that is none", { url: "chart.png" }, "url"],
])("a file of a result with %s is a note, so that later calls are not refused", async (_, data, field) => {
  const text = { type: "text", text: "The chart." } as const;
  const file = { type: "file", mediaType: "image/png", data } as const;
  const note = expect.stringMatching(`^\\[A file \\(image/png\\) that cannot be shown here\\] Its ${field} must be `);
  expect((await given(contentOf([text, file]))).content).toEqual([text, { type: "text", text: note }]);
});

describe("a plain result", () => {
  test("of any JSON reads as its JSON", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const { content, isError } = await given(value);
        expect({ content, isError }).toEqual({
          content: valueText(JSON.parse(JSON.stringify(value)) as JsonValue),
          isError: false,
        });
      }),
    );
  });

  test.each([
    ["undefined is null", undefined, "null"],
    ["an undefined property is absent", { a: undefined, b: 1 }, '{"b":1}'],
    ["half of a character is escaped", { text: "cut \ud83d", "k\ud83d": 1 }, '{"text":"cut \\ud83d","k\\ud83d":1}'],
    ["half of a character in text is replaced", "cut \ud83d", "cut \ufffd"],
  ])("%s", async (_, output, content) => {
    expect(await given(output)).toMatchObject({ content, isError: false });
  });

  test("made by fail is an error without an exception", async () => {
    const result = await given(fail({ type: "no_such_city", message: "Nowhere" }));
    expect(errorIn(result)).toEqual({ type: "no_such_city", message: "Nowhere" });
    expect(result).toMatchObject({ isError: true, attempts: 1, failure: { code: "tool_failed" } });
  });
});

describe("a result that is no plain JSON is written as JSON.stringify would", () => {
  class Row {
    readonly id = 1;
    readonly run = () => 1;
    get total() {
      return 2;
    }
  }
  test.each([
    ["a date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["a date alone", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an invalid date", [new Date(Number.NaN)], "[null]"],
    ["a class instance", new Row(), '{"id":1}'],
    ["a toJSON", { money: { toJSON: (key: string) => `${key}: 5` } }, '{"money":"money: 5"}'],
    ["a URL", [new URL("https://a.example/")], '["https://a.example/"]'],
    ["a bigint", { n: 12345678901234567890n }, '{"n":"12345678901234567890"}'],
    ["a bigint alone", 1n, "1"],
    [
      "a map",
      new Map<unknown, unknown>([
        ["a", 1],
        [2, new Map()],
      ]),
      '{"2":{},"a":1}',
    ],
    ["a map of objects", new Map([[{ id: 1 }, "x"]]), '{"{\\"id\\":1}":"x"}'],
    ["a set", { tags: new Set(["a", 1n]) }, '{"tags":["a","1"]}'],
    [
      "functions, symbols and undefined",
      { f: () => 1, s: Symbol("s"), u: undefined, l: [() => 1, undefined] },
      '{"l":[null,null]}',
    ],
    ["a function alone", () => 1, "null"],
    ["numbers JSON does not have", [Number.NaN, Number.POSITIVE_INFINITY, -0], "[null,null,0]"],
    ["boxed values", [Object(1), Object("a"), Object(true)], '[1,"a",true]'],
    ["a typed array", new Float32Array([1, 0.5]), "[1,0.5]"],
    ["a key __proto__", JSON.parse('{"__proto__":{"admin":true},"a":1}'), '{"__proto__":{"admin":true},"a":1}'],
  ])("%s", async (_, output, content) => {
    expect(await given(output)).toMatchObject({ content, isError: false, attempts: 1 });
  });

  test("whatever it is made of", async () => {
    const leaf = fc.oneof(
      fc.jsonValue(),
      fc.date(),
      fc.constant(undefined),
      fc.double(),
      fc.constant(() => 1),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie("any")), fc.dictionary(fc.string(), tie("any"))),
    })).any;
    await fc.assert(
      fc.asyncProperty(value, async (output) => {
        const text = JSON.stringify({ output });
        const { content, isError } = await given({ output });
        expect({ content, isError }).toEqual({ content: text, isError: false });
      }),
    );
  });

  test("bytes become file parts, and a note stands where they were", async () => {
    const png = Buffer.from(PIXEL, "base64");
    expect((await given(png)).content).toEqual([{ type: "file", mediaType: "image/png", data: { base64: PIXEL } }]);
    expect((await given({ shot: png, raw: new Uint8Array([1]).buffer })).content).toEqual([
      {
        type: "text",
        text: '{"shot":"[file 1: image/png, 8 bytes]","raw":"[file 2: application/octet-stream, 1 bytes]"}',
      },
      { type: "file", mediaType: "image/png", data: { base64: PIXEL } },
      { type: "file", mediaType: "application/octet-stream", data: { base64: "AQ==" } },
    ]);
  });
});

describe("a result that can not be converted", () => {
  const cyclic: { [key: string]: unknown } = {};
  cyclic["a"] = { b: cyclic };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const throwing = (): never => {
    throw new Error("no");
  };
  test.each([
    ["a cycle", cyclic, "result.a.b refers back"],
    ["a cycle through a map", new Map([["m", cyclic]]), "result.m.a.b refers back"],
    [
      "a getter that throws",
      {
        x: 1,
        get y() {
          return throwing();
        },
      },
      "result.y could not be read",
    ],
    ["a toJSON that throws", { at: { toJSON: throwing } }, "result.at could not be read"],
    ["a revoked proxy", [revoked.proxy], "result[0] could not be read"],
  ])("says that the tool ran, and names the place: %s", async (_, output, place) => {
    const result = await given(output);
    expect(result).toMatchObject({
      isError: true,
      attempts: 1,
      failure: { code: "tool_result_not_json", retryable: false },
    });
    expect(errorIn(result).message).toMatch(/^The tool probe ran, and its result could not be converted/);
    expect(errorIn(result).message).toContain(place);
  });

  test("is never run again because of it", async () => {
    const result = await run({ execute: () => cyclic, repeatable: true }, {}, { maxRetries: 3 });
    expect(result.attempts).toBe(1);
  });
});

describe("a result that is too large", () => {
  const maxResultBytes = 1_000;

  test("is an error with both sizes, and is not cut", async () => {
    const result = await given("é".repeat(501), { maxResultBytes });
    expect(errorIn(result)).toEqual({
      type: "tool_result_too_large",
      message:
        "The tool probe ran. Its result was not kept: it has 1002 bytes, and the limit is 1000. Ask for less, or in pages.",
    });
    expect(result.failure).toMatchObject({ code: "tool_result_too_large", retryable: false });
    expect(await given("é".repeat(500), { maxResultBytes })).toMatchObject({ isError: false });
  });

  test.each([
    ["a long list", Array.from({ length: 2_000 }, () => 1)],
    ["a file", contentOf([{ type: "file-data", mediaType: "image/png", data: "A".repeat(2_000) }])],
    ["bytes in data", { shot: new Uint8Array(2_000) }],
    ["a map", new Map([["a", "A".repeat(2_000)]])],
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

  test("gets the input and the output of the call", async () => {
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

  test.each([
    ["an Error, whose message may quote what was to be hidden", new Error("no words"), "an error"],
    ["a ToolError, whose message is for the model", new ToolError({ message: "no words" }), "no words"],
  ])(
    "that throws %s does not read as if the tool had not run, and the tool is not run again",
    async (_, error, why) => {
      const toModelOutput = (): never => {
        throw Object.assign(error, { retryable: true });
      };
      const result = await run({ execute: () => 1, toModelOutput, repeatable: true }, {}, { maxRetries: 3 });
      expect(result).toMatchObject({ attempts: 1, failure: { code: "tool_output_failed", retryable: false } });
      const { message } = errorIn(result);
      expect(message).toMatch(/^The tool probe ran, but its result cannot be shown: /);
      expect([message.includes(why), message.includes("no words")]).toEqual([true, why === "no words"]);
    },
  );

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
    expect((await given(contentOf([part]))).content).toEqual([file]);
  });

  test("keeps names and provider options, and notes files that stay with their provider", async () => {
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

describe("data stays data", () => {
  test.each([
    [{ ok: true, value: 1, audit: "a-1" }],
    [{ ok: true, value: { n: 1 } }],
    [{ ok: false, error: "sold out" }],
    [{ type: "content", value: [{ type: "text", text: "a" }] }],
    [{ type: "content", value: [{ type: "file", mediaType: "image/png", data: { url: "http://169.254.169.254/" } }] }],
    [{ type: "content", value: [{ type: "paragraph" }] }],
    [{ type: "text", value: "a row" }],
    [{ content: [{ type: "text", text: "a" }], isError: true }],
    [{ content: [{ type: "image", mimeType: "image/png", data: PIXEL }] }],
    [{ content: [] }],
    [{ "heddle.tool-result": true, type: "fail", value: 1 }],
    [JSON.parse(JSON.stringify(contentOf([{ type: "text", text: "a" }])))],
  ])("%j", async (output) => {
    expect(await given(output)).toMatchObject({ content: JSON.stringify(output), isError: false });
    expect(await given(ok(output))).toMatchObject({ content: JSON.stringify(output), isError: false });
  });
});

describe("a marker", () => {
  test("content makes parts, ok data, fail an error", async () => {
    expect(
      (
        await given(
          contentOf([
            { type: "text", text: "look" },
            { type: "file", mediaType: "image/png", data: new URL("https://a.example/x.png") },
          ]),
        )
      ).content,
    ).toEqual([
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", data: { url: "https://a.example/x.png" } },
    ]);
    expect((await given(ok("text"))).content).toBe("text");
    expect(await given(fail("sold out"))).toMatchObject({ content: '{"error":"sold out"}', isError: true });
    expect(await given(fail(new Error("sold out")))).toMatchObject({ content: '{"error":"sold out"}', isError: true });
  });

  test("of another copy of the package counts", async () => {
    const other = { type: "fail", value: "sold out", [Symbol.for("heddle.tool-result")]: true };
    expect(await given(other)).toMatchObject({ content: '{"error":"sold out"}', isError: true });
  });

  test("inside data is data", async () => {
    expect((await given({ a: fail("x") })).content).toBe('{"a":{"type":"fail","value":"x"}}');
  });
});

describe("a result of MCP", () => {
  const told = async (result: object) => {
    const listTools = async () => ({ tools: [{ name: "probe", inputSchema: { type: "object" } }] });
    const tools = await mcpTools({ listTools, callTool: async () => result });
    return runTool({ id: "call_1", name: "probe", arguments: {} }, { tools });
  };

  test("becomes parts", async () => {
    const content = [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: PIXEL },
      { type: "audio", mimeType: "audio/wav", data: PIXEL },
      { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "inside" } },
      { type: "resource", resource: { uri: "file:///b", mimeType: "image/gif", blob: PIXEL } },
      { type: "resource_link", name: "Notes", uri: "file:///n" },
    ];
    expect(await told({ content, structuredContent: { a: 1 } })).toMatchObject({
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

  test("of one text is that text, and of structure alone is the structure", async () => {
    expect((await told({ content: [{ type: "text", text: "18" }] })).content).toBe("18");
    expect((await told({ content: [], structuredContent: { n: 1 } })).content).toBe('{"n":1}');
  });

  test("that is an error is one", async () => {
    const result = await told({ content: [{ type: "text", text: "no such file" }], isError: true });
    expect(result).toMatchObject({ content: "no such file", isError: true, failure: { code: "tool_failed" } });
  });
});
