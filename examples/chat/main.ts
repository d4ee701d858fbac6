// Starts the server of `hono.ts`. On SIGTERM it hands its requests over, and the pages connect to another process.
import { serve } from "@hono/node-server";
import { app, host } from "./hono.ts";

const server = serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000) }, ({ port }) =>
  console.log(`http://localhost:${port}`),
);
process.once("SIGTERM", async () => {
  server.close();
  await host.stop();
  await host.store.close();
  process.exit();
});
