// A package on top of heddle exports what it made with heddle. Its compiler writes the types into that package's
// declarations, so every type has to have a name there: else it is TS2742, TS2883, TS4023 or TS4058.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { getLibFiles, libFolderInMemoryPath, ts } from "@ts-morph/common";
import { describe, expect, test } from "vitest";
import { publicNames } from "../../scripts/public-api.ts";
import { root, run } from "../docs/built.ts";
import { isSoak } from "../support/case-budget.ts";
import { CALLS } from "./support/calls.ts";
import { inProject } from "./support/installed.ts";

const values = publicNames().filter(({ isValue }) => isValue);
const entries = [...new Set(values.map(({ entry }) => entry))];

/** Each value, its result where it is a function, and its members where it has some. */
function moduleOf(entry: string): string {
  const lines = values
    .filter((value) => value.entry === entry)
    .flatMap(({ name }) => [
      `export const ${name} = entry.${name};`,
      `export const call_${name} = resultOf(entry.${name});`,
      `export const members_${name} = membersOf(entry.${name});`,
    ]);
  return `
    import * as entry from "${entry}";
    declare function resultOf<Result>(called: (...given: never[]) => Result): Result;
    declare function resultOf<Made>(called: abstract new (...given: never[]) => Made): Made;
    declare function resultOf(called: unknown): undefined;
    declare function membersOf<Value>(value: Value): { [Key in keyof Value]: Value[Key] };
    ${lines.join("\n")}`;
}

/** The parsed files of packages, by the options of their programs. Parsing them takes longer than checking a program. */
const parsed = new Map<ts.CompilerOptions, Map<string, ts.SourceFile | undefined>>();

/** The oldest TypeScript that the README promises. It comes with its own library files, and is used through its API. */
function problemsOfOldest(folder: string, files: readonly string[], options: ts.CompilerOptions): string {
  const known = parsed.get(options) ?? new Map<string, ts.SourceFile | undefined>();
  parsed.set(options, known);
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile, readFile } = host;
  const libraryText = (path: string) =>
    path.startsWith(libFolderInMemoryPath) ? libraryFiles.get(path.slice(libFolderInMemoryPath.length + 1)) : undefined;
  host.getCurrentDirectory = () => folder;
  host.getDefaultLibLocation = () => libFolderInMemoryPath;
  host.getDefaultLibFileName = () => `${libFolderInMemoryPath}/${ts.getDefaultLibFileName(options)}`;
  host.fileExists = (path) => libraryText(path) !== undefined || fileExists(path);
  host.readFile = (path) => libraryText(path) ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = libraryText(path);
    if (text === undefined && !path.includes("/node_modules/")) return getSourceFile(path, target, ...rest);
    const found = known.has(path)
      ? known.get(path)
      : text === undefined
        ? getSourceFile(path, target, ...rest)
        : ts.createSourceFile(path, text, target);
    known.set(path, found);
    return found;
  };
  const program = ts.createProgram(
    files.map((file) => join(folder, file)),
    options,
    host,
  );
  // Those of emitted declarations are among them. The files of other packages are not checked, which takes most of the time.
  const ours = program
    .getSourceFiles()
    .filter(({ fileName }) => /\/node_modules\/heddle\/|^(?!.*\/node_modules\/)/.test(fileName));
  return ts.formatDiagnostics(
    ours.flatMap((file) => ts.getPreEmitDiagnostics(program, file)),
    host,
  );
}

const libraryFiles = new Map(getLibFiles().map(({ fileName, text }) => [fileName, text]));

/** The newest TypeScript, which has a command and no API. */
async function problemsOfNewest(folder: string, files: readonly string[], flags: string): Promise<string> {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { stdout, stderr } = await run(
    process.execPath,
    [tsc, "--ignoreConfig", "--singleThreaded", ...flags.split(" "), ...files],
    folder,
  );
  return stdout + stderr;
}

const MODULES = {
  nodenext: { module: ts.ModuleKind.NodeNext },
  bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
};
const FLAGS = {
  nodenext: "--module nodenext",
  bundler: "--module esnext --moduleResolution bundler",
};

/** Whoever imports heddle/restate has these. */
const OF_RESTATE = ["@restatedev/restate-sdk", "@restatedev/restate-sdk-core"];

test("every entry point has calls here", () => {
  expect(Object.keys(CALLS)).toEqual(entries);
});

/** The names of a type are hardly ever different for a bundler, so only a soak looks for it. */
const WAYS = isSoak ? (["nodenext", "bundler"] as const) : (["nodenext"] as const);

describe.each(WAYS)("with modules of %s, every package can export", (modules) => {
  const options = {
    ...MODULES[modules],
    target: ts.ScriptTarget.ES2023,
    strict: true,
    declaration: true,
    skipLibCheck: true,
    types: ["node"],
  };
  const flags = `${FLAGS[modules]} --target es2023 --strict --declaration --emitDeclarationOnly --outDir types --skipLibCheck --types node`;

  test.each(entries)("the values of %s, and what their calls return", async (entry) => {
    const programs = { "values.ts": moduleOf(entry), "calls.ts": CALLS[entry] ?? "" };
    await inProject(async (folder) => {
      const files = Object.keys(programs);
      for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, file), text);
      expect(problemsOfOldest(folder, files, options)).toBe("");
      expect(await problemsOfNewest(folder, files, flags)).toBe("");
    });
  });
});

test("the declarations are valid for the oldest and the newest TypeScript, also without exactOptionalPropertyTypes", async () => {
  const text = entries.map((entry, at) => `export * as entry${at} from "${entry}";`).join("\n");
  await inProject(async (folder) => {
    writeFileSync(join(folder, "all.ts"), text);
    const options = {
      ...MODULES.nodenext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      noEmit: true,
      types: ["node"],
    };
    expect(problemsOfOldest(folder, ["all.ts"], options)).toBe("");
    const flags = `${FLAGS.nodenext} --target es2023 --strict --noEmit --types node`;
    expect(await problemsOfNewest(folder, ["all.ts"], flags)).toBe("");
  }, OF_RESTATE);
});
