import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, test } from "vitest";
import { encodingOf, exactCounter, loadExactCounter } from "../../src/tokens/exact.ts";
import { CORPORA } from "./corpora.ts";

describe("the encoding of a model", () => {
  test.each([
    ["openai:gpt-4", "cl100k_base"],
    ["openai:gpt-4-turbo-2024-04-09", "cl100k_base"],
    ["gpt-3.5-turbo", "cl100k_base"],
    ["azure/gpt-35-turbo", "cl100k_base"],
    ["openai:gpt-4o-mini", "o200k_base"],
    ["openai/gpt-4.1", "o200k_base"],
    ["openrouter/openai/gpt-5", "o200k_base"],
    ["GPT-5.1-2025-11-13", "o200k_base"],
    ["o3", "o200k_base"],
    ["something-nobody-knows", "o200k_base"],
    ["", "o200k_base"],
  ])("%s is %s", (model, encoding) => {
    expect(encodingOf(model)).toBe(encoding);
  });

  test.each(["anthropic:claude-sonnet-4", "openrouter/anthropic/claude-opus-5", "google:gemini-2.5-pro", "Gemini-3"])(
    "%s has none, and the error says what to use",
    async (model) => {
      await expect(loadExactCounter(model)).rejects.toMatchObject({
        name: "HeddleError",
        code: "tokenizer_unavailable",
        message: expect.stringContaining('"calibrated"'),
      });
    },
  );
});

describe("the exact counter", () => {
  test("counts as the tokenizer does", async () => {
    const newest = await loadExactCounter("openai:gpt-5");
    const older = await loadExactCounter("openai:gpt-4");
    expect([newest.id, older.id]).toEqual(["exact:o200k_base", "exact:cl100k_base"]);
    for (const text of ["", "hello world", "好的", "naïve café 😀"]) {
      expect(newest.count(text)).toBe(o200k(text));
      expect(older.count(text)).toBe(cl100k(text));
    }
  });

  test("takes the names of special tokens as text", () => {
    expect(exactCounter("o200k_base", o200k).count("say <|endoftext|> please")).toBeGreaterThan(5);
  });

  test.each(CORPORA)("long $name is cut where it hardly matters", ({ draw }) => {
    const text = draw(8000);
    const cut = exactCounter("o200k_base", o200k).count(text);
    const whole = o200k(text);
    expect(Math.abs(cut - whole) / whole).toBeLessThan(0.005);
  });

  test("words are never cut: text with spaces counts the same in slices", () => {
    const text = "Honestly extraordinary circumstances require unconventional countermeasures. ".repeat(300);
    expect(exactCounter("o200k_base", o200k).count(text)).toBe(o200k(text));
  });

  test("a cut never splits a character", () => {
    const given: string[] = [];
    const counter = exactCounter("o200k_base", (text) => given.push(text));
    const text = `a${"😀".repeat(3000)}`;
    counter.count(text);
    expect(given.join("")).toBe(text);
    expect(given.every((slice) => slice.isWellFormed() && slice.length <= 1024)).toBe(true);
  });

  test("its time grows with the text, not with its square", () => {
    const sizes: number[] = [];
    const counter = exactCounter("o200k_base", (text) => sizes.push(text.length));
    counter.count("好".repeat(100_000));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024);
    expect(sizes.length).toBeLessThan(110);
  });
});

describe("loading the tokenizer", () => {
  test("where it is missing is an error with the command that installs it", async () => {
    const missing = () => Promise.reject(new Error("Cannot find package"));
    await expect(loadExactCounter("openai:gpt-5", missing)).rejects.toMatchObject({
      name: "HeddleError",
      code: "tokenizer_missing",
      message: expect.stringContaining("npm install gpt-tokenizer@"),
    });
  });

  test("another version of it is the same error", async () => {
    for (const other of [undefined, {}, { countTokens: 1 }]) {
      await expect(loadExactCounter("gpt-5", () => Promise.resolve(other))).rejects.toMatchObject({
        code: "tokenizer_missing",
      });
    }
  });

  test("asks for the one encoding that is needed", async () => {
    const asked: string[] = [];
    const load = async (name: string) => {
      asked.push(name);
      return { countTokens: () => 1 };
    };
    await loadExactCounter("openai:gpt-4", load);
    expect(asked).toEqual(["gpt-tokenizer/encoding/cl100k_base"]);
  });
});
