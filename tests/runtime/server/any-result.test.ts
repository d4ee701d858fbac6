import fc from "fast-check";
import { content, fail, type JsonValue, ok, sleep, suspend } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { anything, failureOf, proveAll, stage } from "../support/stage.ts";

/** What the model is shown of a result, and what the log has of it. */
async function shownOf(output: () => unknown) {
  const on = await stage();
  const model = scriptedModel([{ calls: [{ name: "probe" }] }, "Done."]);
  const server = await on.start({ model, tools: { probe: { inputSchema: anything, execute: () => output() } } });
  const request = await on.end(server.ask("Go."));
  expect((await on.end(request.result)).text).toBe("Done.");
  await on.end(server.stop());
  const [result] = model.requests[1]?.messages.find(({ results }) => results !== undefined)?.results ?? [];
  const entry = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
  return { value: result?.value, isError: result?.isError === true, entry, on };
}

class Row {
  readonly id = 1;
  readonly #secret = 2;
  get total() {
    return this.#secret;
  }
}
class Money {
  toJSON(key: string) {
    return `${key}: 5 EUR`;
  }
}
const nested = (depth: number): JsonValue => {
  let value: JsonValue = "deep";
  for (let level = 0; level < depth; level++) value = [value];
  return value;
};
const shared = { a: 1 };
// biome-ignore lint/suspicious/noSparseArray: a kind of value that tools return
const sparse = [1, , 3];

/** Kinds of values that `JSON.stringify` takes, and so every result of a tool of the AI SDK. */
const KINDS: readonly (readonly [string, () => unknown])[] = [
  ["null", () => null],
  ["true", () => true],
  ["a number", () => 1.5],
  ["NaN", () => Number.NaN],
  ["-Infinity in a list", () => [Number.NEGATIVE_INFINITY]],
  ["-0", () => -0],
  ["a date in data", () => ({ at: new Date(0) })],
  ["an invalid date", () => [new Date(Number.NaN)]],
  ["a regular expression", () => /a/g],
  ["an error in data", () => ({ error: new Error("no") })],
  ["a class instance", () => new Row()],
  ["a toJSON of a class", () => ({ price: new Money() })],
  ["a toJSON of a function", () => ({ f: Object.assign(() => 1, { toJSON: () => "function" }) })],
  ["a large object with a small toJSON", () => ({ in: { all: "x".repeat(9_000_000), toJSON: () => "small" } })],
  ["a URL in data", () => ({ url: new URL("https://a.example/?q=1") })],
  ["search parameters", () => new URLSearchParams("a=1")],
  ["headers", () => new Headers({ a: "1" })],
  ["a response in data", () => ({ response: new Response("body") })],
  ["a blob", () => new Blob(["text"])],
  ["a file", () => new File(["text"], "a.txt")],
  ["a promise in data", () => ({ later: Promise.resolve(1) })],
  ["a weak map", () => new WeakMap()],
  [
    "a generator",
    () =>
      (function* () {
        yield 1;
      })(),
  ],
  ["a function in data", () => ({ f: () => 1, l: [() => 1] })],
  ["a symbol in data", () => ({ s: Symbol("s"), [Symbol("k")]: 1, l: [Symbol("s")] })],
  ["undefined in data", () => ({ u: undefined, l: [undefined] })],
  ["a sparse list", () => sparse],
  ["a list with fields", () => Object.assign([1], { more: 2 })],
  ["an object without a prototype", () => Object.assign(Object.create(null), { a: 1 })],
  ["a key __proto__", () => JSON.parse('{"__proto__":{"admin":true}}')],
  ["keys that are numbers", () => ({ b: 1, 2: 1, a: 1, 1: 1 })],
  ["an empty key", () => ({ "": 1 })],
  [
    "inherited and hidden fields",
    () => Object.create({ a: 1 }, { b: { value: 2 }, c: { value: 3, enumerable: true } }),
  ],
  ["boxed values", () => [Object(1), Object("a"), Object(false), Object(Symbol("s"))]],
  ["a frozen object", () => Object.freeze({ a: [1] })],
  ["a proxy", () => new Proxy({ a: 1 }, {})],
  ["a proxy of a list", () => new Proxy([1, 2], {})],
  ["a getter", () => Object.defineProperty({}, "g", { get: () => 1, enumerable: true })],
  ["one object twice", () => [shared, shared]],
  ["half of a character", () => ["\ud83d", { "\ude00": 1 }]],
  ["control characters", () => ["\u0000\u001f\u007f\u2028"]],
  ["1,500 levels", () => nested(1_500)],
  ["an iterator of a map", () => new Map([[1, 2]]).entries()],
  ["an abort signal", () => new AbortController().signal],
  ["Math", () => Math],
  ["globalThis.Intl", () => new Intl.NumberFormat("en")],
];

test.each([
  ["an error", () => new Error("no"), "no"],
  ["an aggregate of errors", () => new AggregateError([new Error("a")], "b"), "b"],
  ["an error with fields", () => Object.assign(new Error("no"), { code: "gone" }), "no"],
  ["a response", () => new Response("body"), "await response.text()"],
])("%s is a failed result, and not an empty object", async (_, make, part) => {
  const { value, isError, on } = await shownOf(make);
  expect([isError, JSON.stringify(value)]).toEqual([true, expect.stringContaining(part)]);
  await proveAll(on.store, on.threadId);
});

describe("a result of any kind is shown as JSON.stringify writes it", () => {
  test.each(KINDS)("%s", async (_, make) => {
    const { value, isError, entry, on } = await shownOf(make);
    expect(isError).toBe(false);
    expect(value).toBe(JSON.stringify(make()));
    expect(entry?.payload).toMatchObject({ content: JSON.stringify(make()) });
    await proveAll(on.store, on.threadId);
  });

  const texts: readonly (readonly [string, () => unknown, string])[] = [
    ["text is shown as it is", () => "18 degrees", "18 degrees"],
    ["text that is JSON is not read", () => '{"a": 1}', '{"a": 1}'],
    ["what is only text in JSON is that text", () => new Date(0), "1970-01-01T00:00:00.000Z"],
    ["undefined, a function and a symbol are null", () => undefined, "null"],
    ["a function", () => () => 1, "null"],
    ["a symbol", () => Symbol("s"), "null"],
    // What JSON.stringify cannot write, or writes as {}.
    ["a bigint is its digits", () => ({ n: 2n ** 64n, o: Object(5n) }), '{"n":"18446744073709551616","o":"5"}'],
    ["a list of bigints", () => new BigInt64Array([1n]), '["1"]'],
    [
      "a map is an object",
      () =>
        new Map<unknown, unknown>([
          ["a", 1],
          [{ b: 1 }, 2],
        ]),
      '{"a":1,"{\\"b\\":1}":2}',
    ],
    ["a set is a list", () => new Set([1, "a"]), '[1,"a"]'],
    ["a typed array is a list", () => new Float64Array([0.5, -0]), "[0.5,0]"],
  ];
  test.each(texts)("%s", async (_, make, expected) => {
    const { value, isError } = await shownOf(make);
    expect({ value, isError }).toEqual({ value: expected, isError: false });
  });

  test("5 MB of text are kept whole", async () => {
    const text = "ä".repeat(2_500_000);
    for (const output of [text, { text }]) {
      const { isError, entry } = await shownOf(() => output);
      const expected = typeof output === "string" ? output : JSON.stringify(output);
      // Booleans, because a failure should not print 5 MB.
      expect([isError, entry?.payload["content"] === expected]).toEqual([false, true]);
    }
  });

  test("bytes are file parts, wherever they are", async () => {
    const bytes = [
      Buffer.from([1]),
      new Uint8Array([1]),
      new Uint8ClampedArray([1]),
      new Uint8Array([1]).buffer,
      new DataView(new Uint8Array([0, 1]).buffer, 1),
    ];
    const file = { type: "file", mediaType: "application/octet-stream", data: { base64: "AQ==" } };
    for (const one of bytes) expect((await shownOf(() => one)).entry?.payload).toMatchObject({ content: [file] });
    const { entry } = await shownOf(() => ({ bytes }));
    const notes = bytes.map((_, index) => `[file ${index + 1}: application/octet-stream, 1 bytes]`);
    const text = { type: "text", text: JSON.stringify({ bytes: notes }) };
    expect(entry?.payload).toMatchObject({ content: [text, ...bytes.map(() => file)] });
  });

  test("foreign JSON is byte-equal at the model, whatever it looks like", async () => {
    const part = fc.constantFrom<JsonValue>(
      { type: "text", text: "x" },
      { type: "text", value: "x" },
      { type: "content", value: [{ type: "text", text: "x" }] },
      { type: "error-text", value: "no" },
      { type: "execution-denied", reason: "no" },
      { type: "file", mediaType: "image/png", data: { url: "http://169.254.169.254/" } },
      { type: "ok", value: 1 },
      { isError: true, content: "no" },
      { isError: true, content: [{ type: "text", text: "no" }] },
      { content: "x", details: { secret: true } },
      { content: [{ type: "text", text: "x" }], details: 1 },
      { ok: false, error: "no" },
      { ok: true, value: 1 },
      { error: { type: "interrupted", message: "no" } },
      { partial: "cancelled", content: "x" },
      { role: "tool", toolCallId: "call_1", content: "x" },
      { toJSON: "x", "heddle.tool-result": true },
    );
    const value = fc.letrec<{ any: JsonValue }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        part,
        fc.jsonValue() as fc.Arbitrary<JsonValue>,
        fc.array(tie("any")),
        fc.dictionary(fc.constantFrom("type", "content", "isError", "value", "text", "details", "ok"), tie("any")),
      ),
    })).any;
    await fc.assert(
      fc.asyncProperty(value, async (json) => {
        const shown = await shownOf(() => json);
        const expected = typeof json === "string" ? json : JSON.stringify(json);
        expect({ value: shown.value, isError: shown.isError }).toEqual({ value: expected, isError: false });
        const marked = await shownOf(() => ok(json));
        expect({ value: marked.value, isError: marked.isError }).toEqual({ value: expected, isError: false });
      }),
      { numRuns: 40 },
    );
  });
});

describe("a result that cannot be converted says that the tool ran", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const throwing = (): never => {
    throw new Error("no");
  };
  const hostile = (trap: keyof ProxyHandler<object>) => new Proxy({ a: 1 }, { [trap]: throwing });
  const values: readonly (readonly [string, unknown])[] = [
    ["a cycle", cyclic],
    ["a revoked proxy", { inside: revoked.proxy }],
    ["a getter that throws", Object.defineProperty({}, "g", { get: throwing, enumerable: true })],
    ["a toJSON that throws", { toJSON: throwing }],
    ["a proxy that throws on keys", hostile("ownKeys")],
    ["a proxy that throws on `in`", { inside: hostile("has"), next: hostile("getPrototypeOf") }],
    ["a proxy whose prototype cannot be read", hostile("getPrototypeOf")],
    ["a proxy that throws on descriptors", hostile("getOwnPropertyDescriptor")],
    ["100,000 levels", nested(100_000)],
  ];
  test.each(values)("%s", async (_, output) => {
    const { isError, entry } = await shownOf(() => output);
    expect(isError).toBe(true);
    expect(entry?.payload["content"]).toMatch(/The tool probe ran, and its result could not be converted/);
  });

  test("or that it is too large", async () => {
    const { entry } = await shownOf(() => ({ text: "x".repeat(9_000_000) }));
    expect(entry?.payload["content"]).toMatch(
      /The tool probe ran\. Its result was not kept: it has more than 8388608 bytes/,
    );
  });

  test("a proxy that only throws on `in` is data", async () => {
    expect((await shownOf(() => hostile("has"))).value).toBe('{"a":1}');
  });
});

describe("the two faces of a result", () => {
  const details = { at: new Date(0), sensor: { id: 7n } };
  const stored = { at: "1970-01-01T00:00:00.000Z", sensor: { id: "7" } };
  const markers: readonly (readonly [string, () => unknown, string, boolean])[] = [
    ["ok", () => ok({ celsius: 18 }, { details }), '{"celsius":18}', false],
    ["content", () => content([{ type: "text", text: "18 degrees" }], { details }), "18 degrees", false],
    ["fail", () => fail("no station", { details }), "no station", true],
  ];
  test.each(markers)(
    "%s: the details are stored beside it, and no model is shown them",
    async (_, make, text, isError) => {
      const shown = await shownOf(make);
      expect({ value: shown.value, isError: shown.isError }).toEqual({ value: text, isError });
      expect(shown.entry?.payload["details"]).toEqual(stored);
      expect(JSON.stringify(shown.on.store)).not.toContain("sensor");
    },
  );

  test("the event has both", async () => {
    const on = await stage();
    const tools = { probe: { inputSchema: anything, execute: () => ok(18, { details }) } };
    const server = await on.start({ script: [{ calls: [{ name: "probe" }] }, "Done."], tools });
    const request = await on.end(server.ask("Go."));
    const completed: unknown[] = [];
    for await (const event of request.events()) if (event.kind === "tool_completed") completed.push(event.data);
    expect(completed).toEqual([{ content: "18", isError: false, details: stored }]);
  });

  test("an answer from outside has both", async () => {
    const on = await stage();
    const server = await on.start({
      script: [{ calls: [{ name: "ask" }] }, "Done."],
      tools: { ask: { inputSchema: anything } },
    });
    const request = await on.end(server.ask("Go."));
    await on.settled();
    await on.end(server.answer("call_1", ok("yes", { details })));
    await on.end(request.result);
    const entry = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(entry?.payload).toMatchObject({ content: "yes", details: stored });
  });

  test.each([
    ["suspend", suspend({ ask: "When?" })],
    ["sleep", sleep(1_000, "later")],
  ])("an answer from outside that waits itself is refused: %s", async (_, output) => {
    const on = await stage();
    const config = { script: [{ calls: [{ name: "ask" }] }, "Done."], tools: { ask: { inputSchema: anything } } };
    const server = await on.start(config);
    const request = await on.end(server.ask("Go."));
    await on.settled();
    expect((await failureOf(on.end(server.answer("call_1", output)))).code).toBe("invalid_options");
    await on.end(server.answer("call_1", "yes"));
    expect((await on.end(request.result)).text).toBe("Done.");
  });

  test("details that cannot be stored do not cost the result", async () => {
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    for (const bad of [cyclic, { text: "x".repeat(9_000_000) }, nested(1_000)]) {
      const { value, isError, entry } = await shownOf(() => ok(18, { details: bad }));
      expect({ value, isError }).toEqual({ value: "18", isError: false });
      expect(entry?.payload["details"]).toMatch(/^\[The details were not stored: /);
    }
  });

  test("toModelOutput decides what the model is shown, and the details stay", async () => {
    const on = await stage();
    const probe = {
      inputSchema: anything,
      execute: () => ok({ rows: 900 }, { details }),
      toModelOutput: () => ({ type: "text", value: "900 rows" }),
    };
    const server = await on.start({ script: [{ calls: [{ name: "probe" }] }, "Done."], tools: { probe } });
    await on.end((await on.end(server.ask("Go."))).result);
    const entry = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(entry?.payload).toMatchObject({ content: "900 rows", details: stored });
  });

  test.each([
    ["data", { rows: [1, 2] }, { rows: [1, 2] }],
    ["a marked value", ok(900n), "900"],
    ["what the model is shown", "900 rows", undefined],
    ["a value that is no JSON", nested(1_000), undefined],
    ["nothing", undefined, undefined],
  ])("with toModelOutput the raw value is the details: %s", async (_, output, raw) => {
    const on = await stage();
    const toModelOutput = () => ({ type: "text", value: "900 rows" });
    const probe = { inputSchema: anything, execute: () => output, toModelOutput };
    const server = await on.start({ script: [{ calls: [{ name: "probe" }] }, "Done."], tools: { probe } });
    await on.end((await on.end(server.ask("Go."))).result);
    const entry = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect([entry?.payload["content"], entry?.payload["details"]]).toEqual(["900 rows", raw]);
  });

  test("rows.map(ok) has no details", async () => {
    expect((await shownOf(() => [18].map(ok as never)[0])).entry?.payload).not.toHaveProperty("details");
  });
});

describe("files of results that do not fit beside each other", () => {
  test.each([{}, { toolResults: { maxTokens: 2000 }, overflow: "shrink" as const }])(
    "become notes, the oldest first, and the request continues: %o",
    async (more) => {
      const on = await stage();
      const data = Buffer.from("%PDF-1.4");
      const read = () =>
        content([
          { type: "text", text: "Read." },
          { type: "file", mediaType: "application/pdf", data },
        ]);
      const model = scriptedModel([{ calls: [{ name: "read" }, { name: "read" }] }, "Done."]);
      const tools = { read: { inputSchema: anything, execute: read } };
      const contextPolicy = { maxInputTokens: 20_000, ...more };
      const server = await on.start({ model, tools, contextPolicy });
      expect((await on.end((await on.end(server.ask("Read both."))).result)).text).toBe("Done.");
      const [first, second] = (model.requests[1]?.messages ?? []).flatMap(({ results = [] }) => results);
      expect(JSON.stringify(first)).toContain("[A file (application/pdf) that cannot fit here]");
      expect(JSON.stringify(second)).not.toContain("cannot fit here");
      await proveAll(on.store, on.threadId);
    },
  );

  test("are all shown where they are small images", async () => {
    const on = await stage();
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    const model = scriptedModel([{ calls: Array.from({ length: 12 }, () => ({ name: "shot" })) }, "Done."]);
    const tools = { shot: { inputSchema: anything, execute: () => Buffer.from(png, "base64") } };
    const server = await on.start({ model, tools, contextPolicy: { maxInputTokens: 20_000 } });
    expect((await on.end((await on.end(server.ask("Look."))).result)).text).toBe("Done.");
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain("cannot fit here");
  });
});
