import { openApi } from "heddle/studio";
import { expect, test } from "vitest";
import { ROUTES } from "../../src/studio/routes/routes.ts";
import { type Body, started } from "./support/client.ts";

const document = openApi() as Body;
const documented = Object.entries<Body>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Body>(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

test("every route is documented, and every documented one is there", () => {
  const name = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`;
  expect(documented.map(name).sort()).toEqual(ROUTES.map(name).sort());
});

test("what is documented answers, with an error of ours where the thread is not there", async () => {
  const { api } = await started();
  const bodies: { readonly [path: string]: object } = {
    ask: { content: "Hi" },
    steer: { content: "Hi" },
    approve: { toolCallId: "c" },
    deny: { toolCallId: "c" },
    answer: { toolCallId: "c", output: 1 },
    context: { operation: {} },
    fork: { atSeq: 0 },
  };
  for (const { path, method } of documented.filter(({ path }) => path.includes("{id}"))) {
    const url = path.replace("/api", "").replace("{id}", "thread_none").replace("{callId}", "call_none");
    const query = path.endsWith("/wire") ? "?provider=anthropic" : path.endsWith("/diff") ? "?a=x&b=y" : "";
    const body = bodies[path.split("/").at(-1) ?? ""] ?? {};
    const { status, body: said } =
      method === "GET"
        ? await api.get(url + query)
        : method === "POST"
          ? await api.post(url, body)
          : await api.delete(url);
    expect([path, status, said.error.code]).toEqual([path, 404, "thread_not_found"]);
  }
});

test("the document is OpenAPI 3.1 whose references lead somewhere and whose operations have names of their own", async () => {
  const { api } = await started();
  expect((await api.get("/openapi.json")).body).toEqual(document);
  expect(document.openapi).toBe("3.1.0");
  const refs = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = ""]) => name);
  expect(refs.filter((name) => document.components.schemas[name] === undefined)).toEqual([]);
  const ids = documented.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, operation } of documented) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const given = operation.parameters.filter((one: Body) => one.in === "path").map((one: Body) => one.name);
    expect(given).toEqual(names);
  }
});
