import { expect, test } from "vitest";
import { publicNames } from "../../scripts/public-api.ts";

const names = publicNames();

test("no name means two things in two entry points", () => {
  const places = new Map<string, Set<string>>();
  for (const { name, file, line } of names) places.set(name, (places.get(name) ?? new Set()).add(`${file}:${line}`));
  expect([...places].filter(([, declared]) => declared.size > 1)).toEqual([]);
});

test("heddle exports at most 80 names besides those of the runtime", () => {
  const own = names.filter(({ entry, isRuntime }) => entry === "heddle" && !isRuntime);
  expect(own.length).toBeLessThanOrEqual(80);
});

test("every public name has a doc comment", () => {
  expect(names.filter(({ isDocumented }) => !isDocumented).map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});
