import { type JsonValue, project, Thread } from "heddle";
import { toUIMessages } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";
import { stage } from "../support/stage.ts";

// The role that newer models of OpenAI have in place of `system`.
const brief = { role: "developer", content: "Be brief." };
const parts = { role: "developer", content: [{ type: "text", text: "Be brief." }] };

describe("a developer message in the log", () => {
  const kinds: readonly (readonly [string, JsonValue])[] = [
    ["message", brief],
    ["ai_message", parts],
  ];

  test.each(kinds)("is shown to the model as a system message is (%s)", async (kind, payload) => {
    const on = await stage();
    const before = [
      { kind: "message", payload: { role: "user", content: "Hi." } },
      { kind, payload: payload as never },
    ];
    await on.store.append(on.threadId, before);
    const expected = { endsWith: [{ text: "System message:\nBe brief." }, { text: "Go." }] };
    const server = await on.start({ script: [{ expect: expected, text: "Done." }] as never });
    const { text } = await on.end((await on.end(server.ask("Go."))).result);
    expect(text).toBe("Done.");
    await on.end(server.stop());
  });

  test("is listed, exported and shown in a page as a system message", () => {
    const thread = Thread.create().append([
      { kind: "message", payload: brief },
      { kind: "message", payload: parts },
    ]);
    const system = { role: "system", content: "Be brief." };
    expect(thread.toMessages({ format: "openai-chat" })).toMatchObject([system, system]);
    expect(thread.toMessages()).toMatchObject([system, system]);
    expect(toUIMessages(thread)).toMatchObject([{ role: "system" }, { role: "system" }]);
  });

  test("that was imported is exported as it was", () => {
    const list = [{ role: "user", content: "Hi." }, brief];
    for (const format of ["openai-chat", "neutral"] as const) {
      const thread = Thread.fromMessages(list, { format });
      expect(thread.toMessages()).toEqual(list);
      expect(project({ thread }).messages.at(-1)?.content).toContain("Be brief.");
    }
  });
});
