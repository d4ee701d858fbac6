// The layers, lowest first. The order is the flow of data, and a layer imports only from layers below it.
const layers = [
  "thread",
  "tokens",
  "lanes",
  "projection",
  "providers",
  "agent",
  "checkpoint",
  "stores",
  "runtime",
  "engines",
  "client",
  "scripted-model",
  "testing",
  "studio",
  "cli",
];

/** The layers of studio-ui, lowest first. */
const pageLayers = ["data", "state", "parts", "calls", "what-if", "chat", "timeline", "shell"];

/** Folders that may use `node:` modules; everything else also runs in browsers, workers, Bun and Deno. */
const nodeFolders = "^src/(stores/sqlite|stores/postgres|studio|cli)/";
const drivers = "^(better-sqlite3|postgres)$|node_modules/(@types/)?(better-sqlite3|postgres)/";
const entryFiles = "^src/[^/]+\\.ts$";

function layerRules(root, names) {
  return names.slice(0, -1).map((layer, i) => ({
    name: `layer-${root}-${layer}`,
    comment: `${root}/${layer} is below these layers and must not import from them. Move shared code to ${root}/${layer} or lower.`,
    severity: "error",
    from: { path: `^${root}/${layer}/` },
    to: { path: `^${root}/(${names.slice(i + 1).join("|")})/` },
  }));
}

function folderRule(root, names) {
  return {
    name: `folder-without-a-layer-${root}`,
    comment: "A new folder needs a place in the list of layers in .dependency-cruiser.mjs.",
    severity: "error",
    from: { path: `^${root}/[^/]+/`, pathNot: `^${root}/(${names.join("|")})/` },
    to: {},
  };
}

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...layerRules("src", layers),
    ...layerRules("studio-ui", pageLayers),
    folderRule("src", layers),
    folderRule("studio-ui", pageLayers),
    {
      name: "studio-without-testing",
      comment:
        "The Studio ships to production. What it shares with heddle/testing belongs in src/scripted-model or lower.",
      severity: "error",
      from: { path: "^src/studio/" },
      to: { path: "^src/testing/" },
    },
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or share a third below them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "no-import-of-entry-files",
      comment: "src/*.ts are the entry points of the package. Modules import from each other's files.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: entryFiles },
    },
    {
      name: "portable-folders",
      comment: "Only stores/sqlite, stores/postgres, studio and cli may import Node built-ins.",
      severity: "error",
      from: { path: "^src/", pathNot: nodeFolders },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "drivers-only-in-their-store",
      comment: "A database driver is an optional peer: only its own store may import it.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/stores/(sqlite|postgres)/" },
      to: { path: drivers },
    },
    {
      name: "nothing-from-outside",
      comment: "Published code must not depend on tests, scripts or examples.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(tests|scripts|bench|examples|studio-ui|dist)/" },
    },
    {
      name: "no-dev-dependencies",
      comment: "A package that src imports is an optional peer, or the build takes it into dist (build-package.ts).",
      severity: "error",
      from: { path: "^src/" },
      to: {
        pathNot: "node_modules/(uuid|@noble/hashes)/",
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["npm", "npm-peer", "type-only"],
      },
    },
    {
      name: "no-missing-files",
      comment: "The imported file does not exist.",
      severity: "error",
      // In studio-ui the names of entry points are paths of tsconfig.json, and tsc finds missing files.
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 has no parser API for JavaScript tools; swc reads type-only imports just as well.
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules|^dist/" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["types", "node", "import", "default"] },
  },
};
