import type { JsonValue } from "../../thread/json.ts";
import { type ContractTests, equal, until } from "./case-fixture.ts";

/** Cases: short messages between the processes of a tenant, for a store that carries them. */
export const busCases: ContractTests = {
  "a message of the bus reaches each listener of the tenant, in order": async ({ store, open, fresh }) => {
    const other = await open({ tenant: fresh("them") });
    if (store.bus === undefined || other.bus === undefined) return; // the driver carries no messages
    const [first, second, wrong, gone]: JsonValue[][] = [[], [], [], []];
    const listen = (heard: JsonValue[] = []) => store.bus?.subscribe((message) => void heard.push(message));
    listen(first);
    listen(second);
    listen(gone)?.();
    other.bus.subscribe((message) => void wrong?.push(message));
    const messages: JsonValue[] = [{ n: 1, text: "\u00e9\ud83d\ude00" }, [null, false, 2.5], "3"];
    for (const message of messages) store.bus.publish(message);
    await until(async () => (first?.length === messages.length && second?.length === messages.length) || undefined);
    equal([first, second, wrong, gone], [messages, messages, [], []], "heard");
  },
};
