// Floors: the folder list is the data flow, and a room imports only from floors below it.
const floors = [
  "thread",
  "tokens",
  "lanes",
  "projection",
  "providers",
  "agent",
  "checkpoint",
  "stores",
  "runtime",
  "testing",
  "studio",
  "cli",
];

/** Rooms that may use `node:` modules; everything else also runs in browsers, workers, Bun and Deno. */
const nodeRooms = "^src/(stores/native|stores/sqlite|stores/postgres|studio|cli)/";
const drivers = "^(better-sqlite3|postgres)$|node_modules/(@types/)?(better-sqlite3|postgres)/";
const entryFiles = "^src/[^/]+\\.ts$";

const floorRules = floors.slice(0, -1).map((room, i) => ({
  name: `floor-${room}`,
  comment: `src/${room} stands below these rooms and may not know them. Move what is shared down to src/${room} or lower.`,
  severity: "error",
  from: { path: `^src/${room}/` },
  to: { path: `^src/(${floors.slice(i + 1).join("|")})/` },
}));

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    ...floorRules,
    {
      name: "room-without-a-floor",
      comment: "A new room needs its place in the list of floors in .dependency-cruiser.mjs.",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: `^src/(${floors.join("|")})/` },
      to: {},
    },
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or share a third below them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "entry-files-are-doors",
      comment: "src/*.ts are the package's doors: rooms import from each other's files, not through a door.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: entryFiles },
    },
    {
      name: "portable-rooms",
      comment: "Only stores/native, stores/sqlite, stores/postgres, studio and cli may import Node built-ins.",
      severity: "error",
      from: { path: "^src/", pathNot: nodeRooms },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "drivers-stay-home",
      comment: "A database driver is an optional peer: only its own store may import it.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/stores/(sqlite|postgres)/" },
      to: { path: drivers },
    },
    {
      name: "nothing-from-outside",
      comment: "Published code may not lean on tests, scripts or examples.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(tests|scripts|bench|examples|dist)/" },
    },
    {
      name: "no-dev-dependencies",
      comment: "A package that src imports belongs in dependencies or (optional) peerDependencies.",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["npm", "npm-peer", "type-only"],
      },
    },
    {
      name: "no-missing-files",
      comment: "This import leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // TypeScript 7 has no parser API for JavaScript tools; swc reads type-only imports just as well.
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["types", "node", "import", "default"] },
  },
};
