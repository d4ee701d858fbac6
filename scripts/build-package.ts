// src -> dist: one file for each entry point of package.json, and in dist/shared one for each layer. A class that two entry
// points export lies in one shared file, so that both export the same class. Types are bundled in the same way.
import { appendFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import { type OutputOptions, rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { quietly } from "./command.ts";
import { entryPoints } from "./entry-points.ts";
import { pureCalls } from "./pure-calls.ts";
import { root } from "./root.ts";

/** Files of dist that package.json names, besides the entry points: the command, and modules with a rule of their own. */
const NAMED_FILES = [
  "src/cli.ts",
  "src/stores/database-stores.ts", // browsers take the other one
  "src/stores/database-stores-browser.ts",
];

/** Parts of a layer that are a file of their own: they need Node, or one entry point needs them, or an old Node must load them. */
const PARTS = [
  "stores/sqlite",
  "stores/postgres",
  "runtime/ui-messages",
  "engines/restate-threads",
  "engines/durable-threads",
  "thread/errors",
  "thread/node-version",
  "client/use-thread",
];

/** Packages of which dist has the few functions that Heddle calls: their own files would take a seventh of the time of an import. */
const BUNDLED = ["@noble/hashes", "uuid"];

/** Bundles the JavaScript. It is not minified: names and lines of a stack trace can be read. */
export async function buildModules(): Promise<void> {
  const entries = [...entryPoints().values(), ...NAMED_FILES];
  const bundle = await rolldown({
    cwd: root,
    input: inputOf(entries, (path) => `${root}${path}`),
    platform: "neutral",
    external: (id) => isPackage(id) && !BUNDLED.some((name) => id === name || id.startsWith(`${name}/`)),
    preserveEntrySignatures: "allow-extension",
    transform: { target: "es2023" },
  });
  await bundle.write({
    ...outputOf(`${root}src`, ".js"),
    plugins: [pureCalls],
    comments: { legal: true, annotation: true, jsdoc: false },
  });
  escapeLetters();
  writeFileSync(`${root}dist/licenses.txt`, BUNDLED.map(licenseOf).join("\n"));
}

function licenseOf(name: string): string {
  const [file = ""] = globSync("LICENSE*", { cwd: `${root}node_modules/${name}` });
  return `${name}\n\n${readFileSync(`${root}node_modules/${name}/${file}`, "utf8")}`;
}

/** Node reads and compiles a file of ASCII faster. Other letters only occur in strings, templates and patterns. */
function escapeLetters(): void {
  for (const path of globSync("dist/**/*.js", { cwd: root, exclude: ["dist/studio-ui/**"] })) {
    const code = readFileSync(`${root}${path}`, "utf8");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
    const escaped = code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    if (escaped !== code) writeFileSync(`${root}${path}`, escaped);
  }
}

/** Bundles the declarations that tsc makes. */
export async function buildTypes(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-types-"));
  try {
    const made = await quietly(`tsc -p tsconfig.build.json --outDir "${folder}"`);
    if (!made.ok) throw new Error(made.output);
    const bundle = await rolldown({
      cwd: root,
      input: inputOf([...entryPoints().values()], (path) =>
        join(folder, path.slice("src/".length).replace(/\.ts$/, ".d.ts")),
      ),
      external: isPackage,
      preserveEntrySignatures: "allow-extension",
      // The input is declarations, so the generator has nothing to do. Without one the plugin asks for the API of TypeScript 6.
      plugins: [dts({ dtsInput: true, emitDtsOnly: true, tsconfig: false, generator: "oxc" })],
    });
    await bundle.write(outputOf(folder, ".d.ts"));
    addReferences();
    joinAliases();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The entry points that name the types of all layers, as in `dist`. The demo model of the Studio is a scripted model. */
const TYPE_NAMES = ["index", "core", "store"];
const MORE_TYPE_NAMES: { readonly [entry: string]: readonly string[] } = {
  studio: ["testing"],
  client: ["ai-sdk"],
  react: ["ai-sdk"],
};

/**
 * Lets a compiler that has read one entry point find the names of types that others export. Without them it cannot write
 * the declarations of a package that exports what heddle returns (TS2742). The lines export nothing.
 */
function addReferences(): void {
  for (const source of entryPoints().values()) {
    const entry = source.replace(/^src\/(.+)\.ts$/, "$1");
    const names = [...TYPE_NAMES, ...(MORE_TYPE_NAMES[entry] ?? [])];
    const lines = names.filter((name) => name !== entry).map((name) => `\nexport type {} from "./${name}.js";`);
    appendFileSync(`${root}dist/${entry}.d.ts`, lines.join(""));
  }
}

/**
 * A type that a module exports again under its own name, beside a value, becomes an alias of `Name$1` in a bundle. Compilers
 * would show that name, and could not write it into the declarations of another package. Here the two become one type.
 */
function joinAliases(): void {
  const texts = new Map(
    globSync("dist/**/*.d.ts", { cwd: root }).map((path) => [path, readFileSync(`${root}${path}`, "utf8")]),
  );
  for (const [path, text] of texts) {
    const aliases = [...text.matchAll(/^(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export type (\w+)<.+> = \1\$1<.+>;\n/gm)];
    for (const [alias, name = ""] of aliases) {
      texts.set(
        path,
        (texts.get(path) ?? "").replace(alias, "").replace(`interface ${name}$1<`, `export interface ${name}<`),
      );
      for (const [other, uses] of texts) texts.set(other, withOneName(uses, name));
    }
  }
  for (const [path, text] of texts) writeFileSync(`${root}${path}`, text);
}

/** `Name$1` becomes `Name`, in imports and uses. It is exported where it is declared, so a list of exports leaves it out. */
function withOneName(text: string, name: string): string {
  return text
    .replace(/^export \{ (.+) \};$/gm, (list, names: string) => {
      const others = names.split(", ").filter((exported) => exported !== `${name}$1`);
      return others.length < names.split(", ").length ? `export { ${others.join(", ")} };` : list;
    })
    .replaceAll(`${name}$1 as ${name}`, name)
    .replaceAll(`${name}$1`, name);
}

function inputOf(files: readonly string[], place: (path: string) => string): Record<string, string> {
  const nameOf = (path: string) => path.split("/").at(-1)?.replace(/\.ts$/, "") ?? path;
  return Object.fromEntries(files.map((path) => [nameOf(path), place(path)]));
}

/** Shared code lies in one file for each layer. The commands of the CLI stay apart, because each is loaded when it is called. */
function outputOf(from: string, extension: string): OutputOptions {
  const sharedFile = (id: string) => {
    const path = relative(from, id)
      .replaceAll("\\", "/")
      .replace(/(\.d)?\.ts$/, "");
    if (id.includes("/node_modules/")) return "thread"; // its layer calls them
    if (NAMED_FILES.includes(`src/${path}.ts`) || !path.includes("/") || path.startsWith("..")) return null;
    const layer = path.split("/")[0] ?? "";
    if (layer === "cli") return null;
    return PARTS.find((part) => `${path}/`.startsWith(`${part}/`))?.replace("/", "-") ?? layer;
  };
  return {
    dir: `${root}dist`,
    format: "esm",
    entryFileNames: `[name]${extension}`,
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.some((id) => sharedFile(id) === null) ? `cli/[name]${extension}` : `shared/[name]${extension}`,
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: sharedFile, debugName: "layers" }] },
    minifyInternalExports: false,
  };
}

function isPackage(id: string): boolean {
  return !id.startsWith(".") && !isAbsolute(id);
}
