import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inScratch, mustBeBuilt, root } from "../../docs/built.ts";

/** A folder in which the built heddle is installed, with these packages. It is gone afterwards. */
export async function inProject<Result>(
  work: (folder: string) => Promise<Result>,
  packages: readonly string[] = [],
): Promise<Result> {
  mustBeBuilt();
  return inScratch((folder) => {
    for (const part of ["package.json", "dist"])
      cpSync(join(root, part), join(folder, "node_modules/heddle", part), {
        recursive: true,
        filter: (path) => !basename(path).startsWith(".snippets-"), // another test's folder, which may go meanwhile
      });
    for (const name of ["@types/node", "undici-types", ...packages]) {
      mkdirSync(dirname(join(folder, "node_modules", name)), { recursive: true });
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    return work(folder);
  });
}
