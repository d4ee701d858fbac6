import { expect, test } from "vitest";
import { systemRuntimePorts } from "../../src/runtime/ports.ts";
import { eventStream, type StreamMessage } from "../../src/studio/live/event-stream.ts";

const message: StreamMessage = { event: "ready", data: {} };

/** Timers that ring when the test says so. */
function timers() {
  const waiting = new Set<() => void>();
  const after = (_ms: number, run: () => void) => {
    waiting.add(run);
    return () => void waiting.delete(run);
  };
  return { waiting, ports: { ...systemRuntimePorts, after } };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("no producer runs ahead of a slow reader", async () => {
  let sent = 0;
  const { body } = eventStream({ ports: timers().ports, signals: [], open: new Set() }, [
    async (send, signal) => {
      while (!signal.aborted && sent < 10_000) {
        sent += 1;
        await send(message);
      }
    },
  ]);
  await settled();
  expect(sent).toBeLessThan(100);
  const reader = body?.getReader();
  for (let read = 0; read < 500; read++) await reader?.read();
  await settled();
  expect(sent).toBeGreaterThanOrEqual(500);
  expect(sent).toBeLessThan(600);
  await reader?.cancel();
  const then = sent;
  await settled();
  expect(sent).toBeLessThanOrEqual(then + 1);
});

test("what is silent says that it is still there, and its timer ends with it", async () => {
  const { waiting, ports } = timers();
  const gone = new AbortController();
  const { body } = eventStream({ ports, signals: [gone.signal], open: new Set() }, []);
  const reader = body?.getReader();
  const text = async () => new TextDecoder().decode((await reader?.read())?.value as Uint8Array);
  expect(await text()).toBe("retry: 1000\n\n");
  for (const ring of [...waiting]) ring();
  expect(await text()).toBe(": still here\n\n");
  gone.abort();
  expect((await reader?.read())?.done).toBe(true);
  expect(waiting.size).toBeLessThanOrEqual(1);
  for (const ring of [...waiting]) ring();
  expect((await reader?.read())?.done).toBe(true);
});

test("a stream whose maker fails ends, so that the reader connects again", async () => {
  const { body } = eventStream({ ports: timers().ports, signals: [], open: new Set() }, [
    () => Promise.reject(new Error("store gone")),
  ]);
  const reader = body?.getReader();
  await reader?.read();
  expect((await reader?.read())?.done).toBe(true);
});

test("a signal that was aborted before gives a stream that has ended", async () => {
  const { body } = eventStream({ ports: timers().ports, signals: [AbortSignal.abort()], open: new Set() }, []);
  const reader = body?.getReader();
  expect((await reader?.read())?.done).toBe(true);
});

test("a reader that reads nothing for a long time loses its stream, and its place is free", async () => {
  const { waiting, ports } = timers();
  const open = new Set<AbortController>();
  const { body } = eventStream({ ports, signals: [], open }, [
    async (send, signal) => {
      while (!signal.aborted) await send(message);
    },
  ]);
  await settled();
  for (let beats = 0; beats < 9; beats++) {
    expect(open.size).toBe(1);
    for (const ring of [...waiting]) {
      waiting.delete(ring);
      ring();
    }
  }
  expect([open.size, waiting.size]).toEqual([0, 0]);
  const reader = body?.getReader();
  while ((await reader?.read())?.done === false); // what was sent before arrives
});
