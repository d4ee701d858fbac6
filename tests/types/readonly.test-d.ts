import type { Entry, EntryInput, JsonObject, Refs, Thread } from "heddle";
import type { ThreadData, ThreadOptions } from "heddle/core";
import type { LaneBase, ThreadBase } from "heddle/store";
import { expectTypeOf, test } from "vitest";

/** The keys of T that may be assigned to. */
type Writable<T> = {
  [Key in keyof T]-?: (<X>() => X extends { [K in Key]: T[K] } ? 1 : 2) extends <X>() => X extends {
    readonly [K in Key]: T[K];
  }
    ? 1
    : 2
    ? never
    : T[Key] extends (...args: never) => unknown
      ? never
      : Key;
}[keyof T];

test("the helper distinguishes writable keys from readonly ones", () => {
  expectTypeOf<Writable<{ a: 1; readonly b: 2; c?: 3; d(): void }>>().toEqualTypeOf<"a" | "c">();
});

test("nothing of a thread, an entry or their data can be assigned to", () => {
  expectTypeOf<Writable<Entry>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<EntryInput>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<Thread>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<ThreadOptions>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<ThreadData>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<ThreadBase>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<LaneBase>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<Refs>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<JsonObject>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<Entry["payload"]>>().toEqualTypeOf<never>();
  expectTypeOf<Writable<ThreadData["entries"][number]>>().toEqualTypeOf<never>();
});

test("lists inside JSON are readonly, lists a thread makes for its caller are the caller's", () => {
  expectTypeOf<readonly number[]>().toExtend<JsonObject[string]>();
  expectTypeOf<ThreadData["entries"]>().toEqualTypeOf<readonly Entry[]>();
  expectTypeOf<ReturnType<Thread["toArray"]>>().toEqualTypeOf<Entry[]>();
});
