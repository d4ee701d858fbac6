// Packs the package as npm would publish it. publint and attw check that every module system can import it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietly } from "./command.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-pack-"));
try {
  const pack = await quietly(`npm pack --ignore-scripts --silent --pack-destination "${folder}"`);
  if (!pack.ok) throw new Error(pack.output);
  const tarball = join(folder, pack.output.split("\n").at(-1) ?? "");
  const results = await Promise.all([
    quietly(`publint run --strict "${tarball}"`),
    quietly(`attw --profile esm-only --no-emoji "${tarball}"`),
  ]);
  for (const { ok, output } of results) {
    if (ok) continue;
    console.log(output);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
