import { quietly } from "./command.ts";

/** The number of files that `npm publish` would publish, and their bytes. Needs a fresh dist. */
export async function packedFiles(): Promise<{ readonly files: number; readonly bytes: number }> {
  const pack = await quietly("npm pack --dry-run --ignore-scripts --json --loglevel=error");
  if (!pack.ok) throw new Error(pack.output);
  const [files, otherFiles] = pack.output.matchAll(/"entryCount":\s*(\d+)/g);
  const [bytes, otherBytes] = pack.output.matchAll(/"unpackedSize":\s*(\d+)/g);
  if (files === undefined || bytes === undefined || otherFiles !== undefined || otherBytes !== undefined)
    throw new Error(`npm pack --json did not name one entryCount and one unpackedSize:\n${pack.output}`);
  return { files: Number(files[1]), bytes: Number(bytes[1]) };
}
