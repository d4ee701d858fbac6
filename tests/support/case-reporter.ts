import type { Reporter, TestModule } from "vitest/node";

/** Prints how many cases the properties and simulations of the run had, on one line. */
export default class CaseReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => (test.meta().cases ?? []).map((cases) => ({ cases, module }))),
    );
    if (counts.length === 0) return;
    const fewest = counts.reduce((least, count) => (count.cases < least.cases ? count : least));
    const sum = counts.reduce((total, { cases }) => total + cases, 0);
    const where = fewest.module.relativeModuleId;
    console.log(`   Cases  ${sum} of ${counts.length} properties and simulations, fewest ${fewest.cases} (${where})\n`);
  }
}
