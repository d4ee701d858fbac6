import { globSync, readFileSync } from "node:fs";
import * as heddle from "heddle";
import * as stores from "heddle/store";
import { expect, test } from "vitest";
import { root } from "./built.ts";
import { pageText } from "./markdown.ts";

const page = pageText("docs/errors.md");
const documented = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map((match) => match[1] ?? "");

/** How our codes begin: one that is handed on as an argument is found by this, the others by `code: "..."`. */
const CODE =
  /code: "([a-z_]+)"|"((?:budget|call|entry|invalid|not|pending|seq|stale|store|thread|too|unknown)_[a-z_]+)"/g;
/** Words that begin so and are none: what explain() says of an entry, why a summary is discarded, names of threads. */
const OTHER_WORDS: ReadonlySet<string> = new Set([
  "call_interrupted",
  "call_not_shown",
  "not_loaded",
  "not_projectable",
  "not_smaller",
  "thread_of_a_step",
  "thread_world",
]);
const thrown = globSync("src/**/*.ts", { cwd: root })
  .flatMap((path) =>
    [...readFileSync(`${root}${path}`, "utf8").matchAll(CODE)].map((match) => match[1] ?? match[2] ?? ""),
  )
  .filter((word) => !OTHER_WORDS.has(word));

test("docs/errors.md lists every code that the sources use, each once, and no other", () => {
  expect(documented.toSorted()).toEqual([...new Set(thrown)].sort());
});

test("docs/errors.md names every class of error", () => {
  const classes = Object.keys({ ...heddle, ...stores }).filter((name) => name.endsWith("Error"));
  expect(classes.filter((name) => !page.includes(name))).toEqual([]);
});
