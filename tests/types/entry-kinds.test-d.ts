import {
  type Entry,
  type EntryInput,
  type EntryInputOfKind,
  type EntryKinds,
  type EntryOfKind,
  type JsonObject,
  Thread,
} from "heddle";
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
    expectTypeOf(invoice).toEqualTypeOf<EntryOfKind<"invoice"> | undefined>();
    expectTypeOf<EntryOfKind<"invoice">["payload"]["total"]>().toEqualTypeOf<number>();
  });

  test("is checked where it is written, by whoever says so", () => {
    expectTypeOf<{ kind: "invoice"; payload: { number: "7"; total: 4 } }>().toExtend<EntryInputOfKind<"invoice">>();
    expectTypeOf<{ kind: "invoice"; payload: { number: "7" } }>().not.toExtend<EntryInputOfKind<"invoice">>();
    expectTypeOf<EntryInputOfKind<"invoice">>().toExtend<EntryInput>();
    Thread.create().append({
      kind: "invoice",
      payload: { number: "7", total: 4 },
    } satisfies EntryInputOfKind<"invoice">);
  });

  test("leaves the others as they were", () => {
    if (entry.kind !== "message") return;
    expectTypeOf(entry.payload.role).toEqualTypeOf<string>();
  });
});
