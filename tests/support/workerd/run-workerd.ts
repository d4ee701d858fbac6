// Runs workerd until it is killed, with the process group of this script.
import { startWorkerd } from "./start-workerd.ts";

const [script = "", folder, port, runs = ""] = process.argv.slice(2);
await startWorkerd({ script: new URL(script), folder, port: Number(port), bindings: { RUNS: runs } });
process.stdout.write("ready\n");
