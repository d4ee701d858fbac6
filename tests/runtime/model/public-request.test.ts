import { lookup } from "node:dns";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { getPublic } from "../../../src/runtime/model/files.ts";

async function server(): Promise<{ readonly url: URL; readonly asked: string[] }> {
  const asked: string[] = [];
  const http = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/moved") response.writeHead(302, { location: "/a" }).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(200_000));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  return { url: new URL(`http://localhost:${(http.address() as AddressInfo).port}/a`), asked };
}

const signal = AbortSignal.timeout(30_000);

test("a name is refused by the address that the connection would use", async () => {
  const { url, asked } = await server();
  const seen: string[] = [];
  const refuse = (address: string) => {
    seen.push(address);
    return new Error(`${address} is refused`);
  };
  await expect(getPublic(url, { signal, refuse })).rejects.toThrow("is refused");
  const known = await new Promise((resolve) =>
    lookup("localhost", { all: true }, (_, all) => resolve(all.map((one) => one.address))),
  );
  expect(seen).toEqual(known);
  expect(asked).toEqual([]);
});

test("an address that is not refused answers, and redirects are left to the caller", async () => {
  const { url } = await server();
  const refuse = () => undefined;
  const response = await getPublic(url, { signal, refuse });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain"]);
  expect((await response.text()).length).toBe(200_000);
  const moved = await getPublic(new URL("/moved", url), { signal, refuse });
  expect([moved.status, moved.headers.get("location")]).toEqual([302, "/a"]);
  await moved.body?.cancel();
  const stopped = await getPublic(url, { signal, refuse });
  await stopped.body?.cancel();
});

test("an aborted signal ends the wait", async () => {
  const { url } = await server();
  await expect(getPublic(url, { signal: AbortSignal.abort(), refuse: () => undefined })).rejects.toThrow();
});
