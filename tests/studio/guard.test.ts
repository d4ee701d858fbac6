import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { memoryStore } from "heddle";
import { demoAgent, startStudio, studioHandler } from "heddle/studio";
import { expect, onTestFinished, test } from "vitest";
import { errorResponse } from "../../src/studio/http/response.ts";
import { listener } from "../../src/studio/start-studio.ts";
import { clientOf, started } from "./support/client.ts";

const TOKEN = "a-token-of-our-own";
const JSON_TYPE = { "content-type": "application/json" };

/** With headers that fetch would not send. */
function raw(
  url: string,
  method: string,
  headers: { readonly [name: string]: string },
  body = "",
): Promise<{ status: number; code: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, code: /"code":"(\w+)"/.exec(text)?.[1] ?? "" }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

test("a name that leads here and is not ours is refused: that is how pages of others would get in", async () => {
  const { api } = await started();
  const { port } = new URL(api.origin);
  for (const host of ["evil.example", `evil.example:${port}`, "localhost", `localhost:${Number(port) + 1}`]) {
    expect(await raw(`${api.origin}/api/info`, "GET", { host })).toEqual({ status: 403, code: "host_refused" });
    expect(await raw(`${api.origin}/`, "GET", { host })).toEqual({ status: 403, code: "host_refused" });
  }
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
    expect(await raw(`${api.origin}/api/info`, "GET", { ...api.headers, host })).toMatchObject({ status: 200 });
  }
  expect((await raw(`${api.origin}/api/info`, "GET", { host: "a b" })).status).toBe(400);
});

test("a page of another origin is refused, our own is not, and neither is who has none", async () => {
  const { api } = await started();
  const post = (headers: { readonly [name: string]: string }) =>
    raw(`${api.origin}/api/threads`, "POST", { ...api.headers, ...JSON_TYPE, ...headers }, "{}");
  for (const origin of ["http://evil.example", "null", "https://127.0.0.1", `${api.origin}.evil.example`]) {
    expect(await post({ origin })).toEqual({ status: 403, code: "origin_refused" });
  }
  expect(await post({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" })).toMatchObject({ status: 403 });
  expect(await post({ origin: api.origin, "sec-fetch-site": "same-origin" })).toMatchObject({ status: 201 });
  expect(await post({})).toMatchObject({ status: 201 });
});

test("a link on a page of another site leads to the Studio, and its forms do not reach the API", async () => {
  const { api } = await started();
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect(await raw(`${api.origin}/`, "GET", link)).toMatchObject({ status: 200 });
  expect(await raw(`${api.origin}/api/info`, "GET", link)).toEqual({ status: 401, code: "unauthorized" });
  const form = { ...link, ...api.headers, origin: "http://evil.example" };
  expect(await raw(`${api.origin}/api/threads`, "POST", form, "{}")).toEqual({ status: 403, code: "origin_refused" });
});

test("every call needs the token, also on this machine, in a header alone", async () => {
  for (const options of [{ token: TOKEN }, {}]) {
    const { api, studio } = await started(options);
    if (options.token !== undefined) expect(studio.token).toBe(options.token);
    expect(studio.token.length).toBeGreaterThanOrEqual(options.token?.length ?? 32);
    const info = `${api.origin}/api/info`;
    expect(await raw(info, "GET", {})).toEqual({ status: 401, code: "unauthorized" });
    expect(await raw(info, "GET", { authorization: "Bearer wrong-token" })).toMatchObject({ status: 401 });
    expect(await raw(`${info}?token=${studio.token}`, "GET", {})).toMatchObject({ status: 401 });
    expect(await raw(info, "GET", { cookie: `heddle_token=${studio.token}` })).toMatchObject({ status: 401 });
    expect(await raw(info, "GET", { authorization: `Bearer ${studio.token}` })).toMatchObject({ status: 200 });
    expect((await fetch(api.origin)).headers.get("set-cookie")).toBeNull();
  }
});

test("the printed address lets one browser in, once, and holds no token", async () => {
  const { api, studio } = await started();
  expect(studio.url).not.toContain(studio.token);
  const code = /#\/enter\/([\w-]{32,})$/.exec(studio.url)?.[1] ?? "";
  const enter = (given: string) =>
    fetch(`${api.origin}/api/enter`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ code: given }) });
  expect((await enter("wrong")).status).toBe(401);
  expect(await (await enter(code)).json()).toEqual({ token: studio.token });
  const again = await enter(code);
  expect([again.status, await again.json()]).toMatchObject([401, { error: { code: "code_used" } }]);
});

test("a download has a code in its address, which is good for one export and nothing else", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const { code } = (await api.post("/codes")).body;
  const get = async (path: string) => (await fetch(`${api.origin}/api${path}`)).status;
  expect(await get(`/threads/${id}?code=${code}`)).toBe(401);
  expect(await get(`/threads/${id}/export?format=json&code=${code}`)).toBe(200);
  expect(await get(`/threads/${id}/export?format=json&code=${code}`)).toBe(401);
});

test("an address that others can reach asks for the token too, and warns that it is plain http", async () => {
  const warned: string[] = [];
  const own = {
    store: memoryStore(),
    agent: demoAgent(),
    ui: false,
    warn: (text: string) => warned.push(text),
  } as const;
  const studio = await startStudio({ host: "0.0.0.0", port: 0, ...own });
  expect(warned).toEqual([expect.stringMatching(/^Studio serves 0\.0\.0\.0 over plain http\..* TLS/)]);
  onTestFinished(() => studio.stop());
  const info = `http://127.0.0.1:${studio.port}/api/info`;
  expect(await raw(info, "GET", {})).toMatchObject({ status: 401 });
  expect(await raw(info, "GET", { authorization: `Bearer ${studio.token}` })).toMatchObject({ status: 200 });
});

test("read-only, everything can be looked at and nothing changed", async () => {
  const store = memoryStore();
  await store.append("thread_1", { kind: "message", payload: { role: "user", content: "Hi" } });
  const { api } = await started({ store, readOnly: true });
  expect((await api.get("/info")).body.readOnly).toBe(true);
  expect((await api.get("/threads/thread_1/entries")).body.entries.length).toBe(1);
  expect((await api.post("/threads/thread_1/view")).body.messages.at(-1)).toEqual({ role: "user", content: "Hi" });
  const acts = ["ask", "steer", "cancel", "approve", "deny", "answer", "context", "reset", "summarize", "fork"];
  for (const path of ["/threads", "/import", ...acts.map((act) => `/threads/thread_1/${act}`)]) {
    expect(await api.post(path)).toMatchObject({ status: 403, body: { error: { code: "read_only" } } });
  }
  expect((await api.delete("/threads/thread_1")).body.error.code).toBe("read_only");
  expect((await store.load("thread_1"))?.rev).toBe(1);
});

test("bad input is an error with a code, whatever it is", async () => {
  const { api } = await started();
  const id = await api.newThread();
  const refused = async (answer: Promise<{ status: number; body: { error: { code: string } } }>) => {
    const { status, body } = await answer;
    return [status, body.error.code];
  };
  expect(await refused(api.get("/nothing"))).toEqual([404, "route_not_found"]);
  expect(await refused(api.delete("/info"))).toEqual([405, "method_not_allowed"]);
  expect(await refused(api.get("/threads/thread_none"))).toEqual([404, "thread_not_found"]);
  expect(await refused(api.get("/threads/thread_none/events"))).toEqual([404, "thread_not_found"]);
  expect(await refused(api.post("/threads/thread_none/ask", { content: "Hi" }))).toEqual([404, "thread_not_found"]);
  expect(await refused(api.get(`/threads/${id}/calls/call_none`))).toEqual([404, "call_not_found"]);
  expect(await refused(api.get("/threads/a%2Fb"))).toEqual([400, "invalid_id"]);
  expect(await refused(api.get("/threads/%E0%A4%A"))).toEqual([404, "route_not_found"]);
  expect(await refused(api.get("/threads?cursor=x"))).toEqual([400, "invalid_options"]);
  expect(await refused(api.get("/threads?order=id"))).toEqual([400, "invalid_request"]);
  expect(await refused(api.get("/threads?since=soon"))).toEqual([400, "invalid_request"]);
  expect(await refused(api.get("/threads?status=foo"))).toEqual([400, "invalid_request"]);
  expect((await api.get("/threads?owner=x")).body.error).toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining('no parameter "owner"'),
  });
  expect(await refused(api.get(`/threads/${id}/entries?from=-1`))).toEqual([400, "invalid_request"]);
  expect(await refused(api.get(`/threads/${id}/export?format=pdf`))).toEqual([400, "invalid_request"]);
  expect(await refused(api.get(`/threads/${id}/diff?a=x`))).toEqual([400, "invalid_request"]);
  expect(await refused(api.post("/threads", "{"))).toEqual([400, "invalid_request"]);
  expect(await refused(api.post("/threads", "[1]"))).toEqual([400, "invalid_request"]);
  expect(await refused(api.post("/threads", { title: 1 }))).toEqual([400, "invalid_request"]);
  expect(await refused(api.post(`/threads/${id}/ask`, {}))).toEqual([400, "invalid_request"]);
  expect(await refused(api.post(`/threads/${id}/ask`, { content: " " }))).toEqual([400, "empty_ask"]);
  expect(await refused(api.post(`/threads/${id}/ask`, { content: "Hi", allowedTools: ["x"] }))).toEqual([
    400,
    "unknown_tool",
  ]);
  expect(await refused(api.post(`/threads/${id}/ask`, { content: "Hi", contextPolicy: { maxTurns: -1 } }))).toEqual([
    400,
    "policy_invalid_value",
  ]);
  expect(await refused(api.post(`/threads/${id}/steer`, { content: "Hi", kind: "shout" }))).toEqual([
    400,
    "invalid_request",
  ]);
  expect(await refused(api.post(`/threads/${id}/steer`, { content: "Hi", kind: "inject" }))).toEqual([
    400,
    "invalid_request",
  ]);
  expect(await refused(api.post(`/threads/${id}/context`, {}))).toEqual([400, "invalid_request"]);
  expect((await api.post(`/threads/${id}/context`, { operation: { type: "forget" } })).status).toBe(400);
  expect(await refused(api.post(`/threads/${id}/summarize`))).toEqual([409, "nothing_to_summarize"]);
  expect(await refused(api.post(`/threads/${id}/fork`, { atSeq: 9 }))).toEqual([400, "seq_out_of_range"]);
  expect(await refused(api.post(`/threads/${id}/view`, { policy: { nonsense: 1 } }))).toEqual([
    400,
    "policy_unknown_field",
  ]);
  expect(await refused(api.post("/import", '{"format":"other"}'))).toEqual([400, "thread_corrupt"]);
  expect(await refused(api.post("/import", '[{"role":"user","content":"x"}]'))).toEqual([
    400,
    "unknown_message_format",
  ]);
  expect(await refused(api.post("/import?format=docx", "[]"))).toEqual([400, "invalid_request"]);
  expect((await api.get(`/threads/${id}`)).body.rev).toBe(0);
});

test("a body that is too large is refused, with an answer that can be read", async () => {
  const { api } = await started();
  const large = JSON.stringify({ title: "x".repeat(5 * 1024 * 1024) });
  expect(await api.post("/threads", large)).toMatchObject({ status: 413, body: { error: { code: "body_too_large" } } });
  const chunked = await fetch(`${api.origin}/api/threads`, {
    method: "POST",
    headers: { ...api.headers, ...JSON_TYPE },
    body: new Blob([large]).stream(),
    duplex: "half",
  } as RequestInit & { duplex: string });
  expect(chunked.status).toBe(413);
  expect((await api.get("/info")).status).toBe(200);
});

test("every answer keeps browsers from caching, framing, sniffing and loading from elsewhere", async () => {
  const { api } = await started();
  for (const { headers } of [await api.get("/info"), await api.get("/nothing"), await fetch(`${api.origin}/`)]) {
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers.get("content-security-policy")).not.toMatch(/unsafe|\*/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  }
});

test("every write must declare its body, because forms of other sites send other types without asking", async () => {
  const { api } = await started();
  const post = (path: string, type: string, body = "{}") =>
    raw(`${api.origin}/api${path}`, "POST", { ...api.headers, "content-type": type }, body);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"]) {
    for (const path of ["/threads", "/enter", "/codes", "/import"])
      expect(await post(path, type)).toEqual({ status: 415, code: "content_type_refused" });
  }
  expect(await raw(`${api.origin}/api/codes`, "POST", api.headers)).toMatchObject({ status: 415 });
  expect(await post("/threads", "application/octet-stream")).toMatchObject({ status: 415 });
  expect(await post("/threads", "Application/JSON; charset=utf-8")).toMatchObject({ status: 201 });
  const messages = '[{"role":"user","content":"Hi"}]';
  expect(await post("/import?format=neutral", "application/octet-stream", messages)).toMatchObject({ status: 201 });
});

test("a request that is sent in half is answered and its connection closed", async () => {
  const bodies: unknown[] = [];
  const server = createServer(
    listener(
      async (request) => {
        if (request.url.endsWith("/unread")) return new Response("refused", { status: 403 });
        return request.text().then(
          (text) => new Response(text),
          (error) => errorResponse(bodies.push(error) && error),
        );
      },
      "localhost",
      5, // milliseconds that a body may pause
    ),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const half = (path: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("close", () => resolve(text));
      socket.on("error", () => undefined); // the server may reset it
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf`);
    });
  expect(await half("/read")).toMatch(/^HTTP\/1\.1 408 .*request_half_sent/s);
  expect(await half("/unread")).toMatch(/^HTTP\/1\.1 403 /);
  expect(bodies).toMatchObject([{ code: "request_half_sent", status: 408 }]);
  const whole = await fetch(`http://127.0.0.1:${port}/read`, { method: "POST", body: "all of it" });
  expect(await whole.text()).toBe("all of it");
});

test("a Studio serves so many event streams, and another one when one has ended", async () => {
  const handle = await studioHandler({ store: memoryStore(), agent: demoAgent(), ui: false });
  onTestFinished(() => handle.stop());
  const open = async () => handle(new Request("http://localhost/api/events"));
  const streams: Response[] = [];
  for (let at = 0; at < 256; at++) streams.push(await open());
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const refused = await open();
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: "too_many_streams", retryable: true } },
  ]);
  await streams[0]?.body?.cancel();
  expect((await open()).status).toBe(200);
});

test("the files of the page are compressed, and a browser keeps them by their hash", async () => {
  const ui = mkdtempSync(join(tmpdir(), "heddle-ui-"));
  onTestFinished(() => rmSync(ui, { recursive: true, force: true }));
  const script = "export const word = 'heddle';\n".repeat(500);
  writeFileSync(join(ui, "app.js"), script);
  writeFileSync(join(ui, "index.html"), '<script type="module" src="app.js"></script><a href="none.css"></a>');
  const handle = await studioHandler({ store: memoryStore(), agent: demoAgent(), ui });
  onTestFinished(() => handle.stop());
  const get = (path: string, headers: { readonly [name: string]: string } = {}) =>
    handle(new Request(`http://localhost${path}`, { headers }));
  const index = await get("/");
  const html = await index.text();
  expect(index.headers.get("cache-control")).toBe("no-cache");
  expect(html).toMatch(/ src="app\.js\?v=[\w-]{22}">.*href="none\.css"/);
  const src = /src="([^"]+)"/.exec(html)?.[1] ?? "";
  const plain = await get(`/${src}`);
  expect(await plain.text()).toBe(script);
  expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect((await get("/app.js")).headers.get("cache-control")).toBe("no-cache");
  expect((await get("/app.js?v=other")).headers.get("cache-control")).toBe("no-cache");
  const read = { br: brotliDecompressSync, gzip: gunzipSync };
  for (const [encoding, decode] of Object.entries(read)) {
    const packed = await get(`/${src}`, { "accept-encoding": `${encoding}, deflate` });
    const bytes = new Uint8Array(await packed.arrayBuffer());
    expect([packed.headers.get("content-encoding"), packed.headers.get("vary")]).toEqual([encoding, "accept-encoding"]);
    expect(bytes.byteLength).toBeLessThan(script.length / 10);
    expect(decode(bytes).toString()).toBe(script);
  }
  const refusing = await get(`/${src}`, { "accept-encoding": "br;q=0, gzip;q=0" });
  expect(refusing.headers.get("content-encoding")).toBeNull();
  const etag = plain.headers.get("etag") ?? "";
  const known = await get("/app.js", { "if-none-match": etag });
  expect([known.status, await known.text()]).toEqual([304, ""]);
  writeFileSync(join(ui, "app.js"), "changed");
  expect((await get("/app.js", { "if-none-match": etag })).status).toBe(200);
  expect(await (await get("/")).text()).not.toContain(src);
});

test("an internal error is reported to the process, not to the caller", async () => {
  const warned: string[] = [];
  const store = memoryStore();
  const broken = { ...store, list: () => Promise.reject(new Error("/secret/path with password")) };
  const { api } = await started({ store: broken, warn: (message) => warned.push(message) });
  const { status, body } = await api.get("/threads");
  expect(status).toBe(500);
  expect(body.error.code).toBe("internal");
  expect(JSON.stringify(body)).not.toContain("secret");
  expect(warned.join()).toContain("/secret/path");
});

test("HEAD is GET without a body, and an event stream does not stay open for it", async () => {
  const { api } = await started();
  const id = await api.newThread();
  for (const path of ["/info", `/threads/${id}/events`]) {
    const response = await fetch(`${api.origin}/api${path}`, { method: "HEAD", headers: api.headers });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  }
});

test("a port in use says which, and how to choose another", async () => {
  const { studio } = await started();
  const again = startStudio({ port: studio.port, store: memoryStore() });
  await expect(again).rejects.toMatchObject({
    code: "port_in_use",
    message: expect.stringContaining(String(studio.port)),
  });
});

test("a handler can be mounted in a server of one's own", async () => {
  const handle = await studioHandler({ store: memoryStore(), agent: demoAgent(), ui: "/nowhere", token: TOKEN });
  onTestFinished(() => handle.stop());
  const url = "https://studio.example/api/info";
  expect((await handle(new Request(url))).status).toBe(401);
  expect((await handle(new Request(url, { headers: { authorization: `Bearer ${TOKEN}` } }))).status).toBe(200);
  const page = await handle(new Request("https://studio.example/"));
  expect(await page.text()).toContain("the page was not built");
  await expect(studioHandler({ store: memoryStore(), token: "short" })).rejects.toMatchObject({
    code: "invalid_options",
  });
});

test("a stopped Studio ends its streams and refuses requests", async () => {
  const { studio, api } = await started();
  const id = await api.newThread();
  const events = await api.events(`/threads/${id}/events`);
  await events.next();
  await studio.stop();
  while ((await events.next()) !== undefined);
  expect(events.told.map(({ event }) => event)).toEqual(["thread"]);
  await expect(clientOf(studio).get("/info")).rejects.toThrow();
});
