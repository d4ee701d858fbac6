import {
  experimental_createSteering,
  generateText,
  isStepCount,
  jsonSchema,
  type ModelMessage,
  streamText,
  ToolLoopAgent,
  tool,
} from "ai";
import fc from "fast-check";
import { ProjectionError, type TokenCounter } from "heddle";
import { type ProjectionStep, projectionStep } from "heddle/ai-sdk";
import { validateMessages } from "heddle/providers";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

const read = tool({
  description: "Reads a page",
  inputSchema: jsonSchema<{ page: number }>({ type: "object", properties: { page: { type: "number" } } }),
  execute: ({ page }) => `page ${page}: ${"word ".repeat(200)}`,
});
const tools = { read };

/** So many calls, two at a time, and then an answer. */
function reading(steps: number, more: object = {}): readonly ScriptedStep[] {
  const calls = Array.from({ length: steps }, (_, step) => ({
    calls: [0, 1].map((at) => ({ name: "read", arguments: { page: 2 * step + at } })),
    ...more,
  }));
  return [...calls, "All read."];
}

const policy = { maxInputTokens: 4000, reserveOutputTokens: 500, keepLastTurns: 1 } as const;
const prompt = "Read the whole book and tell me who did it.";

type Prompt = readonly { readonly role: string; readonly content: unknown }[];

function promptsOf(model: ReturnType<typeof scriptedModel>): readonly Prompt[] {
  return model.requests.map(({ options }) => options["prompt"] as unknown as Prompt);
}

function sharedPrefix(a: Prompt, b: Prompt): number {
  const differs = a.findIndex((message, index) => JSON.stringify(message) !== JSON.stringify(b[index]));
  return differs < 0 ? a.length : differs;
}

describe("a tool loop of the AI SDK that projectionStep prepares", () => {
  const loops = {
    generateText: async (model: ReturnType<typeof scriptedModel>, prepareStep: ReturnType<typeof projectionStep>) => {
      await generateText({ model, tools, instructions: "Be exact.", prompt, stopWhen: isStepCount(50), prepareStep });
    },
    streamText: async (model: ReturnType<typeof scriptedModel>, prepareStep: ReturnType<typeof projectionStep>) => {
      await streamText({ model, tools, instructions: "Be exact.", prompt, stopWhen: isStepCount(50), prepareStep })
        .text;
    },
    ToolLoopAgent: async (model: ReturnType<typeof scriptedModel>, prepareStep: ReturnType<typeof projectionStep>) => {
      await new ToolLoopAgent({
        model,
        tools,
        instructions: "Be exact.",
        stopWhen: isStepCount(50),
        prepareStep,
      }).generate({ prompt });
    },
  };
  for (const [name, loop] of Object.entries(loops)) {
    test(`fits, keeps the ask, is legal, and moves in coarse steps: ${name}`, async () => {
      const model = scriptedModel(reading(30));
      await loop(model, projectionStep({ policy, tools }));
      model.assertComplete();
      const prompts = promptsOf(model);
      expect(prompts.length).toBe(31);
      let moves = 0;
      for (const [index, sent] of prompts.entries()) {
        expect(tokensIn(sent)).toBeLessThanOrEqual(3500);
        expect(sent[0]).toMatchObject({ role: "system", content: "Be exact." });
        expect(JSON.stringify(sent[1])).toContain(prompt);
        const before = prompts[index - 1];
        if (before !== undefined && sharedPrefix(before, sent) < before.length) moves += 1;
      }
      expect(moves).toBeGreaterThan(2);
      expect(moves).toBeLessThan(15);
      for (const { messages } of model.requests) expect(pairs(messages)).toEqual([]);
    });
  }

  test("is sent every message as it is, as long as all fits", async () => {
    const plain = scriptedModel(reading(3));
    await generateText({ model: plain, tools, prompt, stopWhen: isStepCount(9) });
    const ours = scriptedModel(reading(3));
    await generateText({
      model: ours,
      tools,
      prompt,
      stopWhen: isStepCount(9),
      prepareStep: projectionStep({ tools }),
    });
    expect(promptsOf(ours)).toEqual(promptsOf(plain));
  });

  test("is refused when the ask alone does not fit", async () => {
    const model = scriptedModel(["No."]);
    const long = "word ".repeat(5000);
    const asked = generateText({ model, tools, prompt: long, prepareStep: projectionStep({ policy, tools }) });
    await expect(asked).rejects.toSatisfy((error) => ProjectionError.isInstance(error));
  });

  test("keeps what was steered into it, beside the ask", async () => {
    const steering = experimental_createSteering();
    let count = 0;
    const steered = tool({
      ...read,
      execute: ({ page }: { page: number }) => {
        count += 1;
        if (count === 4) void steering.steer("Only the butler matters.");
        return `page ${page}: ${"word ".repeat(200)}`;
      },
    });
    const model = scriptedModel(reading(20));
    const result = streamText({
      model,
      tools: { read: steered },
      prompt,
      stopWhen: isStepCount(50),
      prepareStep: projectionStep({ policy, tools }),
      experimental_steering: steering,
    });
    await result.text;
    const last = JSON.stringify(promptsOf(model).at(-1));
    expect(last).toContain(prompt);
    expect(last).toContain("Only the butler matters.");
    expect(promptsOf(model).filter((sent) => JSON.stringify(sent).includes("butler")).length).toBeGreaterThan(15);
  });

  test("keeps the thinking of the loop where the messages before it have changed", async () => {
    const model = scriptedModel(reading(20, { thinking: "Hm.", metadata: { anthropic: { signature: "s" } } }), {
      provider: "anthropic",
      modelId: "claude",
    });
    await generateText({
      model,
      tools,
      prompt,
      stopWhen: isStepCount(50),
      prepareStep: projectionStep({ policy, tools }),
    });
    const prompts = promptsOf(model);
    const isMoved = prompts.map(
      (sent, index) => sharedPrefix(prompts[index - 1] ?? [], sent) < (prompts[index - 1]?.length ?? 0),
    );
    expect(isMoved).toContain(true);
    for (const [index, sent] of prompts.entries()) {
      const thinks = sent
        .filter(({ role }) => role === "assistant")
        .map((message) => JSON.stringify(message).includes('"reasoning"'));
      expect(thinks, `step ${index}`).not.toContain(false);
    }
  });
});

test("an unchanged message is the same object, with all that only the AI SDK knows of it", async () => {
  const messages: ModelMessage[] = [
    { role: "system", content: "Be kind." },
    { role: "user", content: "First", providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Look." },
        { type: "tool-call", toolCallId: "a", toolName: "read", input: { page: 1 } },
        { type: "tool-call", toolCallId: "b", toolName: "read", input: { page: 2 } },
        { type: "tool-approval-request", approvalId: "1", toolCallId: "a" },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "a", toolName: "read", output: { type: "json", value: { n: 1 } } },
        { type: "tool-result", toolCallId: "b", toolName: "read", output: { type: "text", value: "x" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "Second" },
        { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]) },
      ],
    },
  ];
  const step = {
    model: { provider: "p", modelId: "m" },
    messages,
    initialMessages: messages,
    responseMessages: [],
    steps: [],
  };
  const shown = (await projectionStep({ warn: () => undefined })(step)).messages;
  expect(shown.length).toBe(messages.length);
  for (const [index, message] of messages.entries()) expect(shown[index]).toBe(message);
});

test("a step projects the original messages, not the projection of the step before", async () => {
  const said = (content: string): ModelMessage => ({ role: "user", content });
  const answered = (content: string): ModelMessage => ({ role: "assistant", content });
  const [first, before, between, reply, now] = [
    said("First"),
    answered("Before"),
    said("Between"),
    answered("Reply"),
    said("Now"),
  ];
  const step = {
    model: "anthropic/claude",
    messages: [now],
    initialMessages: [first],
    responseMessages: [before, reply],
    steps: [{ experimental_steeringMessages: [between], response: { messages: [reply] } }],
    experimental_steeringMessages: [now],
  };
  expect((await projectionStep({ warn: () => undefined })(step)).messages).toEqual([
    first,
    before,
    between,
    reply,
    now,
  ]);
  const older = { model: "anthropic/claude", messages: [first, before, now], steps: [] };
  expect(await projectionStep({ policy, system: "Be kind." })(older)).toEqual({
    messages: [first, before, now],
    instructions: "Be kind.",
  });
});

test("calls without a result get one, and illegal ids are replaced", async () => {
  const call = (toolCallId: string) => ({ type: "tool-call" as const, toolCallId, toolName: "read", input: {} });
  const result = (toolCallId: string) => ({
    type: "tool-result" as const,
    toolCallId,
    toolName: "read",
    output: { type: "text" as const, value: "x" },
  });
  const messages: ModelMessage[] = [
    { role: "user", content: "Go" },
    { role: "assistant", content: [call("a"), call("not legal!")] },
    { role: "tool", content: [result("not legal!")] },
    { role: "user", content: "On" },
  ];
  const step = { model: "anthropic/claude", messages, initialMessages: messages, responseMessages: [], steps: [] };
  const shown = (await projectionStep({ warn: () => undefined })(step)).messages;
  expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  const [, calls, results] = shown as unknown as readonly { content: readonly { toolCallId: string }[] }[];
  const ids = calls?.content.map(({ toolCallId }) => toolCallId) ?? [];
  expect(results?.content.map(({ toolCallId }) => toolCallId)).toEqual(ids);
  expect(ids).toEqual(["a", expect.stringMatching(/^[\w-]{1,40}$/)]);
});

/** A conversation of one ask, and what `prepareStep` is given of it after so many steps. */
function conversation(name: string, length: number) {
  const ask: ModelMessage = { role: "user", content: `Read ${name}.` };
  const steps = Array.from({ length }, (_, at) => {
    const call = { toolCallId: `c${at}`, toolName: "read" };
    const messages: ModelMessage[] = [
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { page: at } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", ...call, output: { type: "text", value: `${name} ${"w ".repeat(300)}` } }],
      },
    ];
    return { response: { messages } };
  });
  return (count: number) => ({
    model: { provider: "p", modelId: "m" },
    messages: [ask],
    initialMessages: [ask],
    responseMessages: steps.slice(0, count).flatMap(({ response }) => response.messages),
    steps: steps.slice(0, count),
  });
}

describe("one projectionStep for several conversations at once", () => {
  const options = { policy: { maxInputTokens: 1200, reserveOutputTokens: 200 }, tools };

  test("shows each of them what one of its own would show, in any order and with any number kept", async () => {
    const order = fc.array(fc.nat({ max: 3 }), { maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(order, fc.integer({ min: 1, max: 5 }), async (turns, keep) => {
        const shared = projectionStep({ ...options, keep });
        const all = [0, 1, 2, 3].map((name) => ({ at: conversation(`book ${name % 2}`, 24), count: 0 }));
        for (const turn of turns) {
          const each = all[turn];
          if (each === undefined) continue;
          const step = each.at(each.count++);
          expect(await shared(step)).toEqual(await projectionStep(options)(step));
        }
      }),
      { numRuns: 30 },
    );
  });

  test("reads each message once", async () => {
    const counted = async (prepareStepOf: (tokenCounter: TokenCounter) => (at: number) => ProjectionStep) => {
      let count = 0;
      const prepareStep = prepareStepOf({
        count: (text) => {
          count += 1;
          return Math.ceil(text.length / 4);
        },
      });
      const all = Array.from({ length: 6 }, (_, at) => ({
        step: conversation(`book ${at}`, 20),
        own: prepareStep(at),
      }));
      for (let step = 0; step <= 20; step++) await Promise.all(all.map(({ step: of, own }) => own(of(step))));
      return count;
    };
    const apart = await counted((tokenCounter) => () => projectionStep({ ...options, tokenCounter }));
    const together = await counted((tokenCounter) => {
      const one = projectionStep({ ...options, tokenCounter });
      return () => one;
    });
    expect(together).toBeLessThanOrEqual(apart);
  });

  test("an ask of an earlier turn is not kept as the ask of this one", async () => {
    const prepareStep = projectionStep({ policy: { maxInputTokens: 400, reserveOutputTokens: 100 } });
    const messages: ModelMessage[] = [];
    for (let turn = 0; turn < 12; turn++) {
      messages.push({ role: "user", content: `Ask ${turn} ${"w ".repeat(60)}` });
      const initialMessages = [...messages];
      const step = { model: { provider: "p", modelId: "m" }, messages: initialMessages, initialMessages, steps: [] };
      const shown = await prepareStep(step);
      const fresh = await projectionStep({ policy: { maxInputTokens: 400, reserveOutputTokens: 100 } })(step);
      expect(shown).toEqual(fresh);
      messages.push({ role: "assistant", content: `Reply ${turn} ${"w ".repeat(60)}` });
    }
  });
});

describe("a step without a policy", () => {
  const long = (words: number): ModelMessage[] =>
    Array.from({ length: 40 }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: "word ".repeat(words),
    }));
  const shownTo = async (modelId: string, messages: ModelMessage[], warn: (message: string) => void) => {
    const prepareStep = projectionStep({ warn });
    const step = { model: { provider: "anthropic", modelId }, messages, initialMessages: messages, steps: [] };
    await prepareStep(step);
    return (await prepareStep(step)).messages.length;
  };

  test("has the window of its model; of an unknown model 32,000 tokens, with one warning", async () => {
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    expect(await shownTo("claude-sonnet-4-5", long(1500), warn)).toBe(40); // 75,000 tokens
    expect(warnings).toEqual([]);
    expect(await shownTo("unheard-of", long(450), warn)).toBe(40); // 22,500 tokens
    expect(await shownTo("unheard-of", long(900), () => undefined)).toBeLessThan(40);
    expect(warnings).toEqual([expect.stringMatching(/window of anthropic:unheard-of: .* 32000 tokens/)]);
  });

  test("has a text in place of a file that its provider refuses, also in a result", async () => {
    const file = { type: "file", mediaType: "image/heic", data: "aGVsbG8=" } as const;
    const data = { ...file, data: { type: "data", data: "aGVsbG8=" } } as const;
    const named = { toolCallId: "c1", toolName: "read" };
    const messages: ModelMessage[] = [
      { role: "user", content: [{ type: "text", text: "See." }, file] },
      { role: "assistant", content: [{ type: "tool-call", ...named, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...named, output: { type: "content", value: [data] } }] },
      { role: "user", content: "And?" },
    ];
    const shown = async (provider: string) => {
      const model = { provider, modelId: "claude-sonnet-4-5" };
      const step = { model, messages, initialMessages: messages, steps: [] };
      return (await projectionStep({ warn: () => undefined })(step)).messages;
    };
    expect(await shown("local")).toEqual(messages);
    const sent = await shown("anthropic.messages");
    expect(JSON.stringify(sent).match(/\(image\/heic\) that cannot be shown here/g)).toHaveLength(2);
    expect(sent[1]).toBe(messages[1]);
    expect(sent[3]).toBe(messages[3]);
  });

  test("shortens a result that is larger than the window", async () => {
    const model = scriptedModel([{ calls: [{ name: "read", arguments: { page: 1 } }] }, "Read."]);
    const huge = tool({ ...read, execute: () => "word ".repeat(100_000) });
    const { text } = await generateText({
      model,
      tools: { read: huge },
      prompt,
      stopWhen: isStepCount(5),
      prepareStep: projectionStep({ policy: { maxInputTokens: 4000 }, tools }),
    });
    expect(text).toBe("Read.");
    expect(tokensIn(promptsOf(model).at(-1) ?? [])).toBeLessThan(4000);
  });
});

/** What the texts alone come to. */
function tokensIn(sent: Prompt): number {
  const texts = [...JSON.stringify(sent).matchAll(/"(?:value|text|content)":"([^"]*)"/g)].map(([, text = ""]) => text);
  return texts.reduce((sum, text) => sum + Math.floor(text.length / 4) + 10, 0);
}

/** Rules that a prompt breaks, as far as the scripted model can tell of it. */
function pairs(asked: ReturnType<typeof scriptedModel>["requests"][number]["messages"]): readonly unknown[] {
  const messages = asked.flatMap(({ role, text = "", calls, results = [] }): readonly object[] => {
    if (role === "tool")
      return results.map(({ id, name }) => ({ role: "tool" as const, toolCallId: id, name, content: "x" }));
    if (role === "assistant") return [{ role, content: text, ...(calls && { toolCalls: calls }) }];
    return [{ role: "user" as const, content: text }];
  });
  return (["openai-chat", "anthropic", "gemini"] as const).flatMap((provider) =>
    validateMessages(messages as never, provider),
  );
}
