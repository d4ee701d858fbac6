import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface WorkerdOptions {
  /** The script of the worker. It exports the class `Thread`, bound as `THREADS`. */
  readonly script: URL;
  /** Where the objects keep their data. Default: in memory. */
  readonly folder?: string | undefined;
  /** Answers what the worker sends to `env.TEST`. */
  readonly test?: (request: Request) => Promise<Response>;
  /** Where it listens on loopback. Default: a free port. */
  readonly port?: number;
  /** Texts in `env`. Default: none. */
  readonly bindings?: Record<string, string>;
}

/** Runs a worker with Durable Objects in workerd. */
export async function startWorkerd(options: WorkerdOptions): Promise<Miniflare> {
  const { script, folder, test, port = 0, bindings = {} } = options;
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(script)],
    absWorkingDir: root,
    bundle: true,
    format: "esm",
    target: "es2023",
    conditions: ["workerd", "worker"],
    external: ["node:*", "cloudflare:*"],
    write: false,
    logLevel: "error",
  });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0]?.text ?? "" }],
    compatibilityDate: "2026-07-01",
    compatibilityFlags: ["nodejs_compat"],
    host: "127.0.0.1",
    port,
    bindings,
    cf: false, // otherwise it asks for an example over the network
    durableObjects: { THREADS: { className: "Thread", useSQLite: true } },
    ...(folder !== undefined && { durableObjectsPersist: folder }),
    ...(test !== undefined && { serviceBindings: { TEST: test as never } }), // a Request of another realm
  });
  await miniflare.ready;
  return miniflare;
}
