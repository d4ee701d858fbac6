import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { reasonOf } from "../support/child.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
const stamp = `${folder}node_modules/.heddle-peers`;

/** Installs the packages of bench/peers as its lockfile says, unless they are there. Says why when npm cannot. */
export function installTrouble(): string | undefined {
  try {
    install();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function install(): void {
  const wanted = createHash("sha256")
    .update(readFileSync(`${folder}package-lock.json`))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("installing the packages of bench/peers (npm ci)...");
  const args = ["ci", "--no-progress", "--loglevel=error"];
  // Under `npm run` this is the very npm the person called.
  const npm = process.env["npm_execpath"];
  const run = npm?.endsWith(".js")
    ? spawnSync(process.execPath, [npm, ...args], { cwd: folder, encoding: "utf8" })
    : spawnSync("npm", args, { cwd: folder, encoding: "utf8", shell: process.platform === "win32" });
  if (run.status !== 0) throw new Error(`npm ci failed: ${firstLine(run.stderr) ?? run.error?.message ?? run.status}`);
  writeFileSync(stamp, wanted);
}

function firstLine(text: string | undefined): string | undefined {
  return text
    ?.split("\n")
    .map((line) => line.trim())
    .find((line) => line !== "" && !line.startsWith("npm warn"));
}
