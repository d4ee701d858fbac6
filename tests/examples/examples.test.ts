import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { inScratch, mustBeBuilt, root, runScript } from "../docs/built.ts";

/** Everything an example prints. */
const PRINTS: Readonly<Record<string, string>> = {
  "append-and-read": `
appended 4 entries; the thread is at revision 4
the model called add
4 entries belong to request_1
seq 3: assistant said 4
seq 0: user said What's 2+2?
loaded from seq 2 to 3, revision 4`,
  agent: `
add runs
  gave 4
> 2+2 
> is 4.
2+2 is 4. (final_answer, 2 model calls)
the second call saw system, user, assistant, tool; proven: true`,
  agents: `
book waits in the thread of a child
Sun in Rome, and you have seat 12.
the lead made 2 model calls; with its agents it used 36 output tokens
2 threads of children: completed, completed`,
  approval: `
may transfer run? {"to":"Ada","amount":500}
the request is waiting; the process may end
in another process the request is waiting
Done: 500 for Ada.
approved by the boss`,
  messenger: `
3 updates, one of them twice: 1 answer, 2 model calls
user: Is there a discount?
assistant: Ten percent, as we met.
user: Then I take it.
assistant: The table is yours.
> A table for two on Friday, by the window.
> I will.
> Bring the cake.
> The table is yours.`,
  "pick-a-model": `
model_not_found: now acme:small
Hello from the fallback.
Hello from the small one.
Hello from the one that was picked.
reasoning: high
note by acme:large
ai_message by acme:small
ai_message by acme:small
ai_message by acme:thorough`,
  "plan-and-build": `
plan: sum subtracts. Replace the minus.
refused: {"error":{"type":"denied","message":"The call was not approved and did not run: it changes a file, and this is a plan."}}
the file: export const sum = (a, b) => a - b;
rule of build: allow edit
build: Fixed.
the file: export const sum = (a, b) => a + b;
It adds two numbers.
Find out what to do. Change nothing. read edit
Find out what to do. Change nothing. read edit
Find out what to do. Change nothing. read edit
Do what was planned. read edit
Do what was planned. read edit
Do what was planned. read edit`,
  "remembered-approvals": `
Ann approves src/a.ts, and all of src from now on:
  wrote src/a.ts
  wrote src/b.ts
still waiting: {"path":"src/../.env","text":"..."}
Two files are written.
the next request needs no approval:
  wrote src/c.ts
Written, without a question.
rule: allow write {"path":"src/**"}, made by Ann
after the rule was revoked: the request is waiting`,
  "edited-queue": `
while the search runs:
  booking (ask): Book both for Ann.
  weather (ask): How is the weather?
  when (steer): By day.
  class (steer): First class.
  hotel (follow_up): And a hotel?
after the edit:
  booking (ask): Book both for Ann and Bo.
  when (steer): At night.
  hotel (follow_up): And a hotel?
the ask that was taken back: request_cancelled
The Grand is free.
Booked.
ask: Find a train to Oslo.
steer: At night.
follow_up: And a hotel?
ask: Book both for Ann and Bo.`,
  steering: `
steered while the tool runs; accepted: true
delivered as entry 3
The Grand is free.
0 user: Book me a way to Oslo.
1 assistant: (calls a tool)
2 tool: 3 flights
3 user: Take the train instead.
4 assistant: There is a night train.
5 user: And a hotel?
6 assistant: The Grand is free.`,
  "own-loop": `
Moby-Dick.
Herman Melville.
7 messages, 7 entries`,
  "own-steps": `
killed
open: add
run add {"a":2,"b":2}
It is 4.
It is 4.`,
  "short-lived": `
200 It is 4.
200 It is 4.
the model was asked 1 time
killed
200 It is 6.
202 another instance answers`,
  "background-jobs": `
202 accepted
202 accepted
running
completed: Looms, in short.`,
  "coding-agent": `
read: 115000 characters in the log
shell: 102 characters in the log
may edit run? {"path":"loom.ts","old":"warp = 1","new":"warp = 2"}
edit: 4 characters in the log
The warp is 2. export const warp = 2;
the model read 32053 characters of the file`,
  "two-writers": `
north: sold 6
south: expected revision 1, it is 2; loading again
south: only 4 left, not sold
left: 4`,
  watch: `
watch: seq 0: one
watch: seq 1: two
watch: seq 2: three
feed: thread_1 seq 2: three
feed: thread_2 seq 0: elsewhere`,
  claims: `
process-1 holds the thread, epoch 1
process-2 has to wait: held by process-1
process-2 holds the thread, epoch 2
process-1 wakes up and is refused: Epoch 1 of thread thread_1 is over: the claim is at 2 of process-2. Stop, and claim the thread again.
entries written: 1`,
  "own-kinds": `
order 2026-1 over 120
100 paid on order 2026-1
user: The rest follows.
still to pay: 20`,
  project: `
system     Be brief.
user       Is it nicer in Bern or in Oslo?
assistant  weather {"city":"Bern"} (c1), weather {"city":"Oslo"} (c2)
tool       {"sky":"rain"}
tool       {"error":{"type":"interrupted","message":"The call was interrupted; its outcome is unknown."}}
user       Are you still there?
user       And in Rome?

7 messages of 5 entries, 138 tokens
the call of entry 2 was closed, the result of entry 6 left out
the thread is as it was: 7 entries
providers that would refuse it: 0
as OpenAI takes it: system, user, assistant, tool, tool, user, user`,
  "long-loop": `
call 37: the window moves, and now starts at entry 39
call 56: the window moves, and now starts at entry 77
9 moves in 200 calls: 93 % of what is sent stands where it stood the call before
never more than 5969 tokens of 6000, of a thread with 401 entries
the last call sees 66 messages: from entry 337 on, and entry 0
entry 0 is the ask: Which page has the fault?`,
  why: `
 0  message      summarised       covered_by_summary   19
 1  message      summarised       covered_by_summary   13
 2  summary      shown            summary_in_use       30
 3  message      cut              before_window        16
 4  message      cut              before_window        182
 5  message      shown            head_of_cut_request  15
 6  tool_call    cut              before_window        16
 7  tool_result  cut              before_window        84
 8  tool_call    shown            in_window            16
 9  tool_result  shown            in_window            84
10  note         not_projectable  kind_not_included    0
11  tool_call    repaired         call_interrupted     53
12  tool_result  dropped          second_result        0

198 tokens, the window starts at 8, a summary is due: true`,
};

/** Lines of the story that show its point; ids and hashes differ each time. */
const STORY = [
  "the process ended: SIGKILL",
  'seq  1  tool_call    weather {"city":"Bern"}',
  "replayed: true, revision 4",
  'code "conflict": Thread story is at revision 4, not 2.',
  'payload  {"role":"assistant","content":"Rain, 14 degrees."}',
  "ok: true, entries: 4",
  "seq  3  message      assistant: I cannot find out.",
];

const examples = globSync("examples/*.ts", { cwd: root }).sort();

beforeAll(mustBeBuilt);

describe.concurrent("the examples", () => {
  for (const path of examples) {
    const name = basename(path, ".ts");
    test(`${name} runs and shows its point`, async () => {
      const { code, stdout, stderr } = await inScratch((folder) => runScript(join(root, path), folder));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout, "it prints something").not.toBe("");
      if (PRINTS[name] !== undefined) expect(stdout.trim()).toBe(PRINTS[name].trim());
      for (const line of name === "story" ? STORY : []) expect(stdout).toContain(line);
    });
  }

  test("the story continues in a second run, without colors outside a terminal", async () => {
    await inScratch(async (folder) => {
      const first = await runScript(join(root, "examples/story.ts"), folder);
      const second = await runScript(join(root, "examples/story.ts"), folder);
      expect(first.stdout).not.toContain("from earlier runs");
      expect(second).toMatchObject({ code: 0, stderr: "" });
      expect(second.stdout).toContain("seq 0 to 3 are from earlier runs: the thread continues");
      expect(second.stdout).toContain("ok: true, entries: 8");
      expect(second.stdout).not.toContain("\u001b");
    });
  });
});

test("every example named here is there", () => {
  expect(Object.keys(PRINTS).filter((name) => !examples.includes(`examples/${name}.ts`))).toEqual([]);
});
