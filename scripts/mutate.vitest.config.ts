import { defineConfig } from "vitest/config";
import everything from "../vitest.config.ts";

/** The unit tests that `npm run mutate` runs: folders and files. */
const paths = (process.env["HEDDLE_MUTATE_TESTS"] ?? "tests").split(",");

export default defineConfig({
  ...(everything.resolve !== undefined && { resolve: everything.resolve }),
  test: {
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
    setupFiles: ["tests/support/property.ts"],
    testTimeout: 20 * 60_000,
    include: paths.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
    exclude: ["store", "fault", "browser"].map((kind) => `tests/**/*.${kind}.test.ts`),
  },
});
