// Lists the names that each entry point exports: kind, file, whether it comes from src/runtime, whether it is documented.
// `node scripts/public-api.ts` prints the counts, `node scripts/public-api.ts heddle` the names of one entry point.
import { readFileSync } from "node:fs";
import { basename, relative } from "node:path";
// TypeScript 7 has no stable compiler API. This package is the API of the oldest TypeScript that the README promises.
import { getLibFiles, ts } from "@ts-morph/common";
import { entryPoints } from "./entry-points.ts";
import { root } from "./root.ts";

/** One name that an entry point exports. */
export interface PublicName {
  /** As in `import { name } from "heddle"`. */
  readonly name: string;
  /** The entry point, such as `heddle/core`. */
  readonly entry: string;
  /** Whether it exists at run time. Classes and enums are values that are types too. */
  readonly isValue: boolean;
  /** The file that declares it, from the project's root, with forward slashes. */
  readonly file: string;
  readonly line: number;
  /** Whether `src/runtime` declares it. */
  readonly isRuntime: boolean;
  /** Whether its declaration has a doc comment. */
  readonly isDocumented: boolean;
  /** Optional properties of a type that callers fill in, whose comment is missing or states no default. */
  readonly undocumentedOptions: readonly string[];
  /** All optional properties of such a type. */
  readonly options: readonly string[];
}

/** How a comment states a default: "Default: x", "`x` by default", "defaults to x", or that the option must be given. */
const DEFAULT_STATED = /\bdefaults?\b|\brequired\b/i;

/** Types with properties of their own: not the methods of a string in a union. */
const OBJECT = ts.TypeFlags.Object | ts.TypeFlags.Intersection;

/** Names of types that callers fill in: they end like this, or are listed. */
const OPTIONS_NAME = /(Options|Config|Settings|Input|Query|Limits|Init)$/;
const OPTIONS_TYPES = new Set([
  "Action",
  "AgentParts",
  "AnyTool",
  "CacheOption",
  "Decider",
  "Decisions",
  "Deltas",
  "EntryInputByKind",
  "Expectation",
  "ExpectedMessage",
  "Fault",
  "Instruction",
  "JsonSchema",
  "ModelToolCall",
  "ResumeState",
  "ScriptedAnswer",
  "ScriptedApiError",
  "ScriptedCall",
  "ScriptedPart",
  "ScriptedStep",
  "StorePorts",
  "Tool",
  "ToolTraits",
  "TokenCounter",
]);

/** Types with such a name whose values Heddle's callers do not write, and why. */
const NOT_OPTIONS: { readonly [name: string]: string } = {
  InboxQuery: "the store makes it, and calls the driver with it",
  ProjectionStepInput: "the AI SDK's own contract: it calls `prepareStep` with this",
  StateQuery: "the store makes it, and calls the driver with it",
  V4CallOptions: "the AI SDK's own contract: it calls a model with these",
};

/** Every public name of every entry point, in the order of package.json and then by name. */
export function publicNames(): readonly PublicName[] {
  const entries = entryPoints();
  const files = [...entries.values()].map((file) => `${root}${file}`);
  const options = compilerOptions();
  const program = ts.createProgram(files, options, ownFilesHost(options));
  const checker = program.getTypeChecker();
  return [...entries].flatMap(([entry, file]) => {
    const source = program.getSourceFile(`${root}${file}`);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} exports nothing: package.json names it as ${entry}`);
    const found = checker.getExportsOfModule(module).map((symbol) => described(symbol, entry, checker));
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** The project's own options, as far as this TypeScript knows them. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => readFileSync(path, "utf8"));
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, lib: ["esnext"] }, root);
  return { ...options, types: [] };
}

/** The libraries of TypeScript, which this package keeps in memory. Without them `Omit` and `Pick` are unknown. */
const LIBRARIES = new Map(getLibFiles().map(({ fileName, text }) => [fileName, text]));

/** Reads the project's own files only. The names are all there, and the types of packages take most of the time. */
function ownFilesHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (file, languageVersion, ...more) => {
    const library = LIBRARIES.get(basename(file));
    return library === undefined
      ? getSourceFile(file, languageVersion, ...more)
      : ts.createSourceFile(file, library, languageVersion);
  };
  host.resolveModuleNameLiterals = (names, file) =>
    names.map(({ text }) =>
      text.startsWith(".") ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    );
  return host;
}

function described(symbol: ts.Symbol, entry: string, checker: ts.TypeChecker): PublicName {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
  const declaration = target.declarations?.[0];
  if (!declaration) throw new Error(`${entry} exports ${symbol.name}, which is declared nowhere`);
  const source = declaration.getSourceFile();
  const options = isOptionsType(symbol.name) ? optionalProperties(target, checker) : [];
  const file = relative(root, source.fileName).replaceAll("\\", "/");
  return {
    name: symbol.name,
    entry,
    isValue: (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol),
    file,
    line: source.getLineAndCharacterOfPosition(declaration.getStart()).line + 1,
    isRuntime: file.startsWith("src/runtime/"),
    isDocumented: commentOf(target, checker) !== "",
    undocumentedOptions: [
      ...new Set(options.filter((option) => !DEFAULT_STATED.test(commentOf(option, checker))).map(nameOf)),
    ],
    options: [...new Set(options.map(nameOf))],
  };
}

function isOptionsType(name: string): boolean {
  return (OPTIONS_NAME.test(name) || OPTIONS_TYPES.has(name)) && !Object.hasOwn(NOT_OPTIONS, name);
}

/** `export type { SomeClass }` exports no value, although the class is one. */
function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some(
    (node) => ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly),
  );
}

function commentOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  return ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
}

/** The optional properties that this project declares. */
function optionalProperties(symbol: ts.Symbol, checker: ts.TypeChecker): readonly ts.Symbol[] {
  if ((symbol.flags & ts.SymbolFlags.Type) === 0) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  if ((type.flags & ts.TypeFlags.Any) !== 0) throw new Error(`The type ${symbol.name} cannot be resolved.`);
  const objects = (type.isUnion() ? type.types : [type]).filter(({ flags }) => (flags & OBJECT) !== 0);
  return objects
    .flatMap((object) => object.getProperties())
    .filter((option) => (option.flags & ts.SymbolFlags.Optional) !== 0)
    .filter((option) => !option.declarations?.[0]?.getSourceFile().fileName.includes("/node_modules/"));
}

function nameOf({ name }: ts.Symbol): string {
  return name;
}

if (import.meta.main) print(publicNames(), process.argv[2]);

function print(names: readonly PublicName[], entry: string | undefined): void {
  if (entry) {
    for (const { name, file, line, isDocumented } of names.filter((found) => found.entry === entry))
      console.log(`${isDocumented ? "  " : "? "}${name.padEnd(32)} ${file}:${line}`);
    return;
  }
  for (const entry of entryPoints().keys()) {
    const own = names.filter((found) => found.entry === entry);
    const runtime = own.filter((found) => found.isRuntime).length;
    const undocumented = own.filter((found) => !found.isDocumented).length;
    const options = own.reduce((sum, found) => sum + found.undocumentedOptions.length, 0);
    console.log(
      `${entry.padEnd(20)} ${own.length} names, ${runtime} of runtime, ${undocumented} undocumented, ${options} options without a default`,
    );
  }
}
