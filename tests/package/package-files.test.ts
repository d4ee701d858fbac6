import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entryPoints } from "../../scripts/entry-points.ts";
import { mustBeBuilt, root, run } from "../docs/built.ts";

const modules = globSync(["dist/*.js", "dist/shared/*.js"], { cwd: root });
const textOf = (path: string) => readFileSync(join(root, path), "utf8");

/** The agent of the Studio's demo has the name of a builder in heddle/testing. */
const TO_BE_RENAMED = ["assistant"];

test("every class is in one file of the package, so that all entry points share it", () => {
  mustBeBuilt();
  const classes = modules.flatMap((path) => [
    ...textOf(path).matchAll(/^(?:const|let|var|class) (\w+)(?: = )?class\b|^class (\w+)/gm),
  ]);
  const errors = modules
    .flatMap((path) => [...textOf(path).matchAll(/static className = "(\w+)"/g)])
    .map(([, name]) => name);
  const names = classes.map(([, assigned, declared]) => assigned ?? declared);
  expect(errors).toContain("ThreadError");
  expect(errors.filter((name, at) => errors.indexOf(name) !== at)).toEqual([]);
  for (const name of ["Thread", "MemoryDatabase"]) expect(names.filter((found) => found === name)).toEqual([name]);
});

test("a name that several entry points export is one value", async () => {
  mustBeBuilt();
  const program = `
    const found = new Map();
    const different = [];
    for (const entry of ${JSON.stringify([...entryPoints().keys()])}) {
      for (const [name, value] of Object.entries(await import(entry))) {
        if (found.has(name) && found.get(name) !== value) different.push(name);
        found.set(name, value);
      }
    }
    console.log(JSON.stringify({ different, shared: ["ThreadError", "Thread", "ContextPolicy"].filter((name) => found.has(name)) }));
    process.exit();`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", program], root);
  expect(stderr).toBe("");
  const { different, shared } = JSON.parse(stdout) as { different: string[]; shared: string[] };
  expect(shared).toEqual(["ThreadError", "Thread", "ContextPolicy"]);
  expect(different.filter((name) => !TO_BE_RENAMED.includes(name))).toEqual([]);
});

test("an entry point loads only files of dist/shared, and none of another entry point", () => {
  mustBeBuilt();
  for (const file of entryPoints().values()) {
    const path = file.replace(/^src\/(.+)\.ts$/, "dist/$1.js");
    const imported = [...textOf(path).matchAll(/^(?:import|export)\b.*?"([^"]+)";$/gm)].map(([, from = ""]) => from);
    expect(
      imported.filter((from) => !from.startsWith("./shared/")),
      path,
    ).toEqual([]);
  }
});

test("types keep the comments that an editor shows", () => {
  mustBeBuilt();
  const types = globSync("dist/**/*.d.ts", { cwd: root }).map(textOf).join("\n");
  expect(types).toContain("An immutable, ordered log of entries.");
  expect(types).toMatch(/\/\*\* [^\n]*Default "durable"\. \*\/\n\s*readonly mode\?/);
});

test("no declaration has a name that the bundler made up, such as `AgentHost$1`", () => {
  mustBeBuilt();
  const invented = globSync("dist/**/*.d.ts", { cwd: root }).flatMap((path) =>
    [...textOf(path).matchAll(/\b\w+\$\d+/g)].map(([name]) => `${path}: ${name}`),
  );
  expect(invented).toEqual([]);
});

test("no package has to be installed beside it, and the functions that it took have their licenses", () => {
  mustBeBuilt();
  const { dependencies } = JSON.parse(textOf("package.json")) as { readonly dependencies?: object };
  expect(dependencies).toBeUndefined();
  const licenses = textOf("dist/licenses.txt");
  for (const name of ["uuid", "@noble/hashes"]) expect(licenses).toMatch(new RegExp(`^${name}\n\n.*MIT`, "m"));
  const taken = globSync("dist/**/*.js", { cwd: root })
    .flatMap((path) => [...textOf(path).matchAll(/^\/\/ node_modules\/((?:@[\w-]+\/)?[\w-]+)/gm)])
    .map(([, name]) => name);
  expect([...new Set(taken)].sort()).toEqual(["@noble/hashes", "uuid"]);
});

test("the code is ASCII, which Node reads faster", () => {
  mustBeBuilt();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const others = modules.filter((path) => /[^\x00-\x7f]/.test(textOf(path)));
  expect(others).toEqual([]);
});
