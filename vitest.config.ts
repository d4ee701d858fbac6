import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = fileURLToPath(new URL("./src/", import.meta.url));

/**
 * The suffix says what a test costs: .store and .fault need databases, .soak runs for minutes and only when asked. What
 * builds, packs, compiles and runs whole programs, or provider packages over HTTP, is `package`.
 */
const withDatabases = ["tests/**/*.store.test.ts", "tests/**/*.fault.test.ts"];
const ofPackage = [
  "tests/package/**/*.test.ts",
  "tests/docs/public-api.test.ts",
  "tests/docs/snippets.test.ts",
  "tests/examples/**/*.test.ts",
  "tests/runtime/providers/**/*.test.ts",
];
const soak = ["tests/soak/**/*.soak.test.ts"];
const browser = ["tests/**/*.browser.test.ts"];

/** No test fails because the machine is busy. A test that hangs is stopped here, or by the limit of the whole run in CI. */
const HANG_MS = 20 * 60_000;

/** Keeps compiled code, so that workers and the processes of tests start in half the CPU time. */
const compileCache = fileURLToPath(new URL("./node_modules/.cache/heddle-tests", import.meta.url));

/** The TypeScript compiler is a Go program, and lives for seconds: it collects its garbage less often. */
process.env["GOGC"] ??= "400";

const shared = {
  setupFiles: ["tests/support/property.ts"],
  restoreMocks: true,
  unstubGlobals: true,
  testTimeout: HANG_MS,
  hookTimeout: HANG_MS,
  expect: { poll: { timeout: 3 * 60_000 } },
};

export default defineConfig({
  resolve: {
    // Tests name the package as a user does and get the sources.
    alias: [
      { find: /^heddle$/, replacement: `${src}index.ts` },
      { find: /^heddle\/(.+)$/, replacement: `${src}$1.ts` },
    ],
  },
  test: {
    // Vitest leaves one core free, which of two is half. Many tests wait for other processes, so three keep two cores busy.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // Modules are loaded once per worker and not once per file, which costs more than most tests. Tests keep to themselves.
    isolate: false,
    env: { NODE_COMPILE_CACHE: compileCache },
    // Tests make much garbage. A large young generation is collected less often, for a tenth less CPU time.
    execArgv: ["--max-semi-space-size=64"],
    reporters: ["default", "./tests/support/case-reporter.ts"],
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "unit",
          include: ["tests/**/*.test.ts"],
          exclude: [...withDatabases, ...ofPackage, ...soak, ...browser],
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "package",
          include: ofPackage,
          exclude: [...withDatabases, ...browser],
        },
      },
      {
        extends: true,
        test: {
          name: "types",
          include: [],
          typecheck: { enabled: true, only: true, include: ["tests/**/*.test-d.ts"], tsconfig: "tests/tsconfig.json" },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "stores",
          setupFiles: [...shared.setupFiles, "tests/support/postgres/own-schema.ts"],
          include: withDatabases,
          globalSetup: ["tests/support/postgres/global-setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "browser",
          include: browser,
          globalSetup: ["tests/support/postgres/global-setup.ts", "tests/browser/support/global-setup.ts"],
        },
      },
      ...(process.env["HEDDLE_SOAK"] === "1"
        ? [
            {
              extends: true as const,
              test: {
                ...shared,
                name: "soak",
                setupFiles: [...shared.setupFiles, "tests/support/postgres/own-schema.ts"],
                include: soak,
                globalSetup: ["tests/support/postgres/global-setup.ts", "tests/browser/support/global-setup.ts"],
                // One after the other, each with its share of HEDDLE_SOAK_MINUTES.
                fileParallelism: false,
                testTimeout: 24 * 60 * 60_000,
              },
            },
          ]
        : []),
    ],
  },
});
