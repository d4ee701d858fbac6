import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inScratch, mustBeBuilt, root, run, runScript } from "./built.ts";
import { type DocExample, docExamples, moduleOf } from "./doc-comments.ts";
import { type Program, pages, programsOf } from "./markdown.ts";

// Inside the project, so that "heddle" is this package as it was built; in dist, which nobody keeps.
const folder = join(root, "dist", `.snippets-${process.pid}`);
const programs = pages().flatMap(programsOf);
const examples = docExamples();

/** What a careful user has; stricter settings are a matter of taste. */
const TSCONFIG = {
  compilerOptions: {
    target: "es2023",
    lib: ["es2024", "esnext.disposable"],
    types: ["node"],
    module: "nodenext",
    moduleDetection: "force",
    erasableSyntaxOnly: true,
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true, // an example of something that is not public imports its source file
    skipLibCheck: true,
  },
  include: ["*.ts"],
};

beforeAll(() => {
  mustBeBuilt();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  for (const program of programs) writeFileSync(fileOf(program), program.text);
  for (const example of examples) writeFileSync(fileOfExample(example), moduleOf(example));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.concurrent("what readers copy", () => {
  test("there is something to copy", () => {
    expect(programs.length).toBeGreaterThan(10);
    expect(examples.length).toBeGreaterThan(10);
  });

  test("compiles", async () => {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout, stderr } = await run(
      process.execPath,
      [tsc, "-p", folder, "--pretty", "false", "--singleThreaded"],
      folder,
    );
    expect(`${stdout}${stderr}`.trim()).toBe("");
  });

  for (const program of programs.filter(({ runs }) => runs)) {
    test(`${nameOf(program)} runs and prints what it says`, async () => {
      const { code, stdout, stderr } = await inScratch((scratch) => runScript(withoutTypes(program), scratch));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(inOrder(stdout.split("\n"), program.prints)).toEqual(program.prints);
    });
  }
});

/** As many of the wanted lines as were printed, in their order. */
function inOrder(printed: readonly string[], wanted: readonly string[]): readonly string[] {
  let next = 0;
  for (const line of printed) if (line === wanted[next]) next++;
  return wanted.slice(0, next);
}

function nameOf({ page, line }: Program): string {
  return `${page}:${line}`;
}

/** Its JavaScript: a process that removes types by itself takes twice the CPU time. */
function withoutTypes(program: Program): string {
  const file = fileOf(program).replace(/\.ts$/, ".mjs");
  const { code } = transformSync(program.text, { loader: "ts", target: "es2023", tsconfigRaw: TSCONFIG });
  writeFileSync(file, code);
  return file;
}

function fileOf({ page, line }: Program): string {
  return join(folder, `${page.replaceAll(/[/\\]/g, "--")}-${line}.ts`);
}

function fileOfExample({ path, line }: DocExample): string {
  return join(folder, `${path.replaceAll("/", "--").replace(/\.ts$/, "")}-${line}.ts`);
}
