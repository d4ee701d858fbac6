import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { content, memoryStore, StoreError, type ThreadStore } from "heddle";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DownloadFunction, DownloadRequest } from "../../../src/agent/definition/config.ts";
import { defineTool } from "../../../src/agent/definition/tool.ts";
import { stage, weatherIn } from "./support/stage.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A server with one picture, which counts what it is asked. */
async function files(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/moved") response.writeHead(302, { location: "/a.png" }).end();
    else if (request.url === "/a.png")
      response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from(PNG, "base64"));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const picture = (url: string) =>
  [
    { type: "text", text: "What is this?" },
    { type: "file", mediaType: "image/png", data: { url } },
  ] as const;

describe("a file by URL that Gemini does not take", () => {
  const setting = { api: "gemini", streaming: true } as const;

  test("is downloaded once in a request, also behind a redirect", async () => {
    const { url, asked } = await files();
    const scene = await stage(setting);
    scene.provider.answer({ calls: [weatherIn("Bern")] }, { text: "A pixel." });
    const server = await scene.start({ download: { allowPrivateAddresses: true } });
    expect((await (await server.ask(picture(`${url}/moved`))).result).text).toBe("A pixel.");
    expect(asked).toEqual(["/moved", "/a.png"]);
    for (const { body } of scene.provider.requests) expect(JSON.stringify(body)).toContain(PNG);
    expect(scene.warnings).toEqual([]);
  });

  test.each(["/a.png", "/none"])(
    "that cannot be had fails the ask that holds it, and is a note later: %s",
    async (path) => {
      const { url, asked } = await files();
      const scene = await stage(setting);
      const isPrivate = path === "/a.png";
      const server = await scene.start(isPrivate ? {} : { download: { allowPrivateAddresses: true } });
      const why = isPrivate ? "private address" : "status 404";
      await expect((await server.ask(picture(url + path))).result).rejects.toMatchObject({
        cause: { code: "file_download_failed", message: expect.stringContaining(why) },
      });
      expect(asked).toEqual(isPrivate ? [] : ["/none"]);
      scene.provider.answer({ text: "You are welcome." });
      expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
      expect(scene.warnings).toEqual([expect.stringContaining(why)]);
      expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain("image/png) that cannot be shown");
    },
  );

  test("that is too large is not taken", async () => {
    const { url } = await files();
    const scene = await stage(setting);
    const server = await scene.start({ download: { allowPrivateAddresses: true, maxBytes: 10 } });
    await expect((await server.ask(picture(`${url}/a.png`))).result).rejects.toMatchObject({
      cause: { message: expect.stringContaining("larger than 10 bytes") },
    });
  });

  test("is downloaded by the agent's own function, which may hand the URL on", async () => {
    const scene = await stage(setting);
    const requests: DownloadRequest[] = [];
    const download: DownloadFunction = async (wanted) => {
      requests.push(...wanted);
      return wanted.map(() => ({ data: Buffer.from(PNG, "base64"), mediaType: "image/png" }));
    };
    scene.provider.answer({ text: "A pixel." });
    const server = await scene.start({ download });
    await (await server.ask(picture("http://example.com/a.png"))).result;
    expect(requests).toMatchObject([{ isUrlSupportedByModel: false }]);
    expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain(PNG);
  });
});

describe("a file by a URL that is not http", () => {
  const setting = { api: "anthropic", streaming: true } as const;

  test("is decoded where the URL has the bytes", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ text: "A pixel." });
    const server = await scene.start();
    const { result } = await server.ask(picture(`data:image/png;base64,${PNG}`));
    expect((await result).text).toBe("A pixel.");
    expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain(`"data":"${PNG}"`);
  });

  test.each([
    ["file:///etc/hostname", false],
    ["file:///etc/hostname", true],
    ["ftp://example.com/a.png", false],
  ])(
    "fails the ask that holds it, and is a note later: %s, private addresses allowed: %s",
    async (url, allowPrivateAddresses) => {
      const scene = await stage(setting);
      const server = await scene.start({ download: { allowPrivateAddresses } });
      await expect((await server.ask(picture(url))).result).rejects.toMatchObject({
        cause: { code: "file_download_failed", message: expect.stringContaining("only http and https are downloaded") },
      });
      scene.provider.answer({ text: "You are welcome." });
      expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
      expect(JSON.stringify(scene.provider.requests)).not.toContain(url);
    },
  );
});

test("a file by URL that OpenAI takes is not downloaded", async () => {
  const { url, asked } = await files();
  const scene = await stage({ api: "openai-responses", streaming: true });
  scene.provider.answer({ text: "A pixel." });
  const server = await scene.start();
  await (await server.ask(picture(`${url}/a.png`))).result;
  expect(asked).toEqual([]);
  expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain(`${url}/a.png`);
});

describe("a file that is a blob of the store", () => {
  const setting = { api: "openai-responses", streaming: true } as const;
  const file = (blob: string) =>
    [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", data: { blob } },
    ] as const;

  test.each([
    ["bytes", () => Buffer.from(PNG, "base64")],
    ["base64", () => PNG],
  ])("is sent with its content, put as %s", async (_, bytes) => {
    const scene = await stage(setting);
    const hash = await scene.store.putBlob(bytes());
    scene.provider.answer({ text: "A pixel." });
    const server = await scene.start();
    expect((await (await server.ask(file(hash))).result).text).toBe("A pixel.");
    expect(JSON.stringify(scene.provider.requests[0]?.body)).toContain(PNG);
  });

  test("that the store does not have fails the ask that holds it, and is a note later", async () => {
    const scene = await stage(setting);
    const server = await scene.start();
    await expect((await server.ask(file("unknown"))).result).rejects.toMatchObject({
      cause: { code: "file_download_failed", message: expect.stringContaining("unknown") },
    });
    scene.provider.answer({ text: "You are welcome." });
    expect((await (await server.ask("Thanks")).result).text).toBe("You are welcome.");
    expect(scene.warnings).toEqual([expect.stringContaining("no file with the hash unknown")]);
  });

  test("is read again when the store was away for a moment", async () => {
    const store = memoryStore();
    let failures = 2;
    const getBlob: ThreadStore["getBlob"] = (hash) => {
      if (failures-- > 0) throw new StoreError({ code: "store_unreachable", message: "away", retryable: true });
      return store.getBlob(hash);
    };
    const scene = await stage({ ...setting, store: { ...store, getBlob } });
    const hash = await store.putBlob(PNG);
    scene.provider.answer({ text: "A pixel." });
    const server = await scene.start();
    expect((await (await server.ask(file(hash))).result).text).toBe("A pixel.");
    expect([JSON.stringify(scene.provider.requests[0]?.body).includes(PNG), scene.warnings]).toEqual([true, []]);
  });

  test("that a tool returned and the store does not have is a note", async () => {
    const scene = await stage(setting);
    scene.provider.answer({ calls: [weatherIn("Bern")] }, { text: "No picture." });
    const execute = () => content([{ type: "file", mediaType: "image/png", data: { blob: "unknown" } }]);
    const server = await scene.start({
      tools: { weather: defineTool({ description: "A picture.", inputSchema: { type: "object" }, execute }) },
    });
    expect((await (await server.ask("How is it?")).result).text).toBe("No picture.");
    expect(scene.warnings).toEqual([expect.stringContaining("no file with the hash unknown")]);
  });
});
