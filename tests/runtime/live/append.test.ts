import { createProjector } from "heddle";
import { describe, expect, test } from "vitest";
import { commandEntryId } from "../../../src/agent/react/entries.ts";
import { lanesOfExtended } from "../../../src/lanes/active-lane.ts";
import { settingId } from "../../../src/lanes/setting.ts";
import { ProjectionError } from "../../../src/projection/error.ts";
import type { LiveSignal } from "../../../src/runtime/live/signal.ts";
import { ConflictError, EntryIdReuseError } from "../../../src/stores/errors.ts";
import type { Entry } from "../../../src/thread/entry.ts";
import {
  AWAY,
  all,
  answer,
  appended,
  asking,
  calling,
  cancel,
  command,
  decided,
  decidedAt,
  entriesOf,
  events,
  failed,
  find,
  fromTool,
  idle,
  OUT_OF_SPACE,
  operationRow,
  prepared,
  replace,
  running,
  type Story,
  shortened,
  types,
  WHY,
  waiting,
  written,
} from "./live-thread.ts";

const operation: LiveSignal = command({ type: "context_op", operation: replace });
const setting = { opId: "set_1", setting: { type: "system_prompt", value: "Be brief." } } as const;
const set: LiveSignal = command({ type: "set", setting });

function reused(...entryIds: readonly string[]): EntryIdReuseError {
  return new EntryIdReuseError("thread_t", entryIds, "is used");
}

/** The answer of a store that has the entries of an append in another place. */
function known(story: Story, change: Partial<Entry>): LiveSignal {
  const entries = entriesOf(story).map((entry) => ({ ...entry, ...change }));
  return { type: "appended", id: find(story, "append").id, result: { entries, replayed: true } as never };
}

/** The agent as it is in the log, where others have appended. */
function grown({ live: { agent } }: Story) {
  return { ...agent, thread: agent.thread.append({ id: "theirs", at: 1, payload: { text: "Hi." } }) };
}

describe("an append", () => {
  test("comes before what it leads to", () => {
    const open = running();
    const { live } = open;
    const putting = decided(open, answer(open, ["look"]));
    expect(types(putting)).toEqual(["append"]);
    const { id, before, after, consumes } = find(putting, "append");
    expect([before, consumes]).toEqual([live.agent, []]);
    expect(after.thread.rev).toBe(live.agent.thread.rev + 1);
    expect(putting.live.agent).toBe(live.agent);
    expect(putting.live.hold).toMatchObject({ type: "append", id, consumes: [] });
    expect(types(decided(putting, appended(putting)))).toEqual(["emit", "start"]);
  });

  test("answers its caller with all that was performed", () => {
    const asked = waiting();
    const { effects } = written(asked, command(cancel));
    const settle = effects.find((effect) => effect.type === "settle");
    expect(settle).toMatchObject({ reply: "r", turn: { before: asked.live.agent, signal: cancel, todo: [] } });
    expect(settle?.turn?.performed.map(({ type }) => type)).toEqual(["abort", "emit", "checkpoint", "emit", "stop"]);
    expect(settle).not.toHaveProperty("error");
  });

  test("of nothing is not made: the caller is answered at once", () => {
    const late = decided(idle(), command(cancel));
    expect(late.effects).toMatchObject([{ type: "settle", reply: "r", turn: { performed: [] } }]);
  });

  test("of an operation that the store knows leaves the value as it was", () => {
    const putting = decided(idle(), operation);
    const { live } = decided(putting, known(putting, { seq: 7 }));
    expect(live.agent.thread).toBe(putting.live.agent.thread);
    expect(live.agent.state).toBe(putting.live.agent.state);
  });

  test.each([operation, set])("of an operation or a setting takes the time of the store", (signal) => {
    const putting = decided(idle(), signal);
    const { live } = decided(putting, known(putting, { at: 77 }));
    expect(live.agent.thread.last()).toMatchObject({ at: 77, seq: 0 });
    expect(live.agent.thread.rev).toBe(1);
    expect(live.agent.state).toEqual(find(putting, "append").after.state);
  });

  test("of other entries takes what the agent has made", () => {
    const putting = decided(idle(), asking, prepared);
    const { live } = decided(putting, known(putting, { at: 77 }));
    expect(live.agent.thread.last()?.at).toBe(1);
    expect(live.agent).toBe(putting.live.hold?.type === "append" ? putting.live.hold.step.agent : undefined);
  });
});

describe("an append of ids that the store has with other content", () => {
  test.each([
    [operation, commandEntryId("op_1"), "context_op_id_reused"],
    [set, settingId("set_1"), "setting_id_reused"],
  ])("is refused to its caller with the code of its kind", (signal, entryId, code) => {
    const putting = decided(idle(), signal);
    const refused = decided(putting, failed(putting, reused(entryId)));
    expect(find(refused, "settle")).toMatchObject({ reply: "r", error: { code } });
    expect(refused.live.broken === undefined).toBe(code === "context_op_id_reused");
  });

  test("breaks the request when the entries are those of the agent", () => {
    const open = running();
    const putting = decided(open, answer(open));
    const broken = decided(putting, failed(putting, reused("entry_1")));
    expect(broken.live.broken).toMatchObject({ failure: { code: "entry_id_reused" } });
  });

  test("refuses an operation that had waited, with an outcome and a warning", () => {
    const putting = decided(
      { ...idle(), inbox: new Map([["op_1", 3]]) },
      { type: "agent", signal: { type: "context_op", operation: replace } },
    );
    const refused = decided(putting, failed(putting, reused("op_1/0")));
    expect(types(refused)).toEqual(["warn", "append"]);
    const end = { status: "refused", code: "context_op_id_reused" };
    expect(find(refused, "append")).toMatchObject({
      consumes: [{ id: "op_1", revision: 3, outcome: end }],
      metadata: {},
    });
    expect(entriesOf(refused)).toEqual([]);
    const done = decided(refused, {
      type: "appended",
      id: find(refused, "append").id,
      result: { entries: [] } as never,
    });
    expect(done.effects).toMatchObject([{ type: "outcome", commandId: "op_1", end }]);
    expect(done.live.inbox.size).toBe(0);
    expect(done.live.broken).toBeUndefined();
  });

  test("ends the request without the operations that the log has, which are decided after it", () => {
    const other = { ...replace, opId: "op_2" };
    const open = running(idle({}, { postsCommands: false }));
    const waits = written(open, operation, command({ type: "context_op", operation: other }));
    expect(waits.live.agent.flight.deferred.map(({ id }) => id)).toEqual(["op_1", "op_2"]);
    const ending = decided(waits, answer(open));
    expect(
      entriesOf(ending)
        .slice(1)
        .map(({ id }) => id),
    ).toEqual(["op_1/0", "op_2/0"]);
    const again = decided(ending, failed(ending, reused("op_1/0")));
    expect(types(again)).toEqual(["append"]);
    expect(
      entriesOf(again)
        .slice(1)
        .map(({ id }) => id),
    ).toEqual(["op_2/0"]);
    const over = decided(again, appended(again));
    expect(all(over, "outcome").map(({ commandId }) => commandId)).toEqual(["op_2"]);
    expect(events(over)).toContain("request_completed");
    const alone = decided(over, shortened(over));
    expect(entriesOf(alone).map(({ id }) => id)).toEqual(["op_1/0"]);
    expect(alone.live.hold).toMatchObject({ turn: { signal: { type: "context_op", operation: replace }, alone: [] } });
  });

  test("tries both without each other when the log has both", () => {
    const other = { ...replace, opId: "op_2" };
    const open = running(idle({}, { postsCommands: false }));
    const waits = written(open, operation, command({ type: "context_op", operation: other }));
    const first = decided(waits, answer(open));
    const second = decided(first, failed(first, reused("op_1/0")));
    const third = decided(second, failed(second, reused("op_2/0")));
    expect(third.live.agent.flight.deferred).toEqual([]);
    expect(third.live.hold).toMatchObject({ turn: { alone: [{ id: "op_1" }, { id: "op_2" }] } });
    const over = written(third, appended(third));
    expect(all(over, "outcome").map(({ commandId }) => commandId)).toEqual(["op_1", "op_2"]);
  });
});

describe("an append that others came before", () => {
  const conflict = (actual = 1) => new ConflictError("thread_t", 0, actual);

  test("reads what they wrote, then decides again and looks at what they decided", () => {
    const open = running();
    const ending = decided(open, answer(open));
    const behind = decided(ending, failed(ending, conflict()));
    expect(behind.effects).toEqual([{ type: "catch_up", id: behind.live.hold?.id, agent: open.live.agent }]);
    const agent = grown(behind);
    const again = decided(behind, { type: "caught_up", id: find(behind, "catch_up").id, agent });
    expect(types(again)).toEqual(["append", "next"]);
    expect(find(again, "append").before.thread).toBe(agent.thread);
    expect(again.live.agent.flight).toEqual(open.live.agent.flight);
    expect(find(again, "next").signal).toEqual({ type: "agent", signal: { type: "notice" } });
    expect(again.live.hold).toMatchObject({ turn: { before: { thread: agent.thread, state: agent.state } } });
    const read = decided(again, appended(again));
    expect(events(read)).toContain("request_completed");
    expect(types(decided(read, shortened(read)))).toContain("catch_up");
  });

  test.each([
    ["thread_not_found", 0, "has it"],
    ["thread_not_found", 0, "was deleted"],
    ["thread_not_found", 1, "was deleted"],
    ["conflict", 1, "has it"],
  ])("and wrote nothing fails as %s when the store has %i entries, and the thread %s", (code, actual, end) => {
    const putting = decided(idle(), operation);
    const behind = decided(putting, failed(putting, conflict(actual)));
    const { id, agent } = find(behind, "catch_up");
    const missing = decided(behind, { type: "caught_up", id, agent: end === "has it" ? agent : undefined });
    expect(find(missing, "settle")).toMatchObject({ reply: "r", error: { code } });
    expect(missing.live.broken?.failure.code).toBe(code);
  });

  test("fails when their entries cannot be read, and nothing else breaks", () => {
    const putting = decided(idle(), operation);
    const behind = decided(putting, failed(putting, conflict()));
    const unread = decided(behind, failed(behind, AWAY));
    expect(unread.effects).toMatchObject([{ type: "settle", reply: "r", error: AWAY }]);
    expect(unread.live).toMatchObject({ broken: undefined, hold: undefined });
  });
});

describe("a notice", () => {
  const notice: LiveSignal = command({ type: "notice" });

  test("reads the log first, then decides on it", () => {
    const asked = waiting();
    const reading = decided(asked, notice);
    expect(reading.effects).toEqual([{ type: "catch_up", id: reading.live.hold?.id, agent: asked.live.agent }]);
    expect(reading.live.hold).toMatchObject({ turn: { stage: "durable", performed: [], todo: [], alone: [] } });
    const { id } = find(reading, "catch_up");
    const foreign = written(asked, command(cancel)).live.agent;
    const told = decided(reading, { type: "caught_up", id, agent: foreign });
    expect(events(told)).toEqual(["request_cancelled"]);
    expect(find(told, "reject").error).toMatchObject({ code: "request_cancelled" });
    expect(types(told)).toContain("settle");
  });

  test("without news answers its caller", () => {
    const reading = decided(waiting(), notice);
    const none = decided(reading, { type: "caught_up", id: find(reading, "catch_up").id, agent: reading.live.agent });
    expect(none.effects).toMatchObject([{ type: "settle", reply: "r" }]);
    expect(none.live.broken).toBeUndefined();
  });

  test("of a thread that was deleted fails its request, and is decided again on the new thread", () => {
    const reading = decided(waiting(), notice);
    const gone = decided(reading, { type: "caught_up", id: find(reading, "catch_up").id, agent: undefined });
    expect(gone.live.broken?.failure.code).toBe("thread_not_found");
    expect(types(gone)).toEqual(["interrupt", "follow", "timer", "restore", "next"]);
    expect(find(gone, "next").signal).toEqual(notice);
  });

  test("of a deleted thread is decided again after the reload, when the log broke in the meantime", () => {
    const reading = decided(waiting(), notice);
    const broken = decided(reading, { type: "lost", error: AWAY });
    const gone = decided(broken, { type: "caught_up", id: find(reading, "catch_up").id, agent: undefined });
    expect(gone.live.broken?.error).toBe(AWAY);
    expect(find(gone, "next").signal).toEqual(notice);
  });
});

describe("a decision that needs more of the thread", () => {
  /** A projector that throws for the first time. */
  function throwing(error: unknown) {
    const projector = createProjector();
    let calls = 0;
    const project: typeof projector.project = (input) => {
      if (calls++ === 0) throw error;
      return projector.project(input);
    };
    return { ...projector, project } as typeof projector; // the agent calls only this method
  }

  test("loads it, and is made again", () => {
    const error = new ProjectionError({ code: "tail_too_short", message: "Load more.", neededFromSeq: 0 });
    const live = idle({ projector: throwing(error) });
    const { thread } = live.agent;
    const loading = decided(live, asking, prepared);
    expect(loading.effects.slice(1)).toEqual([{ type: "load", id: loading.live.hold?.id, thread, error }]);
    expect(loading.live.hold).toMatchObject({ type: "load", turn: { signal: { type: "ask" }, stage: "durable" } });
    const more = thread.append({ id: "theirs", at: 1, payload: { text: "Hi." } });
    const loaded = decided(loading, { type: "loaded", id: find(loading, "load").id, thread: more, isAmple: false });
    expect(types(loaded)).toEqual(["append"]);
    expect(find(loaded, "append").before).toMatchObject({ thread: more, settings: live.agent.settings });
    expect(find(loaded, "append").before.state).toEqual(lanesOf(loading, more));
    const failing = decided(loading, failed(loading, AWAY));
    expect(find(failing, "settle_ask")).toMatchObject({ error: AWAY });
    expect(failing.live.broken).toBeUndefined();
  });

  /** The state with the lanes of more entries. */
  function lanesOf({ live }: Story, thread: Story["live"]["agent"]["thread"]) {
    const { state } = live.agent;
    return { ...state, lanes: lanesOfExtended(thread, state.lanes) };
  }
});

describe("entries of work that cannot be written", () => {
  test("break the request, because no caller hears of them", () => {
    const called = calling(["look"]);
    const putting = decided(called, fromTool(called));
    const broken = decided(putting, failed(putting, OUT_OF_SPACE));
    expect(types(broken)).not.toContain("settle");
    expect(broken.live.broken).toMatchObject({ error: OUT_OF_SPACE });
  });

  test("that only say how long it worked break nothing", () => {
    const open = running(idle({ totalTimeoutMs: 1000 }));
    const noting = decidedAt({ now: 500 }, open, { type: "timer", name: "note" });
    expect(entriesOf(noting)).toMatchObject([{ payload: { workedMs: 500 } }]);
    const left = decided(noting, failed(noting, OUT_OF_SPACE));
    expect(left.live.broken).toBeUndefined();
    expect(left.effects).toEqual([]);
  });
});

describe("a checkpoint", () => {
  const minting = (settings: Parameters<typeof idle>[0] = {}) => idle(settings, { mintsTokens: true });

  test("is minted before what follows it begins", () => {
    const open = running(minting());
    const putting = decided(open, answer(open, ["look"]));
    const mint = decided(putting, appended(putting));
    expect(types(mint)).toEqual(["emit", "mint"]);
    const { agent } = mint.live;
    expect(find(mint, "mint")).toEqual({
      type: "mint",
      id: mint.live.hold?.id,
      agent,
      run: agent.state.run,
      phase: "after_llm",
    });
    expect(types(decided(mint, { type: "minted", id: find(mint, "mint").id }))).toEqual(["start"]);
  });

  test("is minted when a request starts to wait, once", () => {
    const called = calling(["look", "sign"], minting());
    const minted = decided(called, { type: "minted", id: find(called, "mint").id });
    const asked = written(minted, fromTool(minted, "approval_needed", "call_1"));
    expect(types(asked)).not.toContain("mint");
    const waits = written(asked, fromTool(minted));
    expect(find(waits, "mint")).toMatchObject({ phase: "after_llm" });
    const marked = decided(waits, { type: "minted", id: find(waits, "mint").id });
    expect(marked.effects.slice(0, 1)).toEqual([{ type: "rest", waits: true }]);
    expect(types(written(marked, command({ type: "approve", toolCallId: "call_9" })))).not.toContain("mint");
  });

  test("at the end of a request is minted for the run that has ended", () => {
    const open = running(minting());
    const ending = written(open, answer(open));
    const first = decided(ending, { type: "minted", id: find(ending, "mint").id });
    const { last } = first.live.agent.state;
    expect(find(first, "mint")).toMatchObject({ phase: "terminal", run: last?.run });
    expect(types(decided(first, { type: "minted", id: find(first, "mint").id })).slice(0, 2)).toEqual([
      "emit",
      "forget",
    ]);
  });

  test("that fails breaks the request, and its caller is answered", () => {
    const called = calling(["sign"], minting());
    const minted = decided(called, { type: "minted", id: find(called, "mint").id });
    const waits = written(minted, fromTool(minted, "approval_needed"));
    const marked = decided(waits, { type: "minted", id: find(waits, "mint").id });
    const cancelling = written(marked, command(cancel));
    expect(find(cancelling, "mint").phase).toBe("terminal");
    const broken = decided(cancelling, failed(cancelling, WHY));
    expect(broken.live.broken).toMatchObject({ error: WHY, failure: { code: "runtime_failed" } });
    expect(all(broken, "settle")).toMatchObject([{ reply: "r", turn: { signal: cancel } }]);
    expect(types(broken)).toContain("restore");
  });

  test("that fails starts nothing that would come next", () => {
    const called = calling(["look"], minting({ maxIterations: 1 }));
    const minted = decided(called, { type: "minted", id: find(called, "mint").id });
    const results = written(minted, fromTool(minted));
    expect(find(results, "mint").phase).toBe("after_tools");
    const broken = decided(results, failed(results, AWAY));
    expect(types(broken)).not.toContain("append");
    expect(types(broken)).not.toContain("emit");
    expect(find(broken, "suspend").suspension).toEqual({ reason: "store" });
  });

  test("of a request that is not carried here is not minted", () => {
    const open = running(minting());
    const putting = decided(open, answer(open));
    const lost = decided(putting, { type: "lost", error: AWAY });
    expect(types(decided(lost, appended(putting)))).not.toContain("mint");
  });
});

describe("rows that wait", () => {
  test("are taken as signals in their order, and those of a lane operation consume their row", () => {
    const opened = written(idle(), {
      type: "opened",
      reply: "r",
      rows: [operationRow()],
      first: undefined,
      given: undefined,
    });
    expect(all(opened, "append")).toMatchObject([
      { consumes: [{ id: "op_1", outcome: { status: "applied" }, revision: 0 }] },
    ]);
    expect(find(opened, "outcome")).toEqual({ type: "outcome", commandId: "op_1", end: { status: "applied" } });
    expect(opened.live.inbox.size).toBe(0);
  });
});

describe("a function of the caller that throws between two calls", () => {
  test("fails the request with its error as the cause; the results are kept", () => {
    let isBad = false;
    const projector = createProjector();
    const throwing = {
      ...projector,
      project: (input: Parameters<typeof projector.project>[0]) => {
        if (isBad) throw WHY;
        return projector.project(input);
      },
    };
    const open = running(idle({ projector: throwing as typeof projector }));
    isBad = true;
    const steered = written(open, answer(open, ["nothing"]));
    expect(find(steered, "report")).toEqual({
      type: "report",
      error: WHY,
      origin: { code: "projection_failed", threadId: "thread_t", requestId: "req_1" },
    });
    expect(events(steered).at(-1)).toBe("request_failed");
    expect(find(steered, "reject").error).toMatchObject({ failure: { code: "projection_failed" }, cause: WHY });
    const roles = steered.live.agent.thread.toArray().map(({ payload }) => (payload as { role?: string }).role);
    expect(roles.slice(0, 3)).toEqual(["user", "assistant", "tool"]);
  });
});
