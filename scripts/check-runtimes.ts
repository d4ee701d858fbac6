// `npm run check:runtimes`: packs the package, installs it with other runtimes from the npm registry into a temporary folder,
// and runs scripts/runtimes-smoke.mjs on each. A runtime that cannot run prints why. Words choose: `-- deno workerd`.
import { copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { type Finished, quietly } from "./command.ts";
import { root } from "./root.ts";

interface Runtime {
  readonly name: string;
  /** For `npm install`. */
  readonly install: string;
  /** In the temporary folder. */
  readonly command: string;
}

/** 22.13.0 is the lowest in `engines`. */
const RUNTIMES: readonly Runtime[] = [
  ...["22.13.0", "24", "26"].map((version) => ({
    name: `node-${version}`,
    install: `node-${version.split(".")[0]}@npm:node@${version}`,
    command: `"node_modules/node-${version.split(".")[0]}/bin/node" run.mjs`,
  })),
  { name: "bun", install: "bun", command: "node_modules/.bin/bun run.mjs" },
  {
    name: "deno",
    install: "deno",
    command: "node_modules/.bin/deno run --allow-all --node-modules-dir=manual run.mjs",
  },
  { name: "workerd", install: "miniflare", command: "node workerd.mjs" },
];

const RUN = `import { smoke } from "./runtimes-smoke.mjs";
console.log(JSON.stringify(await smoke()));
process.exit(0);
`;

const WORKER = `import { smoke } from "./runtimes-smoke.mjs";
export default {
  fetch: () => smoke().then((counts) => Response.json(counts), (error) => new Response(error.stack, { status: 500 })),
};
`;

const WORKERD = `import { readFileSync } from "node:fs";
import { Miniflare } from "miniflare";
const contents = readFileSync("worker.mjs", "utf8");
// Listed, so that Miniflare does not look for the optional packages of dynamic imports.
const modules = [{ type: "ESModule", path: "worker.mjs", contents }];
const worker = new Miniflare({ modules, compatibilityDate: "2026-01-01" });
const response = await worker.dispatchFetch("http://localhost/");
console.log(await response.text());
await worker.dispose();
process.exit(response.ok ? 0 : 1);
`;

const words = process.argv.slice(2);
const chosen = RUNTIMES.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const folder = realpathSync(mkdtempSync(join(tmpdir(), "heddle-runtimes-")));
try {
  const pack = await must(`npm pack --ignore-scripts --silent --pack-destination "${folder}"`);
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  copyFileSync(`${root}scripts/runtimes-smoke.mjs`, join(folder, "runtimes-smoke.mjs"));
  writeFileSync(join(folder, "run.mjs"), RUN);
  writeFileSync(join(folder, "worker-entry.mjs"), WORKER);
  writeFileSync(join(folder, "workerd.mjs"), WORKERD);
  await must(install(`"${join(folder, pack.output.split("\n").at(-1) ?? "")}"`));
  for (const runtime of chosen) await check(runtime);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function check({ name, install: what, command }: Runtime): Promise<void> {
  const installed = await quietly(install(`"${what}"`));
  if (!installed.ok) return failed(name, `npm could not install ${what}:\n${installed.output}`);
  if (name === "workerd") await bundleWorker();
  const { ok, output, seconds } = await quietly(`cd "${folder}" && ${command}`);
  if (!ok) return failed(name, output);
  console.log(`ok   ${name.padEnd(12)} ${seconds.toFixed(1)}s ${output.split("\n").at(-1)}`);
}

function failed(name: string, why: string): void {
  console.log(`FAIL ${name}\n${why}`);
  process.exitCode = 1;
}

function install(what: string): string {
  return `npm install --prefix "${folder}" --no-audit --no-fund --loglevel=error ${what}`;
}

/** As a bundler of Workers does it: a built-in of Node is imported only if the code reaches it. */
function bundleWorker(): Promise<unknown> {
  return build({
    absWorkingDir: folder,
    entryPoints: ["worker-entry.mjs"],
    outfile: join(folder, "worker.mjs"),
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*"],
    logLevel: "error",
  });
}

async function must(line: string): Promise<Finished> {
  const finished = await quietly(line);
  if (!finished.ok) throw new Error(`${line} failed:\n${finished.output}`);
  return finished;
}
