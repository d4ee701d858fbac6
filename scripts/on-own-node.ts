// `npm run test:node`: runs a script on the Node that npm itself runs on, not on the pinned one in devDependencies.
// CI calls it with every Node that the published package supports.
import { spawnSync } from "node:child_process";
import { root } from "./root.ts";

const node = process.env["npm_node_execpath"];
if (node === undefined) throw new Error("Call this through npm: `npm run test:node`.");
const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
console.log(`heddle: running on Node ${version}`);
process.exitCode = spawnSync(node, process.argv.slice(2), { cwd: root, stdio: "inherit" }).status ?? 1;
