// Measures what a user downloads against the budgets in bench/budgets.json.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundle } from "./bundle.ts";
import { packedFiles } from "./packed-files.ts";
import { root } from "./root.ts";

interface Budgets {
  readonly size: {
    readonly coreGzipKilobytes: number;
    readonly heddleGzipKilobytes: number;
    readonly clientGzipKilobytes: number;
    readonly installMegabytes: number;
    readonly installPackages: number;
  };
}
interface LockedPackage {
  readonly dev?: true;
  readonly devOptional?: true;
  readonly optional?: true;
  readonly peer?: true;
}

const budgets = (JSON.parse(readFileSync(`${root}bench/budgets.json`, "utf8")) as Budgets).size;
const dependencies = productionFolders();
const installBytes = dependencies.reduce(
  (sum, folder) => sum + bytesIn(join(root, folder)),
  (await packedFiles()).bytes,
);

/** The numbers in the README may be this far from what is measured. */
const README_KILOBYTES_OFF = 1.5;

/** A page that shows and projects threads imports these. A bundler must leave out stores and agents, which are not used. */
const core = [
  ...["Thread", "projectFromStore", "project", "explain", "createProjector", "transcript", "ContextPolicy"],
  ...["heuristic", "calibrate", "loadExactCounter"],
];

const rows = [
  {
    what: "log and projection, gzipped",
    unit: "kB",
    measured: await kilobytes(core),
    budget: budgets.coreGzipKilobytes,
  },
  { what: "all of heddle, gzipped", unit: "kB", measured: await kilobytes(), budget: budgets.heddleGzipKilobytes },
  {
    what: "client of a page, gzipped",
    unit: "kB",
    measured: await kilobytes(undefined, "client"),
    budget: budgets.clientGzipKilobytes,
  },
  { what: "install, unpacked", unit: "MB", measured: installBytes / 1e6, budget: budgets.installMegabytes },
  { what: "packages installed", unit: "", measured: dependencies.length + 1, budget: budgets.installPackages },
];
for (const { what, unit, measured, budget } of rows) {
  const over = measured > budget;
  const number = unit === "" ? String(measured) : measured.toFixed(2);
  console.log(`${over ? "OVER" : "ok  "} ${what.padEnd(28)} ${number.padStart(8)} of ${budget} ${unit}`.trimEnd());
  if (over) process.exitCode = 1;
}

checkReadme();

/** The README names both bundle sizes, so that a reader need not measure. */
function checkReadme(): void {
  const [, core = "0", all = "0"] =
    /projection are about (\d+) kB, minified and gzipped, all of `heddle` about (\d+) kB/.exec(
      readFileSync(`${root}README.md`, "utf8").replaceAll(/\s+/g, " "),
    ) ?? [];
  for (const [at, said] of [Number(core), Number(all)].entries()) {
    const { what = "", measured = 0 } = rows[at] ?? {};
    if (Math.abs(said - measured) <= README_KILOBYTES_OFF) continue;
    console.log(`OLD  README.md says ${said} kB for "${what}": write ${Math.round(measured)}`);
    process.exitCode = 1;
  }
}

async function kilobytes(names?: readonly string[], entry = "index"): Promise<number> {
  const { outputFiles } = await bundle(`dist/${entry}.js`, names);
  return outputFiles.reduce((sum, file) => sum + gzipSync(file.contents, { level: 9 }).byteLength, 0) / 1e3;
}

/** The packages that `npm install heddle` installs: the lockfile without development tools and optional peers. */
function productionFolders(): string[] {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([folder, p]) => folder !== "" && !(p.dev || p.devOptional || p.optional || p.peer))
    .map(([folder]) => folder);
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
