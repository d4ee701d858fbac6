import { createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { restateScheduler, restateThreads } from "heddle/restate";
import { type EngineSubject, engineContract } from "heddle/testing";
import { afterAll, describe, test } from "vitest";
import { freePort } from "../support/postgres/free-port.ts";
import { startRestate } from "./support/start-restate.ts";

const restate = await startRestate();
const port = await freePort();
afterAll(() => restate.stop());

/** A server whose connections end at once, as those of a killed process do. */
async function listening(server: Http2Server): Promise<() => Promise<void>> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return async () => {
    for (const session of sessions) session.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
}

const start: EngineSubject["start"] = async (advance) => {
  const services = [restateThreads({ advance })];
  const kill = await listening(createServer(createEndpointHandler({ services, logger: () => undefined })));
  await restate.register(`http://127.0.0.1:${port}`);
  return { scheduler: restateScheduler({ url: restate.url }), kill };
};

describe("Restate keeps the contract of engines", () => {
  for (const { name, run } of engineContract({ start })) test(name, run);
});
