import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { memoryStore } from "heddle";
import { expect, test } from "vitest";
import { printMessages } from "../../src/cli/context-report.ts";
import { askForDecision, howToDecide } from "../../src/cli/decision-prompt.ts";
import type { Io } from "../../src/cli/io.ts";
import { Output, printTable } from "../../src/cli/output.ts";
import type { StudioClient } from "../../src/cli/studio-client.ts";
import { escapeHidden, visibleText } from "../../src/thread/hidden-characters.ts";
import { showHidden } from "../../studio-ui/parts/visible-text.ts";
import { started } from "./support/client.ts";

const PIECES = [
  ..."\u0000\u0007\u0008\u001b\u007f\u0085\u009b\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202e",
  ..."\u2060\u2066\u2069\u115f\u3164\ufe0f\ufeff\ufff9\r\n\t אبя'\"\\`$<>&;",
  ...[
    "\u{e0041}",
    "\u{e0100}",
    "\ud800",
    "\udc00",
    "\r\n",
    "\u001b[31m",
    "\u001b[8mx",
    "\u001b]0;t\u0007",
    "👩‍👩‍👧",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
  ],
];
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: "binary", maxLength: 3 })), { maxLength: 12 })
  .map((pieces) => pieces.join(""));
const value = fc.oneof(hostile, fc.dictionary(hostile, hostile, { maxKeys: 3 }), fc.array(hostile, { maxLength: 3 }));

/** Characters that are not seen, or move others. Joiners may stand where they join. */
const MISLEADING = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}|\u115f|\u3164|\u{e0100}/u;
const withoutNewlines = (text: string): string => text.replaceAll("\r\n", "\n");

/** A terminal that remembers what was written, without the codes of the styles. */
function terminal(isTerminal = true) {
  const written: string[] = [];
  const sink = { isTerminal, columns: 80, write: async (text: string) => void written.push(text) };
  const io = {
    ...{ stdout: sink, stderr: sink, env: { FORCE_COLOR: "1" } },
    ask: async (question: string) => {
      written.push(question);
      return "";
    },
  } as unknown as Io; // the rest is not used here
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes of the styles that the output begins and ends with
  const text = (): string => withoutNewlines(written.join("").replaceAll(/\u001b\[(1|2|22|3[1-6]|39)m/g, ""));
  return { io, out: new Output(io, {}), text };
}

test("a text that is made visible does not mislead, and one that does not mislead stays", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const shown = withoutNewlines(visibleText(text));
      expect(shown).not.toMatch(MISLEADING);
      expect(visibleText(visibleText(text))).toBe(visibleText(text));
    }),
  );
  for (const text of [
    "👩‍👩‍👧‍👦 ❤️ 1️⃣",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "שלום\r\n",
    "tab\tand\nline",
    "क्‍ष",
  ])
    expect(visibleText(text)).toBe(text);
});

test("no name, id, argument or text takes over the terminal or is shown otherwise than it is", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, hostile, value, async (name, id, given) => {
      const waiting = { toolCallId: id, name, kind: "approval", arguments: given } as Parameters<
        typeof askForDecision
      >[1];
      const asked = terminal();
      const { io, out } = asked;
      await askForDecision({ io, out, client: {} as StudioClient, threadId: "t" }, waiting); // nothing is decided
      const [named, json] = [JSON.stringify(name).slice(1, -1), JSON.stringify(given)].map(escapeHidden);
      expect(asked.text()).toBe(`May ${named} ${json} run? [y/n] `);
      expect(asked.text()).not.toMatch(MISLEADING);
      expect(JSON.parse(json ?? "")).toEqual(JSON.parse(JSON.stringify(given)));

      const seen = terminal();
      await seen.out.error(howToDecide(seen.out, "t", waiting));
      expect(seen.text().split("\n").length).toBe(2);
      await seen.out.json({ name, given });
      await printTable(seen.out, ["a", "b"], [[name, id]]);
      await printMessages(seen.out, [
        { role: "user", content: name },
        { role: "assistant", content: id, toolCalls: [{ id, name, arguments: given }] },
        { role: "tool", toolCallId: id, name, content: name, isError: false },
      ]);
      expect(seen.text()).not.toMatch(MISLEADING);

      const piped = terminal(false);
      await piped.out.error(howToDecide(piped.out, "t", waiting)); // stderr is for people, also in a log
      expect(piped.text()).not.toMatch(MISLEADING);
    }),
  );
});

test("the rows of a table are its own", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(hostile, hostile), { maxLength: 4 }), async (rows) => {
      const { out, text } = terminal();
      await printTable(out, ["a", "b"], rows);
      expect(text().split("\n").length - 1).toBe(rows.length === 0 ? 0 : rows.length + 1);
    }),
  );
});

test("a streamed text is shown as a whole one, wherever it was cut", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, fc.array(fc.nat(12)), async (text, cuts) => {
      const { out, text: shown } = terminal();
      const places = [0, ...cuts.map((at) => Math.min(at, text.length)).sort((a, b) => a - b), text.length];
      for (const [index, at] of places.entries()) if (index > 0) await out.raw(text.slice(places[index - 1], at));
      await out.raw("\n"); // a half of a character at the end is written with what follows
      const isCutLine = text.includes("\r");
      if (!isCutLine) expect(shown()).toBe(withoutNewlines(visibleText(`${text}\n`)));
      expect(shown()).not.toMatch(MISLEADING);
    }),
  );
});

test("the page makes every text and every label visible", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const element = { type: "p", props: { title: text, "aria-label": text, value: text } };
      showHidden(element);
      expect(element.props).toEqual({ title: visibleText(text), "aria-label": visibleText(text), value: text });
      const node = { type: null, props: text }; // as Preact makes of a text
      showHidden(node);
      expect(node.props).toBe(visibleText(text));
    }),
  );
});

test("an export without the built page shows every value as it is", async () => {
  const wellFormed = hostile.map((text) => text.toWellFormed());
  await fc.assert(
    fc.asyncProperty(wellFormed, wellFormed, async (title, content) => {
      const store = memoryStore();
      const toolCalls = [{ id: "c1", name: `x${content}`, arguments: { [content]: content } }];
      await store.append(
        "thread_1",
        [
          { kind: "message", payload: { role: "user", content } },
          { kind: "ai_message", payload: { contextRef: "default", role: "assistant", content, toolCalls } },
          { kind: "note", payload: { text: content } },
        ],
        { metadata: { title } },
      );
      const { api, studio } = await started({ store });
      const html = (await api.get("/threads/thread_1/export?format=html")).body as string;
      await studio.stop({ graceMs: 0 });
      const texts = textsOf(html);
      expect(texts.join("\n")).not.toMatch(MISLEADING);
      expect(texts.length).toBeGreaterThanOrEqual(7);
    }),
    { numRuns: 15 },
  );
});

/** The texts that the script of an exported page puts into it. */
function textsOf(html: string): string[] {
  const data = /id="heddle-data">([^<]*)</.exec(html)?.[1] ?? "";
  const script = /<script>(.*?)<\/script>/s.exec(html)?.[1] ?? "";
  const texts: string[] = [];
  const element = () => ({
    set textContent(text: string) {
      texts.push(text);
    },
    get textContent() {
      return data;
    },
    append: () => undefined,
  });
  const document = {
    set title(text: string) {
      texts.push(text);
    },
    ...{ getElementById: element, querySelector: element, createElement: element },
  };
  runInNewContext(script, { document });
  return texts.map(withoutNewlines);
}
