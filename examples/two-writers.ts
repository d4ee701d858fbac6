// Two writers decide on the same history. The second one is refused, loads the thread again, and decides again.
import { ConflictError, memoryStore, type Thread } from "heddle";

const store = memoryStore();
await store.append("stock", { kind: "stocked", payload: { pieces: 10 } });

await Promise.all([sell("north", 6), sell("south", 6)]);

console.log(`left: ${piecesIn(await store.load("stock"))}`);
await store.close();

/** Sells only what is there: the append holds only at the revision the decision was made on. */
async function sell(shop: string, pieces: number): Promise<void> {
  for (;;) {
    const thread = await store.load("stock");
    if (piecesIn(thread) < pieces) return console.log(`${shop}: only ${piecesIn(thread)} left, not sold`);
    try {
      await store.append("stock", { kind: "sold", payload: { shop, pieces } }, { expectedRev: thread?.rev ?? 0 });
      return console.log(`${shop}: sold ${pieces}`);
    } catch (error) {
      if (!ConflictError.isInstance(error)) throw error;
      console.log(`${shop}: expected revision ${error.expected}, it is ${error.actual}; loading again`);
    }
  }
}

function piecesIn(thread: Thread | undefined): number {
  const total = (kind: string) =>
    thread?.filterByKind(kind).reduce((sum, { payload }) => sum + Number(payload["pieces"]), 0) ?? 0;
  return total("stocked") - total("sold");
}
