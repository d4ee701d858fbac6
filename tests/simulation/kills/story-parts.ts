import { suspend, type ToolOptions, type Tools } from "heddle";
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

/** Waits until the model has said something. */
export async function spoken(stage: Stage): Promise<void> {
  const { request } = stage.server;
  let hasSpoken = false;
  const listen = async (): Promise<void> => {
    for await (const _text of request?.textStream ?? []) hasSpoken = true;
  };
  void listen();
  await stage.until(() => hasSpoken);
}

export function later<Value>({ after }: RuntimePorts, value: Value): Promise<Value> {
  return new Promise((resolve) => void after(200, () => resolve(value)));
}

/** A tool that needs an answer. It asks at once, or takes its time. */
export function asksForSeat(ports?: RuntimePorts): { readonly tools: Tools } {
  const execute = (_input: unknown, { answer }: ToolOptions) => {
    if (answer !== undefined) return `Seat ${answer}`;
    return ports === undefined ? suspend("Which seat?") : later(ports, suspend("Which seat?"));
  };
  return { tools: { book: { inputSchema: { type: "object" }, execute } } };
}
