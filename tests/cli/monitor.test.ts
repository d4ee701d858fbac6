import { faultStore } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { type LogLine, monitorOf } from "../../src/cli/serve/monitor.ts";
import { noTelemetry } from "../../src/runtime/telemetry/telemetry.ts";
import { agentOf, anything, careful, house, PAY } from "../runtime/host/support/hosts.ts";
import { asked, event, outcome, scene, toolExec } from "../runtime/telemetry/support/scene.ts";

/** A monitor that has counted and logged nothing yet. */
function monitored() {
  const lines: LogLine[] = [];
  let ms = 0;
  const monitor = monitorOf(
    (line) => void lines.push(line),
    () => ms,
  );
  const counted = (name: string): readonly string[] =>
    monitor
      .metrics({})
      .split("\n")
      .filter((line) => line.startsWith(name));
  const pass = (more: number): void => {
    ms += more;
  };
  return { telemetry: monitor.telemetry(noTelemetry), lines, counted, pass };
}

const names = { agent: "support", threadId: "thread_1", requestId: "req_1" } as const;

describe("the log and the counters of heddle serve", () => {
  test("warn of a call that another process began and no process ended, by its names", () => {
    const { telemetry, lines, counted } = monitored();
    const request = telemetry.request(asked, scene());
    const tool = { callId: "call_1", toolCallId: "tool_1", toolName: "weather" };
    request.event(event({ kind: "tool_interrupted", ...tool, data: {} }));
    expect(lines.at(-1)).toEqual({
      ...{ level: "warn", event: "tool_interrupted", ...names },
      ...{ toolCallId: "tool_1", toolName: "weather" },
    });
    expect(counted("heddle_tool_calls_total")).toEqual([
      'heddle_tool_calls_total{agent="support",result="interrupted"} 1',
    ]);
  });

  test("count calls of tools by their result", () => {
    const { telemetry, counted } = monitored();
    const failure = { code: "tool_failed", message: "No." };
    telemetry.tool(toolExec(), scene()).ended(outcome());
    telemetry.tool(toolExec(), scene()).ended(outcome({ isError: true, failure }));
    expect(counted("heddle_tool_calls_total")).toEqual([
      'heddle_tool_calls_total{agent="support",result="completed"} 1',
      'heddle_tool_calls_total{agent="support",result="failed"} 1',
    ]);
  });

  test("have a call of a process that was killed in the middle of it", async () => {
    const { telemetry, lines, counted } = monitored();
    const on = await house();
    const dying = faultStore(on.store, { plan: () => undefined });
    const charge = { inputSchema: anything, execute: () => new Promise<string>(() => undefined) };
    const call = { calls: [{ id: "tool_1", name: "charge" }] };
    const killed = on.host({ agent: agentOf([call], { tools: { charge } }), store: dying, holder: "one" });
    const { id } = await on.end(killed.ask("thread_1", "Charge."));
    await on.settled();
    dying.crash();
    const next = on.host({ agent: agentOf(["Done."], { tools: { charge } }), holder: "two", telemetry });
    next.work();
    await on.pass(13_000);
    expect(lines.filter(({ level }) => level !== "info")).toEqual([
      {
        ...{ level: "warn", event: "tool_interrupted", agent: "agent", threadId: "thread_1", requestId: id },
        ...{ toolCallId: "tool_1", toolName: "charge" },
      },
    ]);
    expect(lines.at(-1)).toMatchObject({ event: "request_completed", requestId: id });
    expect(counted("heddle_tool_calls_total")).toEqual([
      'heddle_tool_calls_total{agent="agent",result="interrupted"} 1',
    ]);
    await on.end(next.stop());
  });

  test("have a request that waits once, however often its thread is released", async () => {
    const { telemetry, lines, counted } = monitored();
    const on = await house();
    const { agent } = careful([PAY, "Paid."]);
    const host = on.host({ agent, idleMs: 10, telemetry });
    const { id } = await on.end(host.ask("thread_1", "Pay."));
    await on.pass(60_000);
    expect(await on.isFree("thread_1")).toBe(true);
    expect(lines.map(({ event, requestId }) => [event, requestId])).toEqual([
      ["request_started", id],
      ["request_waiting", id],
    ]);
    expect([...counted("heddle_requests_total"), ...counted("heddle_request_seconds")]).toEqual([]);
    await on.end(host.approve("thread_1", "call_p"));
    await on.pass(60_000);
    expect(lines.at(-1)).toMatchObject({ event: "request_completed", requestId: id });
    expect(counted("heddle_requests_total")).toEqual(['heddle_requests_total{agent="agent",result="completed"} 1']);
    await on.end(host.stop());
  });

  test("count a running request that its process hands over", async () => {
    const { telemetry, lines, counted } = monitored();
    const on = await house();
    const wait = { inputSchema: anything, execute: () => new Promise<string>(() => undefined) };
    const agent = agentOf([{ calls: [{ name: "wait" }] }], { tools: { wait } });
    const host = on.host({ agent, telemetry });
    await on.end(host.ask("thread_1", "Wait."));
    await on.settled();
    await on.end(host.stop({ graceMs: 0 }));
    expect(lines.filter(({ event }) => event.startsWith("request_")).at(-1)).toMatchObject({
      event: "request_suspended",
    });
    expect(counted("heddle_requests_total")).toEqual(['heddle_requests_total{agent="agent",result="suspended"} 1']);
  });
});
