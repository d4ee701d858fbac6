import { convertToModelMessages } from "ai";
import { project, Thread, ThreadError } from "heddle";
import type { MessageFormat } from "heddle/core";
import { describe, expect, test } from "vitest";
import { told } from "../../projection/given.ts";

const FORMATS: readonly MessageFormat[] = ["neutral", "openai-chat", "anthropic", "model-messages", "ui-messages"];

function taken(list: readonly unknown[], format?: MessageFormat): Thread {
  return Thread.fromMessages(list, { format });
}

function shown(thread: Thread): string[] {
  return told(project({ thread, policy: { maxInputTokens: 1_000_000, thinking: "keep" } }));
}

function refusal(list: unknown, format?: unknown): ThreadError {
  try {
    Thread.fromMessages(list as unknown[], { format: format as MessageFormat });
  } catch (error) {
    if (ThreadError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("It was taken in.");
}

/** One conversation, as each format tells it. */
const WEATHER: { readonly [format in MessageFormat]: readonly object[] } = {
  neutral: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather in Bern?" },
    {
      role: "assistant",
      content: "Let me see.",
      toolCalls: [{ id: "c1", name: "weather", arguments: { city: "Bern" } }],
    },
    { role: "tool", toolCallId: "c1", name: "weather", content: "sunny" },
    { role: "assistant", content: "Sunny." },
  ],
  "openai-chat": [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather in Bern?" },
    {
      role: "assistant",
      content: "Let me see.",
      tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "sunny" },
    { role: "assistant", content: "Sunny." },
  ],
  anthropic: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather in Bern?" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "c1", name: "weather", input: { city: "Bern" } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "sunny" }] },
    { role: "assistant", content: "Sunny." },
  ],
  "model-messages": [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather in Bern?" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Bern" } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "weather", output: { type: "text", value: "sunny" } },
      ],
    },
    { role: "assistant", content: "Sunny." },
  ],
  "ui-messages": [
    { id: "m0", role: "system", parts: [{ type: "text", text: "Be brief." }] },
    { id: "m1", role: "user", parts: [{ type: "text", text: "Weather in Bern?" }] },
    {
      id: "m2",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "text", text: "Let me see." },
        { type: "tool-weather", toolCallId: "c1", state: "output-available", input: { city: "Bern" }, output: "sunny" },
        { type: "step-start" },
        { type: "text", text: "Sunny." },
      ],
    },
  ],
};

describe.each(FORMATS)("%s", (format) => {
  test("a conversation is shown with its prompt, its calls and their results", () => {
    expect(shown(taken(WEATHER[format], format))).toEqual([
      "system: Be brief.",
      "user: Weather in Bern?",
      "assistant: Let me see. -> weather(c1)",
      "tool c1: sunny",
      "assistant: Sunny.",
    ]);
  });

  test("a list that shows its format need not name it", () => {
    expect(taken(WEATHER[format]).toMessages()).toEqual(WEATHER[format]);
  });

  test("a plain conversation is written in the form of each other format", () => {
    for (const other of FORMATS) {
      const ids = (list: readonly object[]) =>
        list.map((message) => ({ ...message, ...("id" in message && { id: "m" }) }));
      expect(ids(taken(WEATHER[format], format).toMessages({ format: other }))).toEqual(ids(WEATHER[other]));
    }
  });

  test("what is appended later comes behind the list", () => {
    const thread = taken(WEATHER[format], format).append({
      kind: "message",
      payload: { role: "user", content: "And Basel?" },
    });
    const messages = thread.toMessages();
    expect(messages.slice(0, -1)).toEqual(WEATHER[format]);
    expect(taken(messages, format).toMessages({ format: "neutral" }).at(-1)).toEqual({
      role: "user",
      content: "And Basel?",
    });
  });

  test("every version of the thread has a list", () => {
    const thread = taken(WEATHER[format], format);
    for (let seq = -1; seq <= thread.lastSeq; seq++)
      expect(thread.upTo(seq).toMessages({ format })).toBeInstanceOf(Array);
  });

  test("an empty list is an empty thread", () => {
    expect(taken([], format).entryCount).toBe(0);
  });

  test("a value that is not a list, or a list with an invalid message, is refused with its place", () => {
    expect(refusal("hi", format)).toMatchObject({ code: "invalid_message", path: "messages" });
    expect(refusal([...WEATHER[format], "hi"], format)).toMatchObject({
      code: "invalid_message",
      path: expect.stringMatching(/^messages\[\d\]$/),
    });
    expect(refusal([{ role: "wizard", content: "", parts: [] }], format)).toMatchObject({
      code: "invalid_message",
      path: "messages[0].role",
    });
    expect(refusal([{ role: "user", content: () => 1 }], format)).toMatchObject({
      code: "not_json",
      path: "messages[0].content",
    });
  });
});

test("an unknown role or format is quoted, with the valid ones", () => {
  const of = (role: unknown, format: MessageFormat) => () => taken([{ role, content: "Hi" }], format);
  expect(of("sytem", "openai-chat")).toThrow(
    'messages[0].role must be one of system, developer, user, assistant, tool, function, not "sytem".',
  );
  expect(of("x".repeat(99), "neutral")).toThrow(`system, user, assistant, tool, not "${"x".repeat(40)}".`);
  expect(() => taken([], "opnai" as MessageFormat)).toThrow(
    'options.format must be one of neutral, openai-chat, anthropic, model-messages, ui-messages, not "opnai".',
  );
});

test.each(["openai-chat", "anthropic", "model-messages"] as const)("a message of %s says something", (format) => {
  for (const role of ["system", "user"]) {
    for (const message of [{ role }, { role, content: null }]) {
      expect(() => taken([message], format)).toThrow("messages[0].content must be text or a list of parts");
    }
  }
  expect(taken([{ role: "user", content: "" }], format).entryCount).toBe(1);
});

test("the prompt of the list is the prompt of the lane, above the one that is passed", () => {
  const thread = taken(WEATHER["openai-chat"], "openai-chat");
  expect(project({ thread, system: { prompt: "Be long." } }).messages[0]).toEqual({
    role: "system",
    content: "Be brief.",
  });
  expect(thread.at(0)?.kind).toBe("ai_context_operation");
});

test("the prompt of the list can be left out, where the agent has one", () => {
  const list = WEATHER["openai-chat"];
  const thread = Thread.fromMessages(list, { format: "openai-chat", system: "drop" });
  expect(told(project({ thread, system: "Be long." }))[0]).toContain("Be long.");
  expect(thread.toMessages()).toEqual(list.slice(1));
  expect(() => Thread.fromMessages(list, { format: "openai-chat", system: "no" as never })).toThrow(
    'options.system must be one of keep, drop, not "no".',
  );
});

test("a migration that is run again makes the same thread, with ids and times that say the same", () => {
  const migrated = () => {
    let made = 0;
    const ports = { ids: (prefix: string) => `${prefix}_of_7_${made++}`, clock: () => 1_700_000_000_000 };
    return Thread.fromMessages(WEATHER.anthropic, { id: "chat_7", format: "anthropic", ...ports });
  };
  expect(migrated().toJSON()).toEqual(migrated().toJSON());
});

test("ids are refs", () => {
  const thread = taken(WEATHER["ui-messages"], "ui-messages");
  expect(thread.filterByRef("messageId", "m2").length).toBe(3);
  expect(thread.filterByRef("toolCallId", "c1").length).toBe(1);
});

test("a text is stored once, whatever else is kept of its message", () => {
  const text = "a".repeat(10_000);
  const bytes = "iVBORw".padEnd(10_000, "A");
  const parts = [
    { type: "text", text, state: "done" },
    { type: "file", mediaType: "image/png", url: `data:image/png;base64,${bytes}` },
  ];
  const thread = taken([{ id: "m1", role: "user", parts, metadata: { at: 1 } }], "ui-messages");
  expect(JSON.stringify(thread.at(0)?.payload).length).toBeLessThan(21_000);
});

test("what no model is shown comes back all the same", () => {
  const chart = { type: "data-chart", id: "d1", data: { points: [1, 2] } };
  const list = [
    { id: "m1", role: "assistant", parts: [chart, { type: "text", text: "See the chart." }], metadata: { cost: 1 } },
  ];
  const thread = taken(list, "ui-messages");
  expect(JSON.stringify(project({ thread }).messages)).not.toContain("points");
  expect(thread.toMessages()).toEqual(list);
});

test("a list whose messages could be of several formats must name its own", () => {
  expect(refusal([{ role: "user", content: "Hi" }])).toMatchObject({
    code: "unknown_message_format",
    path: "options.format",
  });
  expect(refusal([{ role: "user", content: "Hi" }], "gemini")).toMatchObject({
    code: "invalid_options",
    path: "options.format",
  });
});

test("a malformed part is refused with its place", () => {
  const broken: readonly [MessageFormat, object, string][] = [
    [
      "openai-chat",
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "f" } }] },
      "tool_calls[0].function.arguments",
    ],
    ["openai-chat", { role: "tool", content: "4" }, "tool_call_id"],
    ["openai-chat", { role: "user", content: [{ type: "text" }] }, "content[0].text"],
    ["anthropic", { role: "user", content: [{ type: "tool_result" }] }, "content[0].tool_use_id"],
    ["anthropic", { role: "assistant", content: [{ type: "tool_use", id: "c1" }] }, "content[0].name"],
    ["model-messages", { role: "user", content: [{ type: "file", mediaType: "a/b" }] }, "content[0]"],
    ["model-messages", { role: "tool", content: [{ type: "tool-result", toolCallId: "c1" }] }, "content[0].toolName"],
    ["ui-messages", { role: "user", content: 1 }, "parts"],
    ["ui-messages", { id: "a", role: "assistant" }, "parts"],
    ["ui-messages", { role: "user", parts: [null] }, "parts[0]"],
    ["neutral", { role: "user", content: [{ type: "file", mediaType: "a/b", data: {} }] }, "content[0].data"],
  ];
  for (const [format, message, path] of broken) {
    const error = refusal([message], format);
    expect(error).toMatchObject({ code: "invalid_message", path: `messages[0].${path}` });
    expect(error.message).not.toMatch(/format/);
  }
});

test("a late result of a call is in its message, where the format has it there", () => {
  const call = { type: "tool-weather", toolCallId: "c1", state: "input-available", input: {} };
  const thread = taken([{ id: "m1", role: "assistant", parts: [call] }], "ui-messages").append({
    kind: "tool_result",
    payload: { toolCallId: "c1", name: "weather", result: "sunny" },
  });
  expect(thread.toMessages()).toEqual([
    {
      id: "m1",
      role: "assistant",
      parts: [{ type: "step-start" }, { ...call, state: "output-available", output: "sunny" }],
    },
  ]);
});

test("a thread of the conversation kinds has a list too", () => {
  const thread = Thread.create().append([
    { kind: "message", payload: { role: "user", content: "2+2?" } },
    { kind: "tool_call", payload: { id: "c1", name: "add", arguments: { a: 2 } } },
    { kind: "tool_call", payload: { id: "c2", name: "add", arguments: { a: 3 } } },
    {
      kind: "tool_result",
      payload: { toolCallId: "c1", name: "add", result: { ok: false, error: { type: "e", message: "m" } } },
    },
    { kind: "note", payload: { text: "not said" } },
  ]);
  expect(thread.toMessages().map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(thread.toMessages().at(-1)).toMatchObject({ isError: true, content: '{"error":{"type":"e","message":"m"}}' });
});

test("the list is the one of the active lane", () => {
  const operation = { type: "switch", reason: "manual" };
  const thread = taken([{ role: "user", content: "Hi" }], "neutral").append([
    { kind: "ai_context_operation", payload: { opId: "o", contextRef: "other", operation } },
    { kind: "message", payload: { role: "user", content: "Elsewhere" } },
  ]);
  expect(thread.toMessages()).toEqual([{ role: "user", content: "Elsewhere" }]);
});

describe("the lane of a list", () => {
  const operation = { type: "switch", reason: "manual" };
  const switched = Thread.create().append([
    { kind: "message", payload: { role: "user", content: "First" } },
    { kind: "ai_context_operation", payload: { opId: "o", contextRef: "other", operation } } as never,
  ]);

  test("is the one that is active where it is appended, with its prompt", () => {
    for (const format of FORMATS) {
      const entries = taken(WEATHER[format], format)
        .toArray()
        .map(({ kind, payload, refs }) => ({ kind, payload, refs }));
      const thread = switched.append(entries as never);
      expect(shown(thread)[0]).toBe("system: Be brief.");
      expect(thread.toMessages({ format })).toEqual(WEATHER[format]);
      expect(thread.toMessages({ format: "neutral", lane: "default" })).toEqual([{ role: "user", content: "First" }]);
    }
  });

  test("is changed by no malformed operation", () => {
    const malformed = [
      { type: "switch", reason: "manuel" },
      { type: "switch", reason: "manual", from: "nowhere", atSeq: 0 },
      { type: "switch", reason: "manual", from: "default", atSeq: 99 },
    ];
    for (const wrong of malformed) {
      const entry = { kind: "ai_context_operation", payload: { opId: "w", contextRef: "third", operation: wrong } };
      const thread = switched.append([
        entry,
        { kind: "message", payload: { role: "user", content: "Second" } },
      ] as never);
      expect(thread.toMessages()).toEqual([{ role: "user", content: "Second" }]);
      expect(thread.toMessages({ lane: "other" })).toEqual(thread.toMessages());
      expect(thread.toMessages({ lane: "third" })).toEqual([]);
    }
  });

  test("has no message of a malformed replace, which is projected as nothing", () => {
    const [first, ...others] = taken(WEATHER.neutral, "neutral")
      .toArray()
      .map(({ kind, payload }) => ({ kind, payload }));
    const { operation } = (first?.payload ?? {}) as { readonly operation?: object }; // the prompt
    const wrong = {
      kind: first?.kind,
      payload: { ...first?.payload, operation: { ...operation, reason: "restored" } },
    };
    const thread = Thread.create().append([wrong, ...others] as never);
    expect(thread.toMessages().map(({ role }) => role)).not.toContain("system");
  });

  test("can be named when it is given back", () => {
    const thread = switched.append({ kind: "message", payload: { role: "user", content: "Second" } });
    expect(thread.toMessages()).toEqual([{ role: "user", content: "Second" }]);
    expect(thread.toMessages({ lane: "other" })).toEqual(thread.toMessages());
    expect(thread.toMessages({ lane: "default" })).toEqual([{ role: "user", content: "First" }]);
    expect(thread.toMessages({ lane: "nowhere" })).toEqual([]);
    for (const lane of ["", 7]) {
      expect(() => thread.toMessages({ lane: lane as string })).toThrow("options.lane must be the name of a lane.");
    }
  });
});

test("half of an emoji does not fail the import of a conversation: it is replaced", () => {
  for (const [format, message] of [
    ["neutral", { role: "user", content: "cut \ud83d" }],
    ["openai-chat", { role: "user", content: [{ type: "text", text: "cut \ud83d" }] }],
    ["ui-messages", { id: "1", role: "user", parts: [{ type: "text", text: "cut \ud83d" }] }],
  ] as const) {
    const thread = Thread.fromMessages([message] as never, { format });
    expect(JSON.stringify(thread.toArray()), format).toContain("cut \ufffd");
  }
});

test("unsupported formats are refused by name, whichever format is passed", () => {
  const responses = [
    [{ role: "user", content: [{ type: "input_text", text: "Hi" }] }],
    [
      { role: "user", content: "Hi" },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    ],
    [
      { role: "user", content: "Hi" },
      { type: "function_call_output", call_id: "c1", output: "1" },
    ],
    [
      { role: "user", content: "Hi" },
      { type: "reasoning", id: "rs_1", summary: [] },
    ],
  ];
  const gemini = [
    [{ role: "user", parts: [{ text: "Hi" }] }],
    [
      { role: "user", parts: [{ text: "Hi" }] },
      { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
    ],
  ];
  for (const format of [undefined, ...FORMATS]) {
    for (const [lists, name] of [
      [responses, "OpenAI Responses API"],
      [gemini, "content of Gemini"],
    ] as const) {
      for (const list of lists) {
        const error = refusal(list, format);
        expect([error.code, error.path]).toEqual([
          "unsupported_message_format",
          expect.stringMatching(/^messages\[\d\]$/),
        ]);
        expect(error.message).toContain(name);
        expect(error.message).toContain("format neutral");
      }
    }
  }
});

test("answers whose call is named are sent with their thinking again", () => {
  const model = "anthropic:claude-sonnet-4-5";
  const ask = Thread.fromMessages([{ role: "user", content: "Weather?" }], { format: "model-messages" });
  const { fingerprint } = project({ thread: ask, model }).meta;
  const providerOptions = { anthropic: { signature: "sig" } };
  const call = { type: "tool-call", toolCallId: "c1", toolName: "weather", input: {} };
  const output = { type: "text", value: "Sunny." };
  const answer = [
    { role: "assistant", content: [{ type: "reasoning", text: "Hm.", providerOptions }, call] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", output }] },
  ];
  const shownWith = (options: object) => {
    const made = Thread.fromMessages(answer, { format: "model-messages", ...options }).toArray();
    const entries = made.map(({ kind, payload, refs }) => ({ kind, payload, refs }));
    return JSON.stringify(project({ thread: ask.append(entries), model }).messages);
  };
  expect(shownWith({})).not.toContain("Hm.");
  expect(shownWith({ call: { model, fingerprint } })).toContain("Hm.");
  expect(() => shownWith({ call: { modl: model } })).toThrow(ThreadError);
  expect(() => shownWith({ call: { model: 1 } })).toThrow("options.call must be { model, fingerprint }");
});

test("a file that the AI SDK wrote returns as the same JSON text", async () => {
  const url = "data:text/plain;base64,aGVsbG8=";
  // The order of `convertFileListToFileUIParts`, and of `convertToModelMessages`.
  const file = { type: "file", mediaType: "text/plain", filename: "a.txt", url } as const;
  const ui = [{ id: "m1", role: "user" as const, parts: [file] }];
  for (const [format, list] of [
    ["ui-messages", ui],
    ["model-messages", await convertToModelMessages(ui)],
  ] as const) {
    const again = Thread.fromMessages(list, { format }).toMessages();
    expect(JSON.stringify(again)).toBe(JSON.stringify(list));
  }
});

test("options of a message, such as cache marks, are those of its last part", () => {
  const mark = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const own = { anthropic: { citations: { enabled: true } } };
  const output = { type: "text", value: "Sunny." };
  const result = (toolCallId: string) => ({ type: "tool-result", toolCallId, toolName: "look", output });
  const calls = ["c1", "c2"].map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "look", input: {} }));
  const text = { type: "text", text: "And this?" };
  const list = [
    { role: "user", content: "A long document.", providerOptions: mark },
    { role: "assistant", content: [{ type: "text", text: "I look." }, ...calls], providerOptions: mark },
    { role: "tool", content: [result("c1"), result("c2")], providerOptions: mark },
    { role: "assistant", content: "It is sunny.", providerOptions: mark },
    { role: "user", content: [text, { ...text, providerOptions: own }], providerOptions: mark },
  ];
  const thread = Thread.fromMessages(list, { format: "model-messages" });
  expect(thread.toMessages()).toEqual(list);
  const { messages } = project({ thread });
  const marked = { anthropic: { ...mark.anthropic, ...own.anthropic } };
  expect(messages).toMatchObject([
    { content: [{ text: "A long document.", metadata: mark }] },
    { toolCalls: [{ id: "c1" }, { id: "c2", metadata: mark }] },
    { toolCallId: "c1" },
    { toolCallId: "c2" },
    { content: [{ text: "It is sunny.", metadata: mark }] },
    { content: [text, { ...text, metadata: marked }] },
  ]);
  expect(JSON.stringify(messages).match(/ephemeral/g)).toHaveLength(4); // heddle/1 shows none of a result
  expect(Thread.fromMessages(thread.toMessages({ format: "neutral" })).toMessages()).toHaveLength(messages.length);
});
