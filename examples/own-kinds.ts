// Kinds of your own: teach TypeScript their payloads once, and comparing `kind` narrows them everywhere.
import { type Entry, memoryStore } from "heddle";

declare module "heddle" {
  interface EntryKinds {
    order_placed: { readonly order: string; readonly total: number };
    order_paid: { readonly order: string; readonly amount: number };
  }
}

const store = memoryStore();
await store.append("customer_7", [
  { kind: "order_placed", payload: { order: "2026-1", total: 120 } },
  { kind: "order_paid", payload: { order: "2026-1", amount: 100 } },
  { kind: "message", payload: { role: "user", content: "The rest follows." } },
]);

const thread = await store.load("customer_7");
for (const entry of thread?.toArray() ?? []) console.log(describe(entry));
const due = thread?.filterByKind("order_placed").reduce((sum, { payload }) => sum + payload.total, 0) ?? 0;
const paid = thread?.filterByKind("order_paid").reduce((sum, { payload }) => sum + payload.amount, 0) ?? 0;
console.log(`still to pay: ${due - paid}`);
await store.close();

function describe(entry: Entry): string {
  switch (entry.kind) {
    case "order_placed":
      return `order ${entry.payload.order} over ${entry.payload.total}`;
    case "order_paid":
      return `${entry.payload.amount} paid on order ${entry.payload.order}`;
    case "message":
      return `${entry.payload.role}: ${entry.payload.content}`;
    default:
      return `${entry.kind} ${JSON.stringify(entry.payload)}`;
  }
}
