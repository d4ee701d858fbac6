// Runs the cases of the store contract in a Durable Object.
import { type DurableStorage, durableObjectStore } from "heddle/cloudflare";
import { ContractFailure, storeContract } from "heddle/testing";
import { toObject } from "../../support/workerd/to-object.ts";

export class Thread {
  readonly #storage: DurableStorage;

  constructor(ctx: { readonly storage: DurableStorage }) {
    this.#storage = ctx.storage;
  }

  async fetch(request: Request): Promise<Response> {
    const wanted = new URL(request.url).searchParams.get("case");
    const cases = storeContract({ open: (options) => durableObjectStore(this.#storage, options) });
    if (wanted === null) return Response.json(cases.map(({ name, group, skip }) => ({ name, group, skip })));
    try {
      await cases[Number(wanted)]?.run();
      return Response.json(null);
    } catch (error) {
      const { message, stack } = error as Error; // the cases throw nothing else
      const values = error instanceof ContractFailure && { expected: error.expected, actual: error.actual };
      return Response.json({ message, stack, ...values });
    }
  }
}

export default { fetch: toObject("contract") };
