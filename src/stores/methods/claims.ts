import { checkName } from "../../thread/names.ts";
import { decideClaim, decideRelease, decideRenew } from "../decide/claim.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { ThreadStore } from "../port.ts";
import type { StoreContext } from "./context.ts";

/** `claim`, `renew` and `release`: which holder runs a thread. */
export function claimMethods(context: StoreContext): Pick<ThreadStore, "claim" | "renew" | "release"> {
  const { driver } = context;

  function checkCall(threadId: string, epoch: number): void {
    context.checkOpen();
    checkSeq("epoch", epoch);
    checkName("threadId", threadId);
  }

  return {
    async claim(threadId, options) {
      const copy = checkOptions(options, ["holder", "ttlMs"]);
      context.checkOpen();
      checkName("holder", copy.holder);
      if (!(Number.isSafeInteger(copy.ttlMs) && copy.ttlMs > 0)) throw invalidOption("ttlMs", "a whole number above 0");
      checkName("threadId", threadId);
      return driver.transact(threadId, [], (state) => decideClaim(threadId, copy, state));
    },

    async renew(threadId, epoch) {
      checkCall(threadId, epoch);
      return driver.transact(threadId, [], (state) => decideRenew(threadId, epoch, state));
    },

    async release(threadId, epoch) {
      checkCall(threadId, epoch);
      return driver.transact(threadId, [], (state) => decideRelease(threadId, epoch, state));
    },
  };
}
