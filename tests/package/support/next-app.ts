import { type ChildProcess, execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const run = promisify(execFile);

const MANIFEST = {
  name: "app",
  private: true,
  type: "module",
  // Next.js brings 30 MB for images, which this app has none of.
  overrides: { sharp: "npm:client-only@0.0.1" },
};

const NEXT = { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" };

export const LAYOUT = `export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}`;

/** Two thirds of the CPU time: the test reads no source map, and builds once. */
export const CONFIG = `export default {
  experimental: {
    turbopackSourceMaps: false,
    turbopackInputSourceMaps: false,
    turbopackFileSystemCacheForBuild: false,
  },
};`;

export const NEXT_ENV = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: "1",
  NODE_ENV: undefined,
  NODE_OPTIONS: undefined,
  CI: "1",
};

/** Of npm, when the registry does not answer or does not have a package; anything else is a failure of the test. */
const NO_REGISTRY = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|E403|E404|ETARGET)\b|network/;

/** The path of the command `next` in an app. */
export function nextIn(home: string): string {
  return join(home, "node_modules/next/dist/bin/next");
}

/** Writes and installs an app. Resolves to the reason why npm could not install it, if the registry is the reason. */
export async function installNextApp(
  home: string,
  files: { readonly [path: string]: string },
  dependencies: { readonly [name: string]: string } = {},
): Promise<string | undefined> {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const manifest = { ...MANIFEST, dependencies: { ...NEXT, ...dependencies } };
  writeFileSync(join(home, "package.json"), JSON.stringify(manifest));
  // The cache stays, so that later runs need the registry for little.
  const cache = join(tmpdir(), "heddle-next-npm-cache");
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", "--fetch-retries=1"];
  try {
    await run("npm", ["install", ...flags, "--cache", cache], { cwd: home, env: NEXT_ENV });
    return undefined;
  } catch (error) {
    const { stderr } = error as { readonly stderr: string }; // of execFile
    if (!NO_REGISTRY.test(stderr)) throw error;
    return `The test of a Next.js app is skipped: npm could not install it. ${stderr.split("\n")[0]}`;
  }
}

/** The address that `next start` or `next dev` prints. */
export async function addressOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("next has no output");
  for await (const line of createInterface({ input: stdout })) {
    const url = /http:\/\/localhost:\d+/.exec(line);
    if (url !== null) return url[0];
  }
  throw new Error("next ended without an address");
}
