import { type EntryInput, type JsonObject, memoryStore, Thread } from "heddle";
import { inLane, note, switchTo, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { checkSetting, heldSettings, toolSetting } from "../../src/lanes/setting.ts";
import { Random } from "../../src/testing/random.ts";
import { given } from "../projection/given.ts";

let made = 0;
const setting = (value: JsonObject, contextRef?: string): EntryInput => ({
  kind: "ai_setting",
  payload: { opId: `op_${made++}`, ...(contextRef !== undefined && { contextRef }), setting: value },
});
const prompt = (value: string | null, lane?: string) => setting({ type: "system_prompt", value }, lane);
const policy = (value: JsonObject | null, lane?: string) => setting({ type: "context_policy", value }, lane);
const tool = (name: string, description = "d", lane?: string) =>
  setting(toolSetting({ name, description, inputSchema: { type: "object" } }), lane);
const removed = (name: string, lane?: string) => setting({ type: "tool_removed", name }, lane);
const promptIn = (thread: Thread, lane = "default", before?: number) => heldSettings(thread, lane, before).systemPrompt;

describe("what holds", () => {
  test("is the newest setting of a name, and at a seq the newest before it", () => {
    const thread = given(prompt("A"), user("1?"), prompt("B"));
    expect(promptIn(thread)).toBe("B");
    expect(promptIn(thread, "default", 2)).toBe("A");
    expect(heldSettings(thread, "default", 2).seqs).toEqual([0]);
    expect(promptIn(thread, "default", 0)).toBeUndefined();
  });

  test("is the setting of the lane before that of the thread, and null takes one back", () => {
    const thread = given(prompt("T"), user("1?"), prompt("L", "default"), prompt("T2"));
    expect(promptIn(thread)).toBe("L");
    expect(promptIn(thread, "side")).toBe("T2");
    expect(promptIn(thread.append(prompt(null, "default")))).toBe("T2");
    expect(promptIn(thread.append(prompt(null)), "side")).toBeUndefined();
    expect(heldSettings(thread.append(prompt(null)), "side").seqs).toEqual([]);
  });

  test("of a policy is that of the lane, with the window of the thread where it has none", () => {
    const lane = policy({ maxTurns: 1 }, "default");
    const thread = given(policy({ maxTurns: 3, keepLastTurns: 2 }), lane);
    expect(heldSettings(thread, "default")).toMatchObject({ contextPolicy: { maxTurns: 1 }, seqs: [1] });
    const wide = given(policy({ maxInputTokens: 900 }), lane);
    expect(heldSettings(wide, "default")).toMatchObject({
      contextPolicy: { maxTurns: 1, maxInputTokens: 900 },
      seqs: [0, 1],
    });
    const own = wide.append(policy({ maxInputTokens: 700 }, "default"));
    expect(heldSettings(own, "default")).toMatchObject({ contextPolicy: { maxInputTokens: 700 }, seqs: [2] });
  });

  test("of a tool is its newest entry, also one that removes it", () => {
    const thread = given(tool("find"), tool("look"), removed("find"), tool("look", "other"));
    const { tools, seqs } = heldSettings(thread, "default");
    expect([...tools.values()].map(({ type, name }) => [type, name])).toEqual([
      ["tool_removed", "find"],
      ["tool", "look"],
    ]);
    expect(seqs).toEqual([2, 3]);
  });

  test.each([
    [{ type: "system_prompt", value: 7 }],
    [{ type: "system_prompt" }],
    [{ type: "tool", name: "find", hash: "h" }],
    [{ type: "tool", name: "", inputSchema: {}, hash: "h" }],
    [{ type: "tool_removed" }],
    [{ type: "model", value: "x" }],
  ])("is not a malformed setting: %j", (value) => {
    const thread = given(user("1?"), setting(value as JsonObject));
    expect(heldSettings(thread, "default").seqs).toEqual([]);
    const payload = { opId: "o", setting: value };
    expect(() => checkSetting(payload, thread)).toThrow(expect.objectContaining({ code: "setting_invalid" }));
  });
});

test("a setting of a lane without entries is refused: a branch could not begin that lane", () => {
  const thread = given(user("1?"));
  const payload = { opId: "o", contextRef: "new", setting: { type: "system_prompt", value: "A" } };
  expect(() => checkSetting(payload, thread)).toThrow(expect.objectContaining({ code: "setting_lane_unknown" }));
  expect(checkSetting({ ...payload, contextRef: "default" }, given())).toMatchObject({ contextRef: "default" });
});

test("the hash of a tool is of its specification", () => {
  const spec = { name: "find", description: "d", inputSchema: { type: "object" } };
  expect(toolSetting(spec).hash).toBe(toolSetting({ ...spec }).hash);
  expect(toolSetting({ ...spec, description: "e" }).hash).not.toBe(toolSetting(spec).hash);
});

describe("a tail", () => {
  const LANES = ["default", "a", "b"] as const;

  /** Switches and branches that a server would write: none of them is malformed. */
  const generated = (random: Random, length: number): readonly EntryInput[] => {
    const written = new Set<string>(["default"]);
    let branches = 0;
    return random.list(length, (seq) => {
      const lane = random.pick([...written] as [string, ...string[]]);
      const level = random.oneIn(3) ? lane : undefined;
      const entry = random.pick<() => EntryInput>([
        () => inLane(lane, user("Hi.")),
        () => note(),
        () => prompt(random.oneIn(4) ? null : `P${seq}`, level),
        () => policy(random.oneIn(4) ? null : { maxTurns: seq + 1 }, level),
        () => (random.oneIn(2) ? tool("find", `d${seq}`, level) : removed("find", level)),
        () => {
          const target = random.pick(LANES);
          written.add(target);
          return switchTo(target);
        },
        () => {
          const target = `branch ${branches++}`;
          written.add(target);
          const operation = { type: "switch", reason: "manual", from: lane, atSeq: random.below(seq + 1) - 1 };
          return { kind: "ai_context_operation", payload: { opId: `b${branches}`, contextRef: target, operation } };
        },
      ])();
      return entry;
    });
  };

  test.each([1, 2, 3, 4, 5, 6])(
    "and its base hold what the whole thread holds, in any lane (seed %i)",
    async (seed) => {
      const store = memoryStore();
      const random = new Random(seed);
      for (const entry of generated(random, 40)) await store.append("t", entry);
      const forked = await store.fork("t", { atSeq: 25, newId: "f" });
      expect(forked).toBeDefined();
      for (const entry of generated(random, 10)) await store.append("f", entry);
      for (const id of ["t", "f"]) {
        const whole = (await store.load(id)) as Thread; // it was appended to
        for (let upToSeq = 0; upToSeq < whole.rev; upToSeq++) {
          const lanes = [...new Set(whole.toArray().flatMap(({ payload }) => payload["contextRef"] ?? "default"))];
          for (const last of [0, 1, 5]) {
            const tail = (await store.load(id, { last, upToSeq, lanes: "all" })) as Thread;
            for (const lane of lanes as string[]) {
              expect(heldSettings(tail, lane), `${id} ${upToSeq} ${last} ${lane}`).toEqual(
                heldSettings(whole, lane, upToSeq + 1),
              );
            }
          }
        }
      }
    },
  );

  test("has the newest settings only, and none where there are none", async () => {
    const store = memoryStore();
    await store.append("t", [prompt("A"), prompt("B"), user("1?"), user("2?")]);
    await store.append("u", [user("1?"), user("2?"), user("3?"), user("4?")]);
    const tail = await store.load("t", { last: 1 });
    expect(tail?.base?.settings?.map(({ seq }) => seq)).toEqual([1]);
    expect((await store.load("u", { last: 1 }))?.base).not.toHaveProperty("settings");
  });

  test("keeps the settings in its base as data", async () => {
    const store = memoryStore();
    await store.append("t", [prompt("A"), prompt("L", "default"), user("1?"), user("2?")]);
    const tail = (await store.load("t", { last: 1 })) as Thread;
    const read = Thread.fromJSON(JSON.parse(JSON.stringify(tail)));
    expect(heldSettings(read, "default")).toEqual(heldSettings(tail, "default"));
    expect(heldSettings(read, "default").systemPrompt).toBe("L");
  });
});
