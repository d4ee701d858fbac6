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
  "too_long",
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

test("docs/errors.md has the HTTP status of every code, as httpStatusOf gives it", () => {
  const statuses = [...page.matchAll(/^\| `([a-z_]+)` \| (\d+) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(statuses.map(([code]) => code)).toEqual(documented);
  expect(statuses).toEqual(documented.map((code) => [code, heddle.httpStatusOf(code)]));
});

test("every code with a status is documented", () => {
  const source = readFileSync(`${root}src/thread/http-status.ts`, "utf8");
  const table = source.slice(source.indexOf("STATUSES"), source.indexOf("};"));
  const listed = [...table.matchAll(/"((?:[a-z_]+ ?)+)"/g)].flatMap(([, codes]) => (codes ?? "").trim().split(" "));
  expect(listed.filter((code) => !documented.includes(code))).toEqual([]);
});

test("the status of an error is that of its code, of a failed request that of its failure, and else 500", () => {
  const { ConflictError, httpStatusOf, RequestError } = heddle;
  const failure = { code: "model_rate_limited", message: "Wait." };
  const failed = new RequestError({ code: "request_failed", message: "Wait.", failure });
  expect([new ConflictError("t", 0, 1), failed, new Error("no"), undefined].map(httpStatusOf)).toEqual([
    409, 429, 500, 500,
  ]);
});
