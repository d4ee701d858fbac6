import { isBuiltin } from "node:module";
import { type BuildResult, build, type Plugin } from "esbuild";
import { root } from "./root.ts";

type Bundle = BuildResult<{ metafile: true; write: false }>;

/**
 * Bundles a built file for a browser. It follows static imports only: dynamic imports load on demand. Node built-ins stay
 * external, so the metafile shows which file imports them. With `names`, only what these exports need is bundled.
 */
export function bundle(entry: string, names?: readonly string[]): Promise<Bundle> {
  const contents = `export { ${names?.join(", ")} } from "./${entry}";`;
  return build({
    absWorkingDir: root,
    ...(names === undefined ? { entryPoints: [entry] } : { stdin: { contents, resolveDir: root } }),
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    metafile: true,
    write: false,
    logLevel: "error",
    plugins: [leaveOutside],
  });
}

const leaveOutside: Plugin = {
  name: "leave-outside",
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) =>
      kind === "dynamic-import" || isBuiltin(path) ? { path, external: true } : undefined,
    );
  },
};
