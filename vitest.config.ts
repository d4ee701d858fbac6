import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const src = fileURLToPath(new URL("./src/", import.meta.url));

/** The suffix says what a test costs: .store and .fault need databases, .soak runs for minutes and only when asked. */
const withDatabases = ["tests/**/*.store.test.ts", "tests/**/*.fault.test.ts"];
const soak = ["tests/soak/**/*.soak.test.ts"];
const browser = ["tests/**/*.browser.test.ts"];

const shared = {
  setupFiles: ["tests/support/property.ts"],
  restoreMocks: true,
  unstubGlobals: true,
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
    // Vitest leaves one core free, which of two is half.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "unit",
          testTimeout: 60_000, // properties over random threads take seconds where the machine is busy
          include: ["tests/**/*.test.ts"],
          exclude: [...withDatabases, ...soak, ...browser],
        },
      },
      {
        extends: true,
        test: {
          name: "types",
          include: [],
          typecheck: { enabled: true, only: true, include: ["tests/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "stores",
          include: withDatabases,
          globalSetup: ["tests/support/postgres/global-setup.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "browser",
          include: browser,
          globalSetup: ["tests/browser/support/global-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      ...(process.env["HEDDLE_SOAK"] === "1"
        ? [
            {
              extends: true as const,
              test: {
                ...shared,
                name: "soak",
                include: soak,
                globalSetup: ["tests/support/postgres/global-setup.ts"],
                // One after the other, each with its share of HEDDLE_SOAK_MINUTES.
                fileParallelism: false,
                testTimeout: 24 * 60 * 60_000,
                hookTimeout: 60_000,
              },
            },
          ]
        : []),
    ],
  },
});
