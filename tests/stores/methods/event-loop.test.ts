import { memoryStore } from "heddle";
import { notes } from "heddle/testing";
import { expect, test } from "vitest";

test("a read of a long thread yields to the event loop", async () => {
  const store = memoryStore();
  await store.append("long", notes(10_000));
  for (const read of [() => store.load("long"), () => store.verify("long")]) {
    let turned = false;
    setTimeout(() => {
      turned = true;
    });
    await read();
    expect(turned).toBe(true);
  }
  await store.close();
});
