import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import everything from "../vitest.config.ts";

/** The unit tests that `npm run mutate` runs: folders and files. */
const paths = (process.env["HEDDLE_MUTATE_TESTS"] ?? "tests").split(",");

/** Runs the files in the order of the paths: the first failure ends the run of a mutant. */
class ListedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const file = relative(process.cwd(), moduleId);
      return paths.findIndex((path) => file === path || file.startsWith(`${path}/`));
    };
    return files.toSorted((a, b) => placeOf(a) - placeOf(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  ...(everything.resolve !== undefined && { resolve: everything.resolve }),
  test: {
    isolate: false,
    sequence: { sequencer: ListedOrder },
    restoreMocks: true,
    unstubGlobals: true,
    setupFiles: ["tests/support/property.ts"],
    testTimeout: 20 * 60_000,
    include: paths.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
    exclude: ["store", "fault", "browser"].map((kind) => `tests/**/*.${kind}.test.ts`),
  },
});
