import { expect, test } from "vitest";
import { type Spied, spied } from "../support/spied-store.ts";
import { anything, proveAll, type Stage, stage } from "../support/stage.ts";

async function watched(): Promise<{ readonly on: Stage; readonly spy: Spied }> {
  const spies: Spied[] = [];
  const on = await stage({
    around: (store) => {
      spies.push(spied(store));
      return spies[0]?.store ?? store;
    },
  });
  const [spy] = spies;
  if (spy === undefined) throw new Error("no spy");
  return { on, spy };
}

test("an ask is durable before the model is called, an answer before its tools run, results before the next call", async () => {
  const { on, spy } = await watched();
  const { journal } = spy;
  const look = { inputSchema: anything, execute: ({ at }: { at: string }) => void journal.push(`look ${at} runs`) };
  const script = [
    () => {
      journal.push("model 1");
      return {
        calls: [
          { name: "look", arguments: { at: "x" } },
          { name: "look", arguments: { at: "y" } },
        ],
      };
    },
    () => {
      journal.push("model 2");
      return "Seen.";
    },
  ];
  const server = await on.start({ script, tools: { look } });
  const { result } = await server.ask("Look.");
  await on.end(result);
  expect(journal.filter((line) => line !== "putBlob")).toEqual([
    "ask Look.",
    "model 1",
    "calls call_1,call_2",
    "look x runs",
    "look y runs",
    "result call_1",
    "result call_2",
    "model 2",
    "says Seen. end:completed",
  ]);
  const names = (line: string) => journal.indexOf(line);
  expect(names("putBlob")).toBeLessThan(names("calls call_1,call_2"));
  expect(journal.filter((line) => line === "putBlob")).toHaveLength(2);
  expect(await proveAll(on.store, on.threadId)).toBe(2);
});

test("a request to the model that was changed is kept before its answer is recorded", async () => {
  const { on, spy } = await watched();
  const server = await on.start({
    script: ["Hi."],
    transformRequest: ({ messages }) => ({ messages: [...messages, { role: "user", content: "psst" }] }),
  });
  const { result } = await server.ask("Hello.");
  await on.end(result);
  expect(spy.journal).toEqual(["ask Hello.", "putBlob", "putBlob", "putBlob", "says Hi. end:completed"]);
  expect(await proveAll(on.store, on.threadId)).toBe(1);
});

test("an operation that has to wait is a row before its caller is answered", async () => {
  const { on, spy } = await watched();
  const server = await on.start({ script: [{ text: "Hi.", delayMs: 50 }] });
  const { result } = await server.ask("Hello.");
  const answer = await on.end(server.reset());
  spy.journal.push("answered");
  expect(answer.status).toBe("deferred");
  await on.end(result);
  expect(await on.end(answer.settled)).toEqual({ status: "applied" });
  expect(spy.journal.filter((line) => line !== "putBlob")).toEqual([
    "ask Hello.",
    "post",
    "answered",
    "says Hi. end:completed",
    "ai_context_operation",
  ]);
});
