/** Entries that the text of the core seems to allow for a signal, and that no run writes; each with its reason. */
export const IMPOSSIBLE: Readonly<Record<string, string>> = {
  "ask > resultEntry": "a request begins without calls",
  "ask > endEntry": "an ask that cannot be shown is refused before anything is written",
  "llm_error > resultEntry": "no call is open while a model is asked",
  "answer_needed > steerEntry": "a call that needs an answer ends its exchange only where the request ends",
  "question_asked > steerEntry": "a call that asks ends its exchange only where the request ends",
  "approve > resultEntry": "what is approved runs, and its result is another signal",
  "approve > endEntry": "what is approved runs first",
  "approve > steerEntry": "what is approved runs first",
  "approve > ai_context_operation": "what is approved runs first",
  "fail > resultEntry": "the time limit stands still while nothing is at work; what is at work reports first",
  "fail > endEntry": "the time limit stands still while nothing is at work; what is at work reports first",
  "fail > ai_context_operation": "the time limit stands still while nothing is at work; what is at work reports first",
  "checked > resultEntry": "an exchange is checked when all of its calls have results",
  "finish > steerEntry": "words on their way are told that the request is closed",
  "summary_result > resultEntry": "no call is open while a summary is awaited",
  "summary_failed > resultEntry": "no call is open while a summary is awaited",
};

/** Signals that come only where a host serves several threads: what they write is killed in these tests. */
export const SIGNALS_KILLED_ELSEWHERE: Readonly<Record<string, string>> = {
  results: "they write in one append what each of them writes alone",
  delegated: "tests/runtime/host/children-killed.test.ts kills a parent with three children at every write",
  child_ended: "tests/runtime/host/children-killed.test.ts kills a parent with three children at every write",
};

/** Rooms of the runtime that write and are killed in tests of their own. */
export const KILLED_ELSEWHERE: Readonly<Record<string, string>> = {
  "src/runtime/chat/chat-handler.ts append":
    "it gives a new thread its owner: tests/runtime/chat/chat-handler.store.test.ts has a process that ended after it",
  "src/runtime/host/family.ts post":
    "it answers for a child that is lost: tests/runtime/host/children.test.ts ends the process before it, and starts another",
  "src/runtime/host/remote-calls.ts":
    "it sends calls and takes them back: tests/runtime/host/killed-calls.store.test.ts ends the holder around each",
  "src/runtime/host/titles.ts append":
    "a title that a process did not write is made after the next answer: tests/runtime/host/titles.test.ts",
  "src/runtime/host/worker.ts":
    "it gives a thread back that it could not start: tests/runtime/host/worker.store.test.ts ends the process in between",
  "src/runtime/own-loop/loop-log.ts append":
    "the loop belongs to its caller: tests/runtime/own-loop/thread-loop.test.ts ends it at each write and asks again",
  "src/runtime/perform/answer.ts post": "it reads the outcome of a row that is there",
  "src/runtime/perform/answer.ts withdraw":
    "it follows a post that failed: tests/runtime/session/failing-store.test.ts has the row and its caller",
  "src/runtime/server/pending.ts post":
    "it follows the withdrawal of a child's ask: tests/runtime/host/children.test.ts has the process end between them",
  "src/runtime/session/holder.ts renew": "it changes no entry: tests/runtime/session/holder.test.ts has its answers",
  "src/runtime/run-instructions.ts":
    "no server runs instructions: tests/runtime/run-instructions.store.test.ts stops a process inside an action",
  "src/runtime/standalone/":
    "a standalone run belongs to its caller: its tokens outlive it, and tests/runtime/standalone resumes them in each phase",
};
