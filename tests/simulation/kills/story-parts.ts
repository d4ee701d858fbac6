import type { RuntimePorts } from "../../../src/runtime/ports.ts";
import { apiError } from "../../../src/scripted-model/answer.ts";
import type { Rules } from "./rule-model.ts";
import type { Stage } from "./stage.ts";

/** Calls these tools first, and when it has a result, says that it is done. */
export function calling(...calls: readonly (readonly [name: string, serial: number])[]): Rules {
  return (prompt) => (prompt.includes('"role":"tool"') ? "Done." : { calls });
}

export const DONE: Rules = () => "Done.";
export const TOO_LONG = apiError({ status: 400, message: "prompt is too long: 9 > 8" });

export async function begun(stage: Stage): Promise<void> {
  await stage.start();
  await stage.ask("Do it.");
}

export function later<Value>({ after }: RuntimePorts, value: Value): Promise<Value> {
  return new Promise((resolve) => void after(200, () => resolve(value)));
}
