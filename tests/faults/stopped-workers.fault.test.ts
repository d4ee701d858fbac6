import { inject, test } from "vitest";
import { tempFile } from "../support/temp-folder.ts";
import { stopWorkers } from "./support/stopped-workers.ts";

test("every command has one outcome when workers are killed and frozen: SQLite", async () => {
  await stopWorkers({ url: `sqlite:${tempFile()}`, stops: 3 });
});

test("every command has one outcome when workers are killed and frozen: Postgres", async () => {
  await stopWorkers({ url: inject("postgresUrl"), stops: 3 });
});
