import { type Entry, type EntryInput, type EntryInputByKind, type EntryKinds, type JsonObject, Thread } from "heddle";
import type { EntryByKind } from "heddle/core";
import { describe, expectTypeOf, test } from "vitest";

declare module "heddle" {
  interface EntryKinds {
    invoice: { readonly number: string; readonly total: number };
  }
}

declare const entry: Entry;

describe("a kind of one's own", () => {
  test("stands among the known ones", () => {
    expectTypeOf<EntryKinds["invoice"]>().toEqualTypeOf<{ readonly number: string; readonly total: number }>();
    expectTypeOf<"invoice">().toExtend<Entry["kind"]>();
  });

  test("narrows the payload", () => {
    if (entry.kind !== "invoice") return;
    expectTypeOf(entry.payload.total).toEqualTypeOf<number>();
    expectTypeOf(entry.payload.number).toEqualTypeOf<string>();
    expectTypeOf(entry.payload).not.toEqualTypeOf<JsonObject>();
  });

  test("is what filterByKind gives", () => {
    const [invoice] = Thread.create().filterByKind("invoice");
    expectTypeOf(invoice).toEqualTypeOf<EntryByKind<"invoice"> | undefined>();
    expectTypeOf<EntryByKind<"invoice">["payload"]["total"]>().toEqualTypeOf<number>();
  });

  test("is checked where it is written, with satisfies", () => {
    expectTypeOf<{ kind: "invoice"; payload: { number: "7"; total: 4 } }>().toExtend<EntryInputByKind<"invoice">>();
    expectTypeOf<{ kind: "invoice"; payload: { number: "7" } }>().not.toExtend<EntryInputByKind<"invoice">>();
    expectTypeOf<EntryInputByKind<"invoice">>().toExtend<EntryInput>();
    Thread.create().append({
      kind: "invoice",
      payload: { number: "7", total: 4 },
    } satisfies EntryInputByKind<"invoice">);
  });

  test("leaves the others as they were", () => {
    if (entry.kind !== "message") return;
    expectTypeOf(entry.payload.role).toEqualTypeOf<string>();
  });
});
