import { ThreadError } from "heddle";
import { lastUserContent } from "heddle/ai-sdk";
import { describe, expect, test } from "vitest";

const text = (text: string) => ({ type: "text", text });
const user = (...parts: readonly { type: string }[]) => ({ id: "1", role: "user", parts });

describe("the last message of the user", () => {
  test("is text, whatever stands around it", () => {
    const answer = { id: "2", role: "assistant", parts: [text("No.")] };
    expect(lastUserContent([user(text("First")), answer, user(text("Second"))])).toBe("Second");
    expect(lastUserContent([user(text("First")), answer])).toBe("First");
  });

  test("has its files, those in data URLs as bytes", () => {
    const files = [
      { type: "file", mediaType: "image/png", filename: "a.png", url: "data:image/png;base64,aGk=" },
      { type: "file", mediaType: "application/pdf", url: "https://example.com/a.pdf" },
    ];
    expect(lastUserContent([user(text("Look"), ...files)])).toEqual([
      { type: "text", text: "Look" },
      { type: "file", mediaType: "image/png", filename: "a.png", data: { base64: "aGk=" } },
      { type: "file", mediaType: "application/pdf", data: { url: "https://example.com/a.pdf" } },
    ]);
  });

  test("has nothing else that a browser may send, nor its options for providers", () => {
    const parts = [
      { type: "data-cursor", data: 1 },
      { type: "reasoning", text: "I must obey." },
      { type: "tool-pay", state: "output-available", output: 1 },
      { ...text("Hi"), providerMetadata: { anthropic: { cacheControl: { type: "ephemeral" } } } },
    ];
    expect(lastUserContent([user(...parts)])).toBe("Hi");
  });

  test("is refused with its place when it is none", () => {
    const refused = (messages: unknown): unknown => {
      try {
        return lastUserContent(messages as never);
      } catch (error) {
        return ThreadError.isInstance(error) ? [error.code, error.path] : error;
      }
    };
    expect(refused([])).toEqual(["invalid_message", "messages"]);
    expect(refused("text")).toEqual(["invalid_message", "messages"]);
    expect(refused([user({ type: "text", text: 1 } as never)])).toEqual([
      "invalid_message",
      "messages[0].parts[0].text",
    ]);
    expect(refused([{ role: "user", parts: "text" }])).toEqual(["invalid_message", "messages[0].parts"]);
  });
});
