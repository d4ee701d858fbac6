import type { ModelCallOptions, ModelReader, ProviderModel } from "../../agent/definition/language-model.ts";
import type { RuntimePorts } from "../../runtime/ports.ts";
import { apiError } from "../../scripted-model/answer.ts";
import type { Random } from "../random.ts";

/** The parts of one model answer, with delays. */
interface AnswerPlan {
  readonly parts: readonly object[];
  readonly finishReason: string;
  readonly deltaMs: number;
  /** The failure or stall that replaces the part at index `at`. */
  readonly trouble?: { readonly at: number; readonly error: unknown } | { readonly at: number; readonly stalls: true };
}

/** A model with random answers and random failures. */
export class GeneratedModel implements ProviderModel {
  readonly specificationVersion = "v4";
  readonly provider = "simulated";
  readonly modelId = "generator";
  readonly #random: Random;
  readonly #calls: GeneratedCalls;
  readonly #after: RuntimePorts["after"];
  /** Whether the model must give only valid answers. */
  readonly #isCalm: () => boolean;

  constructor(random: Random, calls: GeneratedCalls, after: RuntimePorts["after"], isCalm: () => boolean) {
    this.#random = random;
    this.#calls = calls;
    this.#after = after;
    this.#isCalm = isCalm;
  }

  async doGenerate(options: ModelCallOptions): Promise<{ content: object[]; finishReason: object; usage: object }> {
    const { parts, trouble, finishReason, deltaMs } = this.#plan(options);
    await this.#pause(deltaMs);
    if (trouble !== undefined && "stalls" in trouble) await this.#pause(LONG_MS); // stalls: only the user can end the call
    if (trouble !== undefined && "error" in trouble) throw trouble.error;
    const content = parts.flatMap((part) => whole(part));
    return { content, finishReason: reason(finishReason), usage: this.#usage() };
  }

  async doStream(options: ModelCallOptions): Promise<{ stream: { getReader(): ModelReader } }> {
    const plan = this.#plan(options);
    await this.#pause(plan.deltaMs);
    if (plan.trouble?.at === 0 && "error" in plan.trouble) throw plan.trouble.error;
    const end = { type: "finish", finishReason: reason(plan.finishReason), usage: this.#usage() };
    const parts = [
      { type: "stream-start", warnings: [] },
      ...plan.parts,
      ...(plan.finishReason === "none" ? [] : [end]),
    ];
    let place = 0;
    const read: ModelReader["read"] = async () => {
      const at = place++;
      if (at > 0 && plan.deltaMs > 0) await this.#pause(plan.deltaMs);
      if (plan.trouble !== undefined && at > plan.trouble.at) {
        if ("stalls" in plan.trouble) return new Promise(() => undefined);
        throw plan.trouble.error;
      }
      return at < parts.length ? { done: false, value: parts[at] } : { done: true };
    };
    return { stream: { getReader: () => ({ read, cancel: async () => undefined }) } };
  }

  #plan({ prompt, ...options }: ModelCallOptions): AnswerPlan {
    const random = this.#random;
    const hasTools = Array.isArray(Reflect.get(options, "tools")) && Reflect.get(options, "tools").length > 0;
    const deltaMs = random.oneIn(3) ? random.below(300) : 0;
    const says = hasTools && random.below(100) < (this.#isCalm() ? 20 : 55);
    const text = says && !random.oneIn(4) ? [] : this.#text(prompt.length);
    const thinking = random.oneIn(6) ? block("reasoning", "r1", ["Let me think. ", `Of ${random.below(9)}.`]) : [];
    const parts = [...thinking, ...text, ...(says ? this.#calls.some(random) : [])];
    const plan: AnswerPlan = { parts, finishReason: says ? "tool-calls" : "stop", deltaMs };
    return this.#isCalm() ? plan : this.#troubled(plan);
  }

  #troubled(plan: AnswerPlan): AnswerPlan {
    const random = this.#random;
    const at = random.below(plan.parts.length + 1);
    switch (random.below(30)) {
      case 0:
        return { ...plan, trouble: { at, error: apiError({ status: 429, retryAfterMs: random.below(900) }) } };
      case 1:
        return { ...plan, trouble: { at: 0, error: apiError({ status: 503 }) } };
      case 2:
        return { ...plan, trouble: { at: 0, error: apiError({ status: 401, message: "invalid key" }) } };
      case 3:
      case 4:
        return { ...plan, trouble: { at: 0, error: apiError({ status: 400, message: "prompt is too long: 9 > 8" }) } };
      case 5:
        return { ...plan, trouble: { at, stalls: true } };
      case 6:
        return { ...plan, trouble: { at, error: new Error("socket hang up") } };
      case 7:
        return { ...plan, finishReason: "none" };
      case 8:
        return { ...plan, finishReason: "length" };
      case 9:
        return { ...plan, parts: [], finishReason: random.oneIn(2) ? "content-filter" : "stop" };
      default:
        return plan;
    }
  }

  #text(promptLength: number): readonly object[] {
    const random = this.#random;
    const words = random.list(1 + random.below(4), () => random.pick(WORDS));
    const text = random.oneIn(3) ? [`{"answer":${random.below(9)}}`] : [`${promptLength} `, ...words];
    if (random.oneIn(12)) text.push(" and so on".repeat(150));
    return block("text", "t1", text);
  }

  #usage(): object {
    const total = 50 + this.#random.below(500);
    return {
      inputTokens: { total, cacheRead: this.#random.below(50) },
      outputTokens: { total: this.#random.below(90) },
    };
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0) return;
    await new Promise<void>((resolve) => {
      this.#after(ms, resolve);
    });
  }
}

const LONG_MS = 20_000;
const WORDS = ["four", "perhaps", "I looked", "done", "it rains", " ", "ask again", "émile 🌧"] as const;

function block(type: "text" | "reasoning", id: string, deltas: readonly string[]): readonly object[] {
  return [
    { type: `${type}-start`, id },
    ...deltas.map((delta) => ({ type: `${type}-delta`, id, delta })),
    { type: `${type}-end`, id },
  ];
}

/** Converts a stream part to parts of an answer without streaming. */
function whole(part: object): object[] {
  const { type, delta } = part as { readonly type: string; readonly delta?: string }; // made above
  if (type === "text-delta") return [{ type: "text", text: delta }];
  if (type === "reasoning-delta") return [{ type: "reasoning", text: delta }];
  return type === "tool-call" ? [part] : [];
}

function reason(unified: string): object {
  return { unified: unified === "none" ? "other" : unified, raw: unified };
}

const UNKNOWN = "teleport";

/** Generates tool calls. Every call has a unique number, so that its runs can be counted. */
export class GeneratedCalls {
  readonly #names: readonly [string, ...string[]];
  #made = 0;

  constructor(names: readonly [string, ...string[]]) {
    this.#names = names;
  }

  /** Makes one to four parallel calls. Ids may be missing and mostly repeat in every answer, as on many servers. */
  some(random: Random): readonly object[] {
    const count = random.pick([1, 1, 2, 2, 3, 4]);
    const own = random.oneIn(3);
    return random.list(count, (index) => {
      const serial = this.#made++;
      const toolCallId = own ? `c${serial}` : random.oneIn(20) ? "" : `call_${index}`;
      const toolName = random.oneIn(20) ? UNKNOWN : random.pick(this.#names);
      return { type: "tool-call", toolCallId, toolName, input: callInput(random, serial) };
    });
  }
}

function callInput(random: Random, serial: number): string {
  if (!random.oneIn(12)) return JSON.stringify({ serial });
  return random.pick(['{"serial":', "[1]", '{"serial":"no number"}', "", '"text"']);
}
