// A Studio in a process of its own, to be killed: node killed-studio.ts <file> <port>
import { writeSync } from "node:fs";
import { sqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { demoAgent } from "../../../src/studio/demo/demo-agent.ts";
import { startStudio } from "../../../src/studio/start-studio.ts";

const [path = "", port = "0"] = process.argv.slice(2);
const studio = await startStudio({
  store: sqliteStore(path),
  agent: demoAgent({ wordMs: 5 }),
  port: Number(port),
  ui: false,
  token: "a-token-of-the-tests",
});
writeSync(1, `${studio.url}\n`);
