import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import { checkAgentTools } from "../../agent/definition/tool-checks.ts";
import type { ReactSettings, ToolTraits } from "../../agent/react/settings.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { HookLimit } from "../hook.ts";
import { toolSettings } from "./settings.ts";

interface Item {
  readonly tool: AnyTool;
  readonly specs: readonly ToolSpec[];
  readonly traits: ToolTraits;
}

type Items = ReadonlyMap<string, Item>;
type Told = Pick<ReactSettings, "tools" | "traits">;

/** The tools of an agent as they are now, and beside them those that were lent to the request under way. */
export class Toolbox {
  readonly #changed: (settings: Told) => void;
  #own: Items;
  #lent: { readonly to: string; readonly items: Items } | undefined;
  #tools: Tools = {};

  constructor(own: Items, changed: (settings: Told) => void) {
    this.#own = own;
    this.#changed = changed;
    this.#look();
  }

  get tools(): Tools {
    return this.#tools;
  }

  /** The same name again is another tool in the same place. */
  add(item: Items): void {
    this.#own = new Map([...this.#own, ...item]);
    this.#look();
  }

  remove(name: string): boolean {
    const left = new Map(this.#own);
    const isKnown = left.delete(name);
    this.#own = left;
    this.#look();
    return isKnown;
  }

  /** To the request that comes next, also while the one before still tells its end. */
  lend(requestId: string, items: Items): void {
    this.#lent = { to: requestId, items };
    this.#look();
  }

  takeBack(requestId: string): void {
    if (this.#lent?.to !== requestId) return;
    this.#lent = undefined;
    this.#look();
  }

  #look(): void {
    const all = new Map([...this.#own, ...(this.#lent?.items ?? [])]);
    this.#tools = Object.fromEntries([...all].map(([name, { tool }]) => [name, tool]));
    this.#changed({
      tools: [...all.values()].flatMap(({ specs }) => specs),
      traits: Object.fromEntries([...all].map(([name, { traits }]) => [name, traits])),
    });
  }
}

/** Tools with what is told of them; their schemas are converted here. */
export async function itemsOf(tools: Tools, limit?: HookLimit): Promise<Items> {
  checkAgentTools(tools);
  const items = Object.entries(tools).map(async ([name, tool]) => {
    const { tools: specs, traits } = await toolSettings({ [name]: tool }, limit);
    return [name, { tool, specs, traits: traits[name] ?? {} }] as const;
  });
  return new Map(await Promise.all(items));
}
