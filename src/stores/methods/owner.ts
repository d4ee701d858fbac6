import { checkName } from "../../thread/options.ts";
import { threadNotFound } from "../errors.ts";
import type { ThreadStore } from "../port.ts";
import { checkHead, sealHead, threadInfo } from "../row-format.ts";
import { NOTHING, type StoreContext } from "./context.ts";

/** `setOwner`: another owner for a thread. */
export function ownerMethods(context: StoreContext): Pick<ThreadStore, "setOwner"> {
  const { sha256 } = context.ports;
  return {
    async setOwner(threadId, owner, options = {}) {
      const { driver } = context.forCall(options);
      checkName("threadId", threadId);
      checkName("owner", owner);
      return driver.transact(threadId, NOTHING, ({ head: before, now }) => {
        if (before === undefined) throw threadNotFound(threadId);
        const head = sealHead(threadId, { ...checkHead(threadId, before, sha256), owner, updatedAt: now }, sha256);
        return { result: threadInfo(threadId, head), head };
      });
    },
  };
}
