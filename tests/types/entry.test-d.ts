import { type Entry, type EntryInput, type JsonObject, type JsonValue, Thread } from "heddle";
import type { EntryByKind } from "heddle/core";
import { describe, expectTypeOf, test } from "vitest";

declare const entry: Entry;
const thread = Thread.create();

describe("comparing kind narrows the payload", () => {
  test("of a tool call", () => {
    if (entry.kind !== "tool_call") return;
    expectTypeOf(entry.payload.name).toEqualTypeOf<string>();
    expectTypeOf(entry.payload.arguments).toEqualTypeOf<JsonValue>();
    expectTypeOf(entry.payload.id).toEqualTypeOf<string | undefined>();
  });

  test("in a switch, branch by branch", () => {
    switch (entry.kind) {
      case "summary":
        expectTypeOf(entry.payload.toSeq).toEqualTypeOf<number>();
        break;
      case "ai_context_operation":
        expectTypeOf(entry.payload.operation.type).toEqualTypeOf<"replace" | "switch">();
        break;
      case "instruction_end":
        expectTypeOf(entry.payload.status).toEqualTypeOf<"ok" | "error">();
        break;
      default:
        expectTypeOf(entry).not.toEqualTypeOf<Entry>();
    }
  });

  test("and leaves it a JSON object for undeclared kinds", () => {
    // @ts-expect-error no such kind is known, so the comparison can never be true
    if (entry.kind === "acme.unknown") return;
    expectTypeOf<EntryByKind<"acme.unknown">["payload"]>().toEqualTypeOf<JsonObject>();
    expectTypeOf(entry.payload).toExtend<JsonObject>();
    expectTypeOf(entry.kind).toExtend<string>();
  });
});

describe("filterByKind", () => {
  test("gives entries of the asked kind", () => {
    const [summary] = thread.filterByKind("summary");
    expectTypeOf(summary).toEqualTypeOf<EntryByKind<"summary"> | undefined>();
    expectTypeOf<EntryByKind<"summary">["payload"]["content"]>().toEqualTypeOf<string>();
  });

  test("gives the union for several kinds", () => {
    const [entry] = thread.filterByKind(["tool_call", "tool_result"]);
    expectTypeOf(entry).toEqualTypeOf<EntryByKind<"tool_call"> | EntryByKind<"tool_result"> | undefined>();
  });

  test("gives any entries for a kind known only at run time", () => {
    const kind: string = "message";
    expectTypeOf(thread.filterByKind(kind)).toEqualTypeOf<Entry[]>();
    expectTypeOf(thread.filterByKind([kind])).toEqualTypeOf<Entry[]>();
  });
});

describe("what may be appended", () => {
  test("an entry of another thread, and lists of them", () => {
    expectTypeOf(entry).toExtend<EntryInput>();
    expectTypeOf(thread.append).toBeCallableWith(thread.toArray());
    expectTypeOf(thread.append).toBeCallableWith([entry, { kind: "note" }]);
  });

  test("any kind, and fields that may be undefined", () => {
    expectTypeOf<{ kind: string; payload: undefined; id: string | undefined }>().toExtend<EntryInput>();
    expectTypeOf<{ kind: "acme.invoice"; payload: { lines: { total: number }[] } }>().toExtend<EntryInput>();
  });

  test("no payload that is not JSON", () => {
    expectTypeOf<{ payload: { when: Date } }>().not.toExtend<EntryInput>();
    expectTypeOf<{ payload: { run: () => void } }>().not.toExtend<EntryInput>();
    expectTypeOf<{ payload: { big: bigint } }>().not.toExtend<EntryInput>();
    expectTypeOf<{ payload: string[] }>().not.toExtend<EntryInput>();
    expectTypeOf<{ refs: { nested: object } }>().not.toExtend<EntryInput>();
  });

  test("payloads of the known kinds by their names", () => {
    expectTypeOf<import("heddle/core").MessagePayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").ToolCallPayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").ToolResultPayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").SummaryPayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").AiMessagePayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").AiContextOperationPayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").InstructionStartPayload>().toExtend<JsonObject>();
    expectTypeOf<import("heddle/core").InstructionEndPayload>().toExtend<JsonObject>();
  });
});

test("fork takes fields that may be undefined, as create does", () => {
  type Options = Parameters<Thread["fork"]>[0];
  expectTypeOf<{ atSeq: number; id: string | undefined; metadata: JsonObject | undefined }>().toExtend<Options>();
  expectTypeOf<{ id: string }>().not.toExtend<Options>();
});
