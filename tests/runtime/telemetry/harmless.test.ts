import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, test } from "vitest";
import { openTelemetry } from "../../../src/runtime/telemetry/open-telemetry.ts";
import { guardTelemetry, noTelemetry, type Telemetry } from "../../../src/runtime/telemetry/telemetry.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { KeptContext } from "./support/kept-context.ts";
import { recorder } from "./support/recorder.ts";
import { answer, asked, completed, llmStream, outcome, scene, toolExec } from "./support/scene.ts";

const failure = { code: "model_error", message: "No." };
const range = { fromSeq: 0, toSeq: 1, messages: [] };

/** The calls of a run, as executors make them; what their work gave. */
async function run(telemetry: Telemetry): Promise<readonly unknown[]> {
  const at = scene({ redact: false });
  const { traceparent } = telemetry.ask?.({ requestId: asked.requestId }, at) ?? {};
  const request = telemetry.request({ ...asked, traceparent: traceparent ?? telemetry.traceparent?.() }, at);
  const model = telemetry.model(llmStream(), at);
  model.sending({ messages: [], settings: {} });
  model.received?.();
  const said = await model.within(() => Promise.resolve("said"));
  model.answered(answer);
  telemetry.model(llmStream(), at).failed(failure);
  const tool = telemetry.tool(toolExec(), at);
  const done = await tool.within(() => Promise.resolve("done"));
  tool.ended(outcome());
  const summary = telemetry.summary({ range, requestId: asked.requestId }, at);
  const told = await summary.within(() => Promise.resolve("told"));
  summary.answered(answer);
  summary.ended();
  telemetry.summary({ range }, at).failed(failure);
  request.event(completed);
  request.suspended();
  return [said, done, told];
}

function broken(): never {
  throw new Error("the tracer is broken");
}

/** A span of which one method throws. */
function spanWithout(method: string): ReturnType<ReturnType<typeof trace.getTracer>["startSpan"]> {
  const span = trace.getTracer("nobody listens").startSpan("");
  return new Proxy(span, { get: (target, name) => (name === method ? broken : Reflect.get(target, name)) });
}

describe("telemetry that breaks", () => {
  test.each(["spanContext", "setAttributes", "addEvent", "setStatus", "end"])(
    "by span.%s changes nothing for the run",
    async (method) => {
      const tracer = { startSpan: () => spanWithout(method) };
      expect(await run(await openTelemetry({ tracer }))).toEqual(["said", "done", "told"]);
    },
  );

  test("by a tracer that starts no span changes nothing for the run", async () => {
    expect(await run(await openTelemetry({ tracer: { startSpan: broken } }))).toEqual(["said", "done", "told"]);
  });

  test("by a meter, or by what it makes, changes nothing for the run, and spans still end", async () => {
    const record = await recorder({ meter: { createHistogram: broken } });
    expect(await run(record.telemetry)).toEqual(["said", "done", "told"]);
    const other = await recorder({ meter: { createHistogram: () => ({ record: broken }) } });
    expect(await run(other.telemetry)).toEqual(["said", "done", "told"]);
    expect(other.spans().map(({ name }) => name)).toContain("invoke_agent support");
  });

  test("in every one of its words changes nothing for the run", async () => {
    const words = {
      within: broken,
      sending: broken,
      received: broken,
      answered: broken,
      failed: broken,
      ended: broken,
    };
    const parts = { request: () => ({ event: broken, suspended: broken }) };
    const mute: Telemetry = {
      ...parts,
      ask: broken,
      traceparent: broken,
      model: () => words,
      tool: () => words,
      summary: () => words,
    };
    expect(await run(guardTelemetry(mute))).toEqual(["said", "done", "told"]);
  });

  test("around a work leaves it what it was: done once, with its own outcome", async () => {
    for (const within of rude) {
      const telemetry = guardTelemetry({ ...noTelemetry, tool: () => ({ within, ended: () => undefined }) });
      let times = 0;
      const tool = telemetry.tool(toolExec(), scene());
      const work = async (): Promise<string> => {
        times += 1;
        return "done";
      };
      expect(await tool.within(work)).toBe("done");
      expect(times).toBe(1);
      const failing = tool.within(() => Promise.reject(new Error("of the work")));
      await expect(failing).rejects.toThrow("of the work");
      const throwing = tool.within(() => {
        throw new Error("at once");
      });
      await expect(throwing).rejects.toThrow("at once");
    }
  });
});

type Within = ReturnType<Telemetry["tool"]>["within"];

/** Ways to be around a work that nobody should have. */
const rude: readonly Within[] = [
  (work) => work(),
  () => broken(),
  (work) => {
    void work();
    return broken();
  },
  async (work) => {
    await Promise.all([work(), work()]);
    return broken();
  },
];

describe("what the work traces itself", () => {
  afterEach(() => context.disable());

  test("belongs below the span of the work", async () => {
    context.setGlobalContextManager(new KeptContext());
    const record = await recorder();
    const at = scene();
    const request = record.telemetry.request(asked, at);
    const tool = record.telemetry.tool(toolExec(), at);
    const active = await tool.within(async () => {
      await Promise.resolve();
      return trace.getActiveSpan()?.spanContext().spanId;
    });
    tool.ended(outcome());
    request.event(completed);
    expect(active).toBe(record.span("execute_tool weather").spanContext().spanId);
  });

  test("and the request belongs below what its caller was doing", async () => {
    context.setGlobalContextManager(new KeptContext());
    const record = await recorder();
    const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
    const request = context.with(trace.setSpanContext(ROOT_CONTEXT, caller), () =>
      record.telemetry.request(asked, scene()),
    );
    request.event(completed);
    expect(record.span("invoke_agent support").parentSpanContext?.spanId).toBe(caller.spanId);
  });
});

describe("without the package", () => {
  test("the error says what to install", async () => {
    const missing = openTelemetry({}, () => Promise.reject(new Error("Cannot find package")));
    await expect(missing).rejects.toMatchObject({
      code: "telemetry_missing",
      message: expect.stringContaining("npm install @opentelemetry/api@1"),
    });
    await expect(missing).rejects.toBeInstanceOf(HeddleError);
  });

  test("or with another than the one that is meant, the error says so", async () => {
    const another = openTelemetry({}, () => Promise.resolve({ trace: {} }));
    await expect(another).rejects.toMatchObject({ code: "telemetry_missing" });
  });

  test("a provider that is not registered is not called", async () => {
    expect(await run(await openTelemetry())).toEqual(["said", "done", "told"]);
  });
});
