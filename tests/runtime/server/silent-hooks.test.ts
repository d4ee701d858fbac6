import { jsonSchema, type Tools } from "heddle";
import { describe, expect, test } from "vitest";
import { anything, eventsOf, expectWhole, failureOf, stage, told } from "../support/stage.ts";

const never = (): Promise<never> => new Promise(() => undefined);
const hookTimeoutMs = 2_000;

describe("a function of the caller that never answers", () => {
  test("as transformRequest fails the request with its code", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Hi."], transformRequest: never, hookTimeoutMs });
    const request = await on.end(server.ask("Hello."));
    const error = await failureOf(on.end(request.result));
    expect(error.failure?.code).toBe("request_transform_failed");
    expect(error.failure?.message).toContain("within 2000 ms");
    expect(error.failure?.message).toContain("hookTimeoutMs");
    expectWhole(await eventsOf(request));
  });

  test("as system prompt refuses the ask and leaves the thread as it was", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Hi."], systemPrompt: never, hookTimeoutMs });
    const error = await failureOf(on.end(server.ask("Hello.")));
    expect(error.code).toBe("system_prompt_failed");
    expect(error.message).toContain("within 2000 ms");
    expect(await on.log()).toEqual([]);
  });

  test("as guardTools denies the call, which does not run, and calls onError", async () => {
    const on = await stage();
    const ran: string[] = [];
    const heard: unknown[] = [];
    const pay = { inputSchema: anything, execute: () => void ran.push("pay") };
    const script = [{ calls: [{ id: "p", name: "pay" }] }, "Not paid."];
    const onError = (error: unknown, { code }: { readonly code: string }) => void heard.push([String(error), code]);
    const server = await on.start({ script, tools: { pay }, guardTools: never, hookTimeoutMs }, { onError });
    const request = await on.end(server.ask("Pay."));
    expect((await on.end(request.result)).text).toBe("Not paid.");
    expect(ran).toEqual([]);
    expect(heard).toEqual([[expect.stringContaining("guardTools did not answer"), "tool_denied"]]);
    const result = (await on.log()).find(({ payload }) => "role" in payload && payload["role"] === "tool");
    expect(JSON.stringify(result?.payload)).toContain("did not answer in time");
  });

  test.each([
    ["context", "context_failed"],
    ["tools", "tools_failed"],
  ])("as %s of a server fails the request that is resumed", async (option, code) => {
    const on = await stage();
    const first = await on.start({ script: [{ hang: true }] });
    const { id } = await on.end(first.ask("Hello."));
    await on.end(first.stop({ graceMs: 0 }));
    const second = await on.start({ script: [], hookTimeoutMs }, { [option]: never });
    const error = await failureOf(on.end(second.result(id)));
    expect(error.failure?.code).toBe(code);
    expect(error.failure?.message).toContain("within 2000 ms");
  });

  test("as schema of `output` keeps the answer and fails the request", async () => {
    const on = await stage();
    const output = jsonSchema({ type: "object" }, { validate: never });
    const server = await on.start({ script: ["{}"], output, outputRetries: 0, hookTimeoutMs });
    const error = await failureOf(on.end((await on.end(server.ask("Hello."))).result));
    expect(error.failure?.code).toBe("output_invalid");
    expect(error.failure?.message).toContain("within 2000 ms");
    expect(told(await on.log())).toEqual(["ask Hello.", "says {}", "error end:failed"]);
  });

  test("as schema of a tool fails the start", async () => {
    const on = await stage();
    const slow: Tools = { slow: { inputSchema: jsonSchema(never() as never), execute: () => 1 } };
    const start = on.start({ script: [], tools: slow, hookTimeoutMs });
    await expect(start).rejects.toMatchObject({ code: "tool_schema_unsupported" });
  });

  test("as download fails the ask with the file", async () => {
    const on = await stage();
    const server = await on.start({ script: ["Hi."], download: never, hookTimeoutMs, modelMaxRetries: 0 });
    const file = { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } } as const;
    const request = await on.end(server.ask([{ type: "text", text: "What is it?" }, file]));
    const error = await failureOf(on.end(request.result));
    expect(error.failure?.code).toBe("file_download_failed");
    expect(error.failure?.message).toContain("hookTimeoutMs");
  });

  test("as summarizer leaves the request without a summary, and is aborted", async () => {
    const on = await stage();
    let signal: AbortSignal | undefined;
    const summarizer = {
      summarize: (_range: unknown, options: { readonly signal: AbortSignal }) => {
        signal = options.signal;
        return never();
      },
    };
    const script = ["1.", "2.", "3.", "4."];
    const contextPolicy = { keepLastTurns: 1, autoSummarize: true, summarizeThreshold: 3 };
    const config = { script, summarizer, contextPolicy, streamIdleTimeoutMs: 1_000 };
    const server = await on.start(config);
    const kinds: string[] = [];
    const codes: string[] = [];
    for (const ask of ["One?", "Two?", "Three?", "Four?"]) {
      const request = await on.end(server.ask(ask));
      await on.end(request.result);
      for (const event of await eventsOf(request)) {
        kinds.push(event.kind);
        if (event.kind === "summary_failed") codes.push(event.data.code);
      }
    }
    expect(kinds).toContain("summary_failed");
    expect(new Set(codes)).toEqual(new Set(["summary_timeout"]));
    expect(signal?.aborted).toBe(true);
  });
});

test("a hook that answers in time leaves no timer behind, and its limit is 30 seconds", async () => {
  const on = await stage();
  const slow = (): Promise<object> => new Promise((resolve) => on.ports.after(29_999, () => resolve({})));
  const server = await on.start({ script: ["Hi."], transformRequest: slow });
  const request = await on.end(server.ask("Hello."));
  expect((await on.end(request.result)).text).toBe("Hi.");
});
