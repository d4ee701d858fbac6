import { readFileSync } from "node:fs";
import { simulate } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { THREAD_ID } from "../../src/testing/simulation/simulation-state.ts";
import { Stage } from "../simulation/kills/stage.ts";
import { STORIES } from "../simulation/kills/stories.ts";
import { root } from "./built.ts";
import { pageText } from "./markdown.ts";

// docs/format.md lists every field that Heddle writes into payloads. The types have the same, and no log of the fixtures, the
// simulation and the stories of kills has others.

const page = /## Payloads\n([\s\S]*?)\n## Records of model calls\n([\s\S]*?)\n## /.exec(pageText("docs/format.md"));
const [, payloads = "", records = ""] = page ?? [];

/** The words in code of a cell. */
const words = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, word]) => word ?? "");
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map(([, row]) => (row ?? "").split(" | "));
const [kinds = "", fields = ""] = payloads.split("| field | content |");
const byKind = new Map(
  rows(kinds).flatMap(([kind = "", list = ""]) => words(kind).map((name) => [name, new Set(words(list))] as const)),
);
const explained = new Set(rows(fields).flatMap(([field = ""]) => words(field)));
const ofRecord = new Set(rows(records).flatMap(([field = ""]) => words(field)));

const source = readFileSync(`${root}src/thread/kinds.ts`, "utf8");

/** The fields of a payload type, with those of the types before `&`. */
function fieldsOf(type: string): Set<string> {
  const [, head = "", body = ""] = new RegExp(`type ${type} = ([^{]*)\\{\\n([\\s\\S]*?)\\n\\}`).exec(source) ?? [];
  const own = [...body.matchAll(/^ {2}readonly (\w+)/gm)].map(([, field]) => field ?? "");
  return new Set([...[...head.matchAll(/\w+/g)].flatMap(([name]) => [...fieldsOf(name)]), ...own]);
}

const [, list = ""] =
  /interface EntryKinds \{\n([\s\S]*?)\n\}\n\n/.exec(source.slice(source.lastIndexOf("interface EntryKinds"))) ?? [];
const types = [...list.matchAll(/^ {2}(\w+): (\w+);/gm)].map(([, kind = "", type = ""]) => [kind, type] as const);

/** The text of a declaration, up to the `;` that ends it, without comments. */
function declared(path: string, head: string): string {
  const text = readFileSync(`${root}src/${path}`, "utf8").replaceAll(/\/\*\*[\s\S]*?\*\//g, "");
  const from = text.indexOf(head);
  expect(from, head).toBeGreaterThan(-1);
  let depth = 0;
  for (let at = from; ; at++) {
    depth += "{[(".includes(text[at] ?? ";") ? 1 : "}])".includes(text[at] ?? ";") ? -1 : 0;
    if (text[at] === ";" && depth === 0) return text.slice(from + head.length, at);
  }
}

/** The fields of the objects in a type, without those of objects in them. */
function ownFields(type: string): ReadonlySet<string> {
  let flat = type.replaceAll(/\{ ?\}/g, "");
  for (let before = ""; before !== flat; ) {
    before = flat;
    flat = flat.replaceAll(/(\{[^{}]*)\{[^{}]*\}/g, "$1");
  }
  return new Set([...flat.matchAll(/readonly (\w+)\??:/g)].map(([, field]) => field ?? ""));
}

const KINDS = "thread/kinds.ts";
const SIGNAL = "agent/signal.ts";

/** The parts of a payload that agents write, with the fields of their types. */
const PARTS: { readonly [field: string]: ReadonlySet<string> } = {
  call: ofRecord,
  end: ownFields(declared("agent/react/state.ts", "type RequestEnd =")),
  options: ownFields(declared(SIGNAL, "type StoredRequestOptions =")),
  handedOver: ownFields(declared(KINDS, "readonly handedOver?:")),
  retried: ownFields(declared(KINDS, "readonly retried?:")),
  summaryFailed: ownFields(declared(SIGNAL, "type FailedSummary =")),
  skipped: ownFields(declared(KINDS, "readonly skipped?:")),
  author: ownFields(declared("thread/message.ts", "type Author =")),
  operation: ownFields(declared(KINDS, "readonly operation:")),
  setting: ownFields(declared(KINDS, "type Setting =")),
  original: new Set(["format", "entries", "messages"]),
};

/** The page's words on each part: its row, or the section that the row links to. */
const section = (title: string): string =>
  new RegExp(`\n## ${title}\n([\\s\\S]*?)\n## `).exec(pageText("docs/format.md"))?.[1] ?? "";
const TOLD: { readonly [field: string]: string } = { options: section("Options of an ask"), setting: section("Lanes") };
const toldOf = (part: string): string =>
  TOLD[part] ?? rows(fields).find(([names = ""]) => words(names).includes(part))?.[1] ?? "";

interface Logged {
  readonly kind: string;
  readonly payload: { readonly [field: string]: unknown };
  readonly refs?: { readonly runId?: unknown };
}

/** The fields of an entry that the page does not list. A note and an error of a user may have any. */
function unlisted({ kind, payload, refs = {} }: Logged): readonly string[] {
  const known = byKind.get(kind);
  const isFree = (kind === "note" || kind === "error" || kind === "checkpoint") && refs.runId === undefined;
  if (known === undefined || isFree) return [];
  const parts = Object.entries(payload).flatMap(([field, value]) => {
    const allowed = PARTS[field];
    if (allowed === undefined || typeof value !== "object" || value === null) return [];
    return Object.keys(value)
      .filter((part) => !allowed.has(part))
      .map((part) => `${kind}.${field}.${part}`);
  });
  return [
    ...Object.keys(payload)
      .filter((field) => !known.has(field))
      .map((field) => `${kind}.${field}`),
    ...parts,
  ];
}

/** Every entry in a value, also in JSON texts in it. */
function entriesIn(value: unknown): Logged[] {
  if (typeof value === "string") return /^[[{]/.test(value) ? entriesInText(value) : [];
  if (typeof value !== "object" || value === null) return [];
  const isEntry = "kind" in value && "payload" in value && typeof value.payload === "object" && value.payload !== null;
  return [...(isEntry ? [value as Logged] : []), ...Object.values(value).flatMap(entriesIn)];
}

function entriesInText(text: string): Logged[] {
  try {
    return entriesIn(JSON.parse(text));
  } catch {
    return [];
  }
}

describe("docs/format.md", () => {
  test("lists the fields of every payload type, and explains each", () => {
    expect([...byKind.keys()].toSorted()).toEqual(types.map(([kind]) => kind).toSorted());
    for (const [kind, type] of types)
      expect([kind, [...(byKind.get(kind) ?? [])].toSorted()]).toEqual([kind, [...fieldsOf(type)].toSorted()]);
    const all = new Set([...byKind.values()].flatMap((names) => [...names]));
    const ofOwn = new Set(["id", "arguments"]); // of a call: their names say it
    expect([...all].filter((field) => !explained.has(field) && !ofOwn.has(field))).toEqual([]);
  });

  test("lists the fields of every part of a payload", () => {
    for (const [part, typed] of Object.entries(PARTS)) {
      if (part === "call") continue; // its table is above
      expect(typed.size, part).toBeGreaterThan(0);
      expect([part, [...typed].filter((field) => !new RegExp(`\\b${field}\\b`).test(toldOf(part)))]).toEqual([
        part,
        [],
      ]);
    }
    const listed = rows(section("Options of an ask")).flatMap(([field = ""]) => words(field));
    expect(listed.toSorted()).toEqual([...(PARTS["options"] ?? [])].toSorted());
  });

  test.each(["sqlite-v1", "postgres-v1", "projector-v1", "projector-v1.1"])(
    "lists every field of the fixture %s",
    (name) => {
      const entries = entriesInText(readFileSync(`${root}tests/golden/${name}.json`, "utf8"));
      expect(entries.length).toBeGreaterThan(10);
      const malformed = "ai_context_operation.operation.messages"; // the corpus has such an operation
      expect([...new Set(entries.flatMap(unlisted))].filter((field) => field !== malformed)).toEqual([]);
    },
  );

  test("lists every field that simulated agents write", async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 25; seed++) {
      const { log } = await simulate({ seed, steps: 60 });
      const entries = log
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Logged);
      expect([seed, ...new Set(entries.flatMap(unlisted))]).toEqual([seed]);
      for (const { kind, payload } of entries) for (const field of Object.keys(payload)) seen.add(`${kind}.${field}`);
    }
    // The rarest of them, so that the simulation is known to write them.
    expect([...seen]).toEqual(
      expect.arrayContaining([
        "note.attempt",
        "note.retried",
        "error.end",
        "ai_message.end",
        "ai_message.steer",
        "summary.call",
      ]),
    );
  });

  test("lists every field that the stories of kills write: each feature that stores something has one", async () => {
    const seen = new Set<string>();
    for (const story of STORIES) {
      const stage = await Stage.open(story, () => undefined);
      await stage.run(story.play);
      const entries = ((await stage.world.store.load(THREAD_ID))?.toArray() ?? []) as unknown as readonly Logged[];
      await stage.close();
      expect([story.name, ...new Set(entries.flatMap(unlisted))]).toEqual([story.name]);
      for (const { kind, payload } of entries) {
        for (const [field, value] of Object.entries(payload)) {
          seen.add(`${kind}.${field}`);
          if (PARTS[field] !== undefined) for (const part of Object.keys(value as object)) seen.add(`${field}.${part}`);
        }
      }
    }
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ...["ai_message.author", "ai_message.editedArguments", "ai_message.partial"],
        ...["approval_requested.onTimeout", "approval_resolved.rule", "approval_resolved.expired"],
        ...["question_asked.question", "question_answered.answer", "sleep_started.until", "tool_started.toolCallId"],
        ...["note.continues", "note.handedOver", "note.retried", "note.summaryFailed", "setting.value"],
      ]),
    );
  });
});
