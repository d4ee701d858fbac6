import { expect, test } from "vitest";
import { type Child, startChild } from "../../support/child.ts";
import { fastFile } from "../../support/temp-folder.ts";

const PAY = { calls: [{ id: "call_p", name: "pay" }] };

type Said = readonly [string, ...string[]];

function worker(path: string, script: readonly unknown[], ...agents: readonly string[]) {
  const url = new URL("./support/worker.ts", import.meta.url);
  const child: Child = startChild(url, path, JSON.stringify(script), ...agents);
  const said = (): readonly Said[] => child.lines.map((line) => JSON.parse(line) as Said);
  return {
    child,
    tell: (...command: readonly string[]) => child.tell(JSON.stringify(command)),
    /** The last line that begins so; waits until so many have come. */
    async hears(...words: Said): Promise<Said> {
      for (let count = 1; ; count++) {
        const found = said().findLast((line) => words.every((word, index) => line[index] === word));
        if (found !== undefined) return found;
        await child.wrote(Math.max(count, said().length + 1));
        if (count > 200) throw new Error(`Never heard ${words.join(" ")}: ${child.lines.join("\n")}`);
      }
    },
    said,
  };
}

test("approved by token in a process that the thread was never in, after the one that asked was killed", async () => {
  const path = fastFile();
  const first = worker(path, [PAY]);
  first.tell("ask", "thread_1", "Pay");
  const [, token = ""] = await first.hears("waiting");
  await first.child.kill();
  const second = worker(path, ["Paid."]);
  second.tell("approve", token, "call_p");
  await second.hears("did", "approve");
  await second.hears("ran");
  second.tell("resume", "thread_1");
  expect((await second.hears("did", "resume"))[2]).toMatch(/^(Paid\.|nothing)$/);
  second.tell("approve", token, "call_p");
  expect((await second.hears("failed", "approve"))[2]).toBe("token_superseded");
  second.tell("stop");
  await second.child.ended;
  expect(second.said().filter(([word]) => word === "ran")).toHaveLength(1);
});

test("a thread that waits reads the same in the process that holds it and in another one", async () => {
  const path = fastFile();
  const first = worker(path, [PAY, "Paid."]);
  first.tell("ask", "thread_1", "Pay");
  await first.hears("waiting");
  first.tell("read", "thread_1");
  const [, , live = ""] = await first.hears("did", "read");
  const second = worker(path, []);
  second.tell("read", "thread_1");
  const [, , read = ""] = await second.hears("did", "read");
  expect(JSON.parse(read)).toEqual(JSON.parse(live));
  expect(JSON.parse(live)).toMatchObject({ waiting: [{ toolCallId: "call_p", kind: "approval" }], explained: [{}] });
  second.tell("approve", "thread_1", "call_p"); // the first one still holds the thread
  expect(await first.hears("completed")).toEqual(["completed", "Paid."]);
  for (const { tell, child } of [first, second]) {
    tell("stop");
    await child.ended;
  }
});

test("approved from another process while the one that asked is waiting: that one acts", async () => {
  const path = fastFile();
  const first = worker(path, [PAY, "Paid."]);
  first.tell("ask", "thread_1", "Pay");
  await first.hears("waiting");
  const second = worker(path, []);
  await second.hears("ready");
  second.tell("approve", "thread_1", "call_p");
  await second.hears("did", "approve");
  expect(await first.hears("completed")).toEqual(["completed", "Paid."]);
  expect([first, second].map(({ said }) => said().filter(([word]) => word === "ran").length)).toEqual([1, 0]);
  for (const { tell, child } of [first, second]) {
    tell("stop");
    await child.ended;
  }
});

test("what is set in a process that is killed holds in the next one, also what is set while a request waits", async () => {
  const path = fastFile();
  const first = worker(path, [{ expect: { system: "Be A.", tools: ["pay", "find"] }, ...PAY }]);
  first.tell("prompt", "thread_1", "Be A.");
  expect(await first.hears("did", "prompt")).toEqual(["did", "prompt", "applied"]);
  first.tell("register", "thread_1", "find");
  expect(await first.hears("did", "register")).toEqual(["did", "register", "applied"]);
  first.tell("ask", "thread_1", "Pay");
  const [, token = ""] = await first.hears("waiting");
  first.tell("prompt", "thread_1", "Be B.");
  await first.hears("did", "prompt", "deferred");
  await first.child.kill();
  const expected = ["Be A.", "Be B."].map((system) => ({ expect: { system, tools: ["pay", "find"] }, text: system }));
  const second = worker(path, expected);
  second.tell("approve", token, "call_p");
  await second.hears("did", "approve");
  second.tell("resume", "thread_1");
  expect((await second.hears("did", "resume"))[2]).toMatch(/^(Be A\.|nothing)$/);
  second.tell("ask", "thread_1", "And now?");
  expect(await second.hears("completed", "Be B.")).toEqual(["completed", "Be B."]);
  second.tell("stop");
  await second.child.ended;
});

test("after a kill the next process finds the agent of a thread in the log, and one of other agents leaves it", async () => {
  const path = fastFile();
  const first = worker(path, [{ hang: true }], "sales,support");
  first.tell("ask", "thread_1", "Hi", "support");
  await first.hears("asked");
  await first.child.kill();
  const others = worker(path, ["No."], "sales,legal");
  others.tell("work");
  await others.hears("did", "work");
  others.tell("ask", "thread_1", "Hi");
  expect(await others.hears("failed", "ask")).toEqual(["failed", "ask", "unknown_agent"]);
  const second = worker(path, ["Support here.", "Again."], "sales,support");
  second.tell("work");
  await second.hears("did", "work");
  second.tell("resume", "thread_1");
  await second.hears("did", "resume");
  second.tell("ask", "thread_1", "Hi", "sales");
  expect(await second.hears("failed", "ask")).toEqual(["failed", "ask", "agent_mismatch"]);
  second.tell("ask", "thread_1", "Hi");
  expect(await second.hears("completed")).toEqual(["completed", "Again."]);
  for (const { tell, child } of [others, second]) {
    tell("stop");
    await child.ended;
  }
});
