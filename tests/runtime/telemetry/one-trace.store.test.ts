import { context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { type AnyTool, memoryStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { ScriptedStep } from "heddle/testing";
import { afterEach, describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { eventsOf, failureOf, type Stage, stage } from "../support/stage.ts";
import { KeptContext } from "./support/kept-context.ts";
import { type Recorder, recorder } from "./support/recorder.ts";

const NODE = { holder: "node" };
const ROOT = "invoke_agent agent";
const caller = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
const calls: ScriptedStep = { calls: [{ name: "pay", arguments: {} }] };
const pay: AnyTool = { inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" };

/** Runs in the context of a caller, whose span belongs to another system. */
function fromCaller<Result>(run: () => Result): Result {
  context.setGlobalContextManager(new KeptContext());
  return context.with(trace.setSpanContext(ROOT_CONTEXT, caller), run);
}

function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}

const traceOf = (span: ReadableSpan): string => span.spanContext().traceId;
const parentIn = (record: Recorder, name: string) => record.span(name).parentSpanContext;

function rootOf(record: Recorder, requestId: string): ReadableSpan | undefined {
  const roots = record.spans().filter(({ name }) => name === ROOT);
  return roots.find(({ attributes }) => attributes["heddle.request.id"] === requestId);
}

async function storedTraces(on: Stage): Promise<readonly unknown[]> {
  return (await on.log()).flatMap(({ payload }) => {
    const options = (payload as { readonly options?: { readonly traceparent?: string } }).options;
    return options === undefined ? [] : [options.traceparent];
  });
}

afterEach(() => context.disable());

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("a request on %s", (_name, open) => {
  test("that waits for approval is one trace with the process that resumes it after a stop", async () => {
    const on = await stage({ store: open() });
    const [before, after] = [await recorder(), await recorder()];
    const first = await on.start({ script: [calls], tools: { pay } }, { telemetry: before.telemetry });
    const request = await on.end(first.ask("Pay."));
    await on.end(eventsOf(request, { until: "waiting" }));
    await on.end(first.stop());
    const root = before.span(ROOT);
    expect(await storedTraces(on)).toEqual([traceparentOf(root)]);

    const second = await on.start({ script: ["Paid."], tools: { pay } }, { telemetry: after.telemetry });
    const [call] = await on.end(second.waiting());
    await on.end(second.approve(call?.toolCallId ?? ""));
    expect((await on.end(second.result(request.id))).text).toBe("Paid.");
    expect(parentIn(after, ROOT)).toMatchObject({ spanId: root.spanContext().spanId, isRemote: true });
    expect(new Set([...before.spans(), ...after.spans()].map(traceOf))).toEqual(new Set([traceOf(root)]));
    const resumed = after.span(ROOT).spanContext().spanId;
    expect(after.spans().map(({ name }) => name)).toEqual(["execute_tool pay", "chat scripted-model", ROOT]);
    expect(parentIn(after, "execute_tool pay")?.spanId).toBe(resumed);
    await on.end(second.stop());
  });

  test("keeps its trace when its process is killed, in every process after it", async () => {
    const on = await stage({ store: open() });
    const records = [await recorder(), await recorder(), await recorder()] as const;
    const [first, second, third] = records.map(({ telemetry }) => ({ ...NODE, telemetry }));
    const killed = await on.start({ script: [{ hang: true }] }, first);
    const { id } = await on.end(fromCaller(() => killed.ask("Go.")));
    await on.start({ script: [{ hang: true }] }, second);
    await on.settled();
    const last = await on.start({ script: ["Done."] }, third);
    await on.end(last.result(id));
    const [stored] = await storedTraces(on);
    const [, traceId, spanId] = String(stored).split("-");
    expect(traceId).toBe(caller.traceId);
    expect(spanId).not.toBe(caller.spanId);
    expect(parentIn(records[2], ROOT)).toMatchObject({ traceId, spanId });
    await on.end(last.stop());
  });

  test("that waits in the queue belongs to its caller's trace, also in the process that takes it", async () => {
    const on = await stage({ store: open() });
    const [before, after] = [await recorder(), await recorder()];
    const queue = { busy: "queue", script: [{ hang: true }, "Here."] } as const;
    const first = await on.start(queue, { telemetry: before.telemetry });
    const running = await on.end(first.ask("Go."));
    const here = fromCaller(() => first.ask("Here?", { requestId: "here" }));
    await on.settled();
    await on.end(first.cancel(running.id));
    await on.end((await on.end(here)).result);
    expect(rootOf(before, running.id)?.parentSpanContext).toBeUndefined();
    expect(rootOf(before, "here")?.parentSpanContext).toMatchObject(caller);

    const second = await on.start(queue, { telemetry: (await recorder()).telemetry, threadId: "other" });
    await on.end(second.ask("Go."));
    const there = failureOf(fromCaller(() => second.ask("There?", { requestId: "there" })));
    await on.settled();
    await on.end(second.stop());
    expect((await there).code).toBe("request_suspended");
    const third = await on.start(
      { ...queue, script: ["Went.", "There."] },
      { telemetry: after.telemetry, threadId: "other" },
    );
    await on.end(third.result("there"));
    expect(rootOf(after, "there")?.parentSpanContext).toMatchObject(caller);
    await on.end(third.stop());
  });
});

describe("the trace of a request", () => {
  test("is its own without a caller, and the next request has another", async () => {
    const on = await stage();
    const record = await recorder();
    const server = await on.start({ script: ["One.", "Two."] }, { telemetry: record.telemetry });
    await on.end((await on.end(server.ask("1?"))).result);
    await on.end((await on.end(server.ask("2?"))).result);
    const roots = record.spans().filter(({ name }) => name === ROOT);
    expect(roots.map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined, undefined]);
    expect(await storedTraces(on)).toEqual(roots.map(traceparentOf));
    expect(new Set(roots.map(traceOf)).size).toBe(2);
  });

  test("of one that continues another is that of its caller", async () => {
    const on = await stage();
    const record = await recorder();
    const server = await on.start({ script: [{ error: { status: 401 } }, "Done."] }, { telemetry: record.telemetry });
    const failed = await on.end(server.ask("Go."));
    await failureOf(on.end(failed.result));
    const next = await on.end(fromCaller(() => server.continueRequest(failed.id)));
    await on.end(next.result);
    const [before, after] = record.spans().filter(({ name }) => name === ROOT);
    expect(before && traceOf(before)).not.toBe(caller.traceId);
    expect(after?.parentSpanContext).toMatchObject(caller);
    expect(await storedTraces(on)).toEqual([before, after].map((span) => span && traceparentOf(span)));
  });

  test("does not exist without telemetry, or without a registered SDK", async () => {
    const { openTelemetry } = await import("heddle");
    for (const telemetry of [undefined, await openTelemetry()]) {
      const on = await stage();
      const server = await on.start({ script: ["Done."] }, { telemetry });
      await on.end((await on.end(server.ask("Go."))).result);
      expect(await storedTraces(on)).toEqual([]);
    }
  });

  test("of a refused ask is exported nowhere", async () => {
    const on = await stage();
    const record = await recorder();
    const tiny = { contextPolicy: { maxInputTokens: 300, reserveOutputTokens: 0 } };
    const server = await on.start({ script: ["Done."], ...tiny }, { telemetry: record.telemetry });
    const { code } = await failureOf(on.end(server.ask("word ".repeat(2000))));
    expect(code).toBe("pending_overflow");
    expect(record.spans()).toEqual([]);
    await on.end((await on.end(server.ask("Go."))).result);
    expect(record.spans().map(({ name }) => name)).toEqual(["chat scripted-model", ROOT]);
  });

  test("of a telemetry object that gives no valid traceparent is left out", async () => {
    const on = await stage();
    const { noTelemetry } = await import("../../../src/runtime/telemetry/telemetry.ts");
    const telemetry = { ...noTelemetry, traceparent: () => "Ada", ask: () => ({ traceparent: "00-0-0-00" }) };
    const server = await on.start({ script: ["Done."] }, { telemetry });
    await on.end((await on.end(server.ask("Go."))).result);
    expect(await storedTraces(on)).toEqual([]);
  });

  test("of a caller is stored for telemetry that has no spans before the ask", async () => {
    const on = await stage();
    const { noTelemetry } = await import("../../../src/runtime/telemetry/telemetry.ts");
    const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const given: unknown[] = [];
    const request: typeof noTelemetry.request = (of, scene) => {
      given.push(of.traceparent, of.asked, of.input?.());
      return noTelemetry.request(of, scene);
    };
    const server = await on.start(
      { script: ["Done."] },
      { telemetry: { ...noTelemetry, traceparent: () => header, request } },
    );
    await on.end((await on.end(server.ask("Go."))).result);
    expect(await storedTraces(on)).toEqual([header]);
    expect(given).toEqual([header, undefined, "Go."]);
  });
});
