// One ask, 200 tool exchanges, a budget of 8000 tokens: the ask stays in view, and the window moves in steps.
import { createProjector, type Projection, Thread } from "heddle";

const projector = createProjector({
  policy: { maxInputTokens: 8000, reserveOutputTokens: 2000 },
  system: "You read logs.",
});
const page = "12:00:01 worker started, 12:00:07 queue empty, 12:00:09 worker idle. ".repeat(8);

let thread = Thread.create().append({
  kind: "message",
  payload: { role: "user", content: "Which page has the fault?" },
});
let previous: Projection | undefined;
let moves = 0;
let asBefore = 0;
let sent = 0;
let most = 0;

for (let step = 0; step < 200; step++) {
  const view = projector.project({ thread, previous });
  const { messagesIncluded, stablePrefix = 0, estimatedTokens, cutSeq } = view.meta;
  if (cutSeq !== previous?.meta.cutSeq) {
    moves++;
    if (moves <= 2) console.log(`call ${step}: the window moves, and now starts at entry ${cutSeq}`);
  }
  asBefore += stablePrefix;
  sent += messagesIncluded;
  most = Math.max(most, estimatedTokens);
  previous = view;

  // Here the model would answer. This one always wants the next page.
  thread = thread.append([
    { kind: "tool_call", payload: { id: `c${step}`, name: "read", arguments: { page: step } } },
    { kind: "tool_result", payload: { toolCallId: `c${step}`, name: "read", result: page } },
  ]);
}

const { messages, meta } = projector.project({ thread });
const share = Math.round((100 * asBefore) / sent);
console.log(`${moves} moves in 200 calls: ${share} % of what is sent stands where it stood the call before`);
console.log(`never more than ${most} tokens of 6000, of a thread with ${thread.rev} entries`);
console.log(
  `the last call sees ${messages.length} messages: from entry ${meta.view.startSeq} on, and entry ${meta.view.headSeqs}`,
);
console.log(`entry ${meta.view.headSeqs} is the ask: ${messages[1]?.content}`);
