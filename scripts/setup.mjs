// Prepares a fresh clone, on any Node >= 18 and with nothing installed. Does nothing if all is up to date.
// The project itself runs on the Node in devDependencies, which npm puts first on the PATH of every script.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stampFile = `${root}node_modules/.heddle-setup`;

const { dependencies, devDependencies, allowScripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const wanted = createHash("sha256")
  .update(readFileSync(`${root}package-lock.json`))
  .update(JSON.stringify({ dependencies, devDependencies, allowScripts }))
  .digest("hex");

if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== wanted) install();

function install() {
  process.stderr.write("heddle: installing the development tools (npm ci), once...\n");
  // Under `npm run` this is the npm that the user called. NODE_ENV=production must not skip the development tools.
  const npm = process.env.npm_execpath;
  const args = ["ci", "--include=dev", "--no-progress"];
  const options = { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
  const run = npm?.endsWith(".js")
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  if (run.status !== 0)
    fail(`npm ci failed (${run.error?.message ?? `exit code ${run.status}`}).\n${run.stderr ?? ""}`);

  const version = spawnSync(`${root}node_modules/.bin/node`, ["--version"], { encoding: "utf8" }).stdout?.trim();
  const pinned = `v${devDependencies.node}`;
  if (version !== pinned && process.platform !== "win32") {
    fail(
      `the project's own Node ${pinned} was not installed (found ${version ?? "none"}). Its install script must run: ` +
        "check that npm's ignore-scripts setting is off.",
    );
  }
  writeFileSync(stampFile, wanted);
}

/** @param {string} why */
function fail(why) {
  process.stderr.write(`heddle: ${why}\n`);
  process.exit(1);
}
