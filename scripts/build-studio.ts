// studio-ui -> dist/studio-ui: index.html with app.js, app.css and stream-worker.js, and export.html, one file for one thread.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./root.ts";

const from = `${root}studio-ui/`;
const dist = `${root}dist/studio-ui/`;

/** Bundles the page into a folder and answers its size. Its imports of heddle come from the sources, so it need not be built before. */
export async function buildStudio(to = dist): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { app: `${from}main.tsx`, "stream-worker": `${from}data/stream-worker.ts` },
    outdir: dist,
    tsconfig: `${from}tsconfig.json`,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2023", "chrome120", "firefox121", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    // The stores load drivers on demand; a page needs none.
    external: [
      "node:*",
      "better-sqlite3",
      "postgres",
      "gpt-tokenizer",
      "gpt-tokenizer/*",
      "@opentelemetry/api",
      "@valibot/to-json-schema",
    ],
    legalComments: "none",
    write: false,
    logLevel: "warning",
  });
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? "";
  const script = textOf("app.js");
  const style = textOf("app.css");
  const page = readFileSync(`${from}index.html`, "utf8");
  const put = (name: string, text: string) => writeFileSync(join(to, name), text);
  mkdirSync(to, { recursive: true });
  put("index.html", page);
  put("app.js", script);
  put("app.css", style);
  put("stream-worker.js", textOf("stream-worker.js"));
  put("export.html", exportPage(page, script, style));
  const sizes = [script, style].map((text) => gzipSync(text, { level: 9 }).byteLength);
  const [js = 0, css = 0] = sizes.map((bytes) => bytes / 1e3);
  return `studio-ui: app.js ${js.toFixed(1)} kB, app.css ${css.toFixed(1)} kB, gzipped`;
}

/** One file that needs no other: the data of a thread goes into the first script at the export. */
function exportPage(page: string, script: string, style: string): string {
  // The text of a script must not contain the tag that ends it.
  const safe = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  return page
    .replace('<link rel="stylesheet" href="app.css" />', () => `<style>\n${style}</style>`)
    .replace(
      '<script type="module" src="app.js"></script>',
      () => `<script type="application/json" id="heddle-data"></script>\n    <script type="module">\n${safe}</script>`,
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await buildStudio());
