import { checkName } from "../../thread/names.ts";
import { decideClaim, decideRelease, decideRenew } from "../decide/claim.ts";
import { checkSeq, invalidOption } from "../options.ts";
import type { ClaimOptions, ClaimResult } from "../port.ts";
import type { StoreContext } from "./context.ts";

export function claim({ driver }: StoreContext, threadId: string, options: ClaimOptions): Promise<ClaimResult> {
  const { holder, ttlMs } = options;
  checkName("holder", holder);
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0)) throw invalidOption("ttlMs", "a whole number above 0");
  checkName("threadId", threadId);
  return driver.transact(threadId, [], (state) => decideClaim(threadId, options, state));
}

export function renew({ driver }: StoreContext, threadId: string, epoch: number): Promise<ClaimResult> {
  checkSeq("epoch", epoch);
  checkName("threadId", threadId);
  return driver.transact(threadId, [], (state) => decideRenew(threadId, epoch, state));
}

export function release({ driver }: StoreContext, threadId: string, epoch: number): Promise<void> {
  checkSeq("epoch", epoch);
  checkName("threadId", threadId);
  return driver.transact(threadId, [], (state) => decideRelease(threadId, epoch, state));
}
