import { checkName } from "../../thread/names.ts";
import { decideClaim, decideRelease, decideRenew } from "../decide/claim.ts";
import type { StoreDriver } from "../driver.ts";
import { checkOptions, checkSeq, invalidOption } from "../options.ts";
import type { CallOptions, ThreadStore } from "../port.ts";
import { NOTHING, type StoreContext } from "./context.ts";

/** `claim`, `renew` and `release`: which holder runs a thread. */
export function claimMethods(context: StoreContext): Pick<ThreadStore, "claim" | "renew" | "release"> {
  function checkCall(threadId: string, epoch: number, options: CallOptions): StoreDriver {
    const { driver } = context.forCall(options);
    checkSeq("epoch", epoch);
    checkName("threadId", threadId);
    return driver;
  }

  return {
    async claim(threadId, options) {
      const copy = checkOptions(options, ["holder", "ttlMs", "signal"]);
      context.checkOpen();
      checkName("holder", copy.holder);
      if (!(Number.isSafeInteger(copy.ttlMs) && copy.ttlMs > 0)) throw invalidOption("ttlMs", "a whole number above 0");
      checkName("threadId", threadId);
      const { driver } = context.withSignal(copy.signal);
      return driver.transact(threadId, NOTHING, (state) => decideClaim(threadId, copy, state));
    },

    async renew(threadId, epoch, options = {}) {
      const driver = checkCall(threadId, epoch, options);
      return driver.transact(threadId, NOTHING, (state) => decideRenew(threadId, epoch, state));
    },

    async release(threadId, epoch, options = {}) {
      const driver = checkCall(threadId, epoch, options);
      return driver.transact(threadId, NOTHING, (state) => decideRelease(threadId, epoch, state));
    },
  };
}
