import type { Part, ProviderCallPart, ProviderResultPart } from "./message.ts";

/** A call that a provider ran itself, such as a web search, or its result. */
export type ProviderExecutedPart = ProviderCallPart | ProviderResultPart;

/** The id prefixes of such calls, by provider. Ids of other providers, such as Google, have no known prefix. */
const IDS: readonly (readonly [id: RegExp, provider: string])[] = [
  [/^(srv|mcp)toolu_/, "anthropic"],
  [/^(ws|ci|fs|ig|mcp|sh|shc|tsc?|cu|cgc?)_/, "openai"],
];

/** Other names of a provider, by the first word of the name. */
const PROVIDERS: { readonly [name: string]: string } = {
  azure: "openai",
  vertex: "google",
  gemini: "google",
};

/** The provider that ran a call. Undefined when neither its id nor its metadata names one. */
function executorOf({ id, metadata = {} }: ProviderExecutedPart): string | undefined {
  const byId = IDS.find(([pattern]) => pattern.test(id))?.[1];
  const [owner] = Object.keys(metadata).filter((name) => name !== "heddle");
  return byId ?? (owner === undefined ? undefined : familyOf(owner));
}

/** Whether a provider can be shown the call, because it ran it or may have run it. */
export function canReadProviderCall(part: ProviderExecutedPart, provider: string): boolean {
  const family = familyOf(provider);
  const executor = executorOf(part);
  if (family === "gateway") return true; // the gateway forwards to the provider that ran the tool call
  if (executor !== undefined) return executor === family;
  // Anthropic's ids always have a prefix. Gemini's format can hold only its own code execution.
  return family !== "anthropic" && (family !== "google" || part.name === "code_execution");
}

export function isProviderExecuted(part: Part): part is ProviderExecutedPart {
  return part.type === "provider_call" || part.type === "provider_result";
}

/** The provider without a suffix: "google" for "google.vertex.chat" and "google-vertex". */
function familyOf(provider: string): string {
  const name = provider.split(/[.-]/)[0] ?? provider;
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? name) : name;
}
