// `npm test`: build, every check, every test. The last line is "N passed, N failed".
// The number of passed tests is from vitest's report. A failed check, build or test file counts as one failure.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAndCheck } from "./checks.ts";
import { loudly } from "./command.ts";

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly status: "passed" | "failed";
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

// The project `types` of vitest compiles the same program, and fails on any error in it.
const checks = await buildAndCheck(["check:types"]);
const tests = checks.isBuilt ? await runTests() : { passed: 0, failed: 0 };
finish(tests.passed, tests.failed + checks.failed);

async function runTests(): Promise<{ passed: number; failed: number }> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-test-"));
  const file = join(folder, "report.json");
  try {
    const code = await loudly(
      `vitest run --reporter=default --reporter=./tests/support/case-reporter.ts --reporter=json --outputFile.json="${file}"`,
    );
    const result = JSON.parse(readFileSync(file, "utf8")) as VitestReport;
    const skipped = result.numPendingTests + result.numTodoTests;
    if (skipped > 0) console.log(`${skipped} skipped`);
    const brokenFiles = result.testResults.filter(
      (f) => f.status === "failed" && !f.assertionResults.some((a) => a.status === "failed"),
    ).length;
    const failed = result.numFailedTests + brokenFiles;
    // An unhandled rejection or a failed global setup fails the run without failing a test.
    return { passed: result.numPassedTests, failed: code !== 0 && failed === 0 ? 1 : failed };
  } catch (error) {
    console.log(`vitest wrote no readable report: ${String(error)}`);
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function finish(passed: number, failed: number): void {
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  console.log(`${passed} passed, ${failed} failed`);
}
