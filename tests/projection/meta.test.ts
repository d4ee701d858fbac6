import { createHash } from "node:crypto";
import { ContextPolicy, createProjector, type Message, type ProjectionInput, project, type ToolSpec } from "heddle";
import { assistant, inLane, note, summary, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given, shown, told } from "./given.ts";

const look: ToolSpec = { name: "look", description: "Looks.", inputSchema: { type: "object" } };
const exchange = [toolCall("a", "look", {}), toolResult("a", "look", "A")];

describe("meta", () => {
  test("of an empty thread says so", () => {
    const { messages, provenance, meta } = project({ thread: given() });
    expect([messages, provenance]).toEqual([[], []]);
    expect(meta).toMatchObject({
      basisRev: 0,
      basisLastSeq: -1,
      pendingCount: 0,
      lane: "default",
      truncated: false,
      estimatedTokens: 0,
      summaryUsed: false,
      entriesIncluded: 0,
      messagesIncluded: 0,
      entriesTotal: 0,
      open: false,
      needsSummary: false,
      floorViolated: false,
      view: { headSeqs: [], cleared: [], thinkingDropped: [] },
    });
    expect(meta.view).not.toHaveProperty("startSeq");
  });

  test("counts entries where they are shown, messages with everything, and all entries there are", () => {
    const { meta } = shown(
      [user("go"), note(), toolCall("a", "look", {}), toolCall("b", "look", {}), toolResult("b", "look", "B")],
      { system: "Be kind." },
    );
    expect(meta).toMatchObject({
      entriesTotal: 5,
      entriesIncluded: 4,
      messagesIncluded: 5,
      basisRev: 5,
      basisLastSeq: 4,
    });
  });

  test("counts the messages of a replaced context as the one entry that brought them", () => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ];
    expect(shown([user("old"), context(messages), user("so?")]).meta).toMatchObject({
      entriesIncluded: 2,
      messagesIncluded: 3,
    });
  });

  test("adds up: each message, each part of the budget, and all that is sent", () => {
    const entries = [user("go"), ...exchange, assistant("found"), summary(0, 0), user("so?"), ...exchange];
    const { meta, provenance } = shown(entries, { system: "Be kind.", tools: [look], pending: "And?" });
    const { system, tools, summary: summarized, history, pending, available } = meta.budget;
    expect(meta.estimatedTokens).toBe(system + tools + summarized + history + pending);
    expect(provenance.reduce((sum, { tokens }) => sum + tokens, tools)).toBe(meta.estimatedTokens);
    expect(available).toBe(100_000 - 2000 - system - tools - summarized - pending);
  });

  test.each([
    ["an ask", [user("hi")], true],
    ["an answer", [user("hi"), assistant("hello")], false],
    ["a result", [user("hi"), ...exchange], true],
    ["a call that was interrupted", [user("hi"), toolCall("a", "look", {})], true],
    ["a summary of all of it", [user("hi"), assistant("hello"), summary(0, 1)], false],
    ["nothing at all", [], false],
  ])("is open when it is the model's turn: after %s", (_, entries, open) => {
    expect(shown(entries).meta.open).toBe(open);
  });

  test("names what was dropped since the window's start, and nothing before it", () => {
    const long = user("x".repeat(2000));
    const entries = [user("go"), toolResult("x", "look", "early"), long, toolResult("y", "look", "late"), user(" ")];
    expect(shown(entries).meta.dropped).toEqual([1, 3, 4]);
    const policy = { maxInputTokens: 515, reserveOutputTokens: 0, window: { mode: "sliding" } } as const;
    const cut = shown([user("z".repeat(400)), ...entries], { policy });
    expect(cut.meta).toMatchObject({ cutSeq: 3, dropped: [4, 5] });
  });

  test("carries the hash of the policy: equal for equal policies, whichever way they were made", () => {
    const hashOf = (policy: ProjectionInput["policy"]) => project({ thread: given(), policy }).meta.policyHash;
    expect(hashOf({ maxTurns: 4 })).toBe(hashOf(ContextPolicy.create({ maxTurns: 4 })));
    expect(hashOf(undefined)).toBe(hashOf({}));
    expect(hashOf({ maxTurns: 4 })).not.toBe(hashOf({ maxTurns: 5 }));
  });
});

describe("the fingerprint", () => {
  const link = (text: string): string => createHash("sha256").update(text).digest("base64url");

  test("is the last link of a chain over the tools and each message", () => {
    const { messages, toolSpec, meta } = shown([user("go"), ...exchange], { system: "Be kind.", tools: [look] });
    const chain = messages.reduce(
      (hash, message) => link(`${hash}\n${JSON.stringify(message)}`),
      link(JSON.stringify(toolSpec)),
    );
    expect(meta.fingerprint).toBe(chain);
  });

  test("of an earlier context is a link of the next one, when the next one extends it", () => {
    const before = shown([user("go")]);
    const after = shown([user("go"), assistant("done")]);
    expect(after.meta.fingerprint).toBe(link(`${before.meta.fingerprint}\n${JSON.stringify(after.messages[1])}`));
  });
});

describe("the stable prefix", () => {
  const thread = given(user("go"), assistant("done"));
  const prefixOf = (messages: readonly Message[]) => project({ thread, previous: { messages } }).meta.stablePrefix;

  test("counts the messages that stayed as they were", () => {
    const { messages } = project({ thread });
    expect(prefixOf(messages)).toBe(2);
    expect(prefixOf(messages.slice(0, 1))).toBe(1);
    expect(prefixOf([...messages, { role: "user", content: "so?" }])).toBe(2);
    expect(prefixOf([{ role: "user", content: "stop" }, ...messages.slice(1)])).toBe(0);
    expect(prefixOf([])).toBe(0);
    expect(prefixOf(JSON.parse(JSON.stringify(messages)))).toBe(2);
  });

  test("is not there without a previous projection", () => {
    expect(project({ thread }).meta).not.toHaveProperty("stablePrefix");
  });
});

describe("lanes", () => {
  const entries = [
    user("on the default"),
    inLane("side", user("on the side")),
    switchTo("side"),
    user("now here"),
    inLane("default", user("and there")),
  ];

  test("show their own entries; the active one is shown unless another is asked for", () => {
    expect(told(shown(entries))).toEqual(["user: on the side", "user: now here"]);
    expect(told(shown(entries, { lane: "default" }))).toEqual(["user: on the default", "user: and there"]);
    expect(told(shown(entries, { lane: "fresh" }))).toEqual([]);
    expect(shown(entries).meta.lane).toBe("side");
  });

  test("start over with a replace; entries after its base stay, in order", () => {
    const snapshot = [{ role: "user", content: "so far" }];
    const before = [user("one"), assistant("two"), user("three")];
    expect(told(shown([...before, context(snapshot), user("four")]))).toEqual(["user: so far", "user: four"]);
    expect(told(shown([...before, context(snapshot, { baseSeq: 1 }), user("four")]))).toEqual([
      "user: so far",
      "user: three",
      "user: four",
    ]);
    expect(told(shown([...before, context([])]))).toEqual([]);
  });

  test("have messages of both vocabularies in a replaced context, with their calls and results", () => {
    const snapshot = [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "",
        toolCalls: [
          { id: "a", name: "look", arguments: {} },
          { id: "b", name: "look", arguments: {} },
        ],
      },
      { role: "tool", toolCallId: "b", name: "look", content: "B" },
    ];
    const projection = shown([context(snapshot), toolResult("a", "look", "A")]);
    expect(told(projection)).toEqual(["user: go", "assistant: -> look(a), look(b)", "tool a: A", "tool b: B"]);
    expect(projection.meta.view).toMatchObject({ startSeq: 0, startItem: 0 });
  });

  test("may begin as a branch of another, as that was at a seq", () => {
    const branch = {
      kind: "ai_context_operation",
      payload: {
        opId: "op",
        contextRef: "side",
        operation: { type: "switch", reason: "manual", from: "default", atSeq: 1 },
      },
    };
    const lines = told(shown([user("one"), assistant("two"), user("three"), branch, user("other")]));
    expect(lines).toEqual(["user: one", "assistant: two", "user: other"]);
    const late = [user("one"), inLane("side", user("own")), assistant("two"), branch];
    expect(told(shown(late))).toEqual(["user: one", "assistant: two"]); // a lane that is there already is no branch
  });
});

test("a projection is frozen through and through, and so is what a projector remembers of it", () => {
  const projection = createProjector().project({
    thread: given(user("go"), ...exchange),
    tools: [look],
    system: "Be kind.",
    pending: "so?",
  });
  const isFrozen = (value: unknown): boolean =>
    typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
  for (const part of [projection, ...Object.values(projection)]) expect(isFrozen(part)).toBe(true);
});
