/** What `storeContract` asks of `spawn`, in a process of its own: arguments are a store's URL and the job as JSON. */
import { runWorkerJob, type WorkerJob } from "../../src/testing.ts";
import { openAt } from "./open-at.ts";

const [url = "", job = ""] = process.argv.slice(2);
console.log(JSON.stringify(await runWorkerJob(JSON.parse(job) as WorkerJob, (options) => openAt(url, options))));
