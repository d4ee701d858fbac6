import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { publicNames } from "../../scripts/public-api.ts";

const names = publicNames();

test("no name means two things in two entry points", () => {
  const places = new Map<string, Set<string>>();
  for (const { name, file, line } of names) places.set(name, (places.get(name) ?? new Set()).add(`${file}:${line}`));
  expect([...places].filter(([, declared]) => declared.size > 1)).toEqual([]);
});

test("heddle exports at most 120 names, and at most 80 besides those of the runtime", () => {
  const all = names.filter(({ entry }) => entry === "heddle");
  expect(all.length).toBeLessThanOrEqual(120);
  expect(all.filter(({ isRuntime }) => !isRuntime).length).toBeLessThanOrEqual(80);
});

test("every public name has a doc comment", () => {
  expect(names.filter(({ isDocumented }) => !isDocumented).map(({ entry, name }) => `${entry} ${name}`)).toEqual([]);
});

test("the options that a type has from other types are checked too, and each states its default", () => {
  const optionsOf = (wanted: string) => names.find(({ name }) => name === wanted)?.options ?? [];
  expect(optionsOf("RunOptions")).toEqual(expect.arrayContaining(["thread", "store", "maxIterations", "signal"]));
  expect(optionsOf("HostOptions")).toEqual(expect.arrayContaining(["idleMs", "leaseTtlMs", "context", "warn"]));
  expect(optionsOf("ContextPolicyInput")).toEqual(expect.arrayContaining(["window", "maxInputTokens"]));
  expect(names.flatMap(({ name, undocumentedOptions }) => undocumentedOptions.map((of) => `${name}.${of}`))).toEqual(
    [],
  );
});

/** The names that Heddle shares with the AI SDK, and the tests of their contract. A name with another contract is renamed. */
const SHARED: { readonly [name: string]: string } = {
  hasToolCall: "same contract, tested by tests/agent/sdk-conditions.test.ts and tests/types/stop-when.test-d.ts",
  ModelMessage: "same contract, tested by tests/types/sdk-names.test-d.ts",
  jsonSchema: "same contract, tested by tests/agent/sdk-schemas.test.ts and tests/types/sdk-names.test-d.ts",
};

/** The names that the declarations of the AI SDK export. */
function sdkNames(): ReadonlySet<string> {
  const text = readFileSync(new URL("../../node_modules/ai/dist/index.d.ts", import.meta.url), "utf8");
  const lists = [...text.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list = ""]) => list.split(","));
  const listed = lists.map((item) => item.trim().split(/\s+/).at(-1) ?? "");
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:class|const|function|interface|let|type) (\w+)/gm,
  );
  return new Set([...listed, ...[...declared].map(([, name = ""]) => name)]);
}

test("the names of the AI SDK are found", () => {
  const names = ["generateText", "StopCondition", "LanguageModel", "stepCountIs", "UIMessageStreamOptions"];
  expect(names.filter((name) => !sdkNames().has(name))).toEqual([]);
});

test("a name that Heddle shares with the AI SDK has its contract", () => {
  const sdk = sdkNames();
  const shared = new Set(names.flatMap(({ name }) => (sdk.has(name) ? [name] : [])));
  expect([...shared].sort()).toEqual(Object.keys(SHARED).sort());
  for (const proof of Object.values(SHARED)) expect(proof).toMatch(/^same contract, tested by tests\//);
});
