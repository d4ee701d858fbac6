import { request as httpRequest } from "node:http";
import { memoryStore } from "heddle";
import { demoAgent, startStudio, studioHandler } from "heddle/studio";
import { expect, onTestFinished, test } from "vitest";
import { clientOf, started } from "./support/client.ts";

const TOKEN = "a-token-of-our-own";

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
    raw(`${api.origin}/api/threads`, "POST", { ...api.headers, ...headers }, "{}");
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
    fetch(`${api.origin}/api/enter`, { method: "POST", body: JSON.stringify({ code: given }) });
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

test("an address that others can reach asks for the token too", async () => {
  const studio = await startStudio({ host: "0.0.0.0", port: 0, store: memoryStore(), agent: demoAgent(), ui: false });
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
    headers: api.headers,
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
