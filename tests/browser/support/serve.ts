// A Studio on a file and a port, for the story in which it is killed.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildStudio } from "../../../scripts/build-studio.ts";
import { demoAgent, startStudio } from "../../../src/studio.ts";

const [file = "", port = "", token = ""] = process.argv.slice(2);
const ui = mkdtempSync(join(tmpdir(), "heddle-ui-"));
await buildStudio(ui);
const { url } = await startStudio({
  url: `sqlite:${file}`,
  port: Number(port),
  agent: demoAgent({ wordMs: 4 }),
  ui,
  token,
});
console.log(url);
