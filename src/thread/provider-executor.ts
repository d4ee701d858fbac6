import type { Part, ProviderCallPart, ProviderResultPart } from "./message.ts";

/** A call that a provider ran by itself, such as a web search, or its result. */
export type ProviderRunPart = ProviderCallPart | ProviderResultPart;

/** What the ids of such calls begin with, by provider. Others, Google's among them, make ids without a meaning. */
const IDS: readonly (readonly [id: RegExp, provider: string])[] = [
  [/^(srv|mcp)toolu_/, "anthropic"],
  [/^(ws|ci|fs|ig|mcp|sh|shc|tsc?|cu|cgc?)_/, "openai"],
];

/** The other names of one provider, by the first word of its name. */
const PROVIDERS: { readonly [name: string]: string } = {
  azure: "openai",
  vertex: "google",
  gemini: "google",
};

/** The provider that ran a call; undefined when neither its id nor its metadata tells. */
function executorOf({ id, metadata = {} }: ProviderRunPart): string | undefined {
  const byId = IDS.find(([pattern]) => pattern.test(id))?.[1];
  const [owner] = Object.keys(metadata).filter((name) => name !== "heddle");
  return byId ?? (owner === undefined ? undefined : familyOf(owner));
}

/** Whether a provider can be shown the call: it ran it, or may have. */
export function canReadRun(part: ProviderRunPart, provider: string): boolean {
  const family = familyOf(provider);
  const executor = executorOf(part);
  if (family === "gateway") return true; // it hands on to the provider that ran it
  if (executor !== undefined) return executor === family;
  // Anthropic's ids always tell, and Gemini's format has a place for its own code execution only.
  return family !== "anthropic" && (family !== "google" || part.name === "code_execution");
}

export function isProviderRun(part: Part): part is ProviderRunPart {
  return part.type === "provider_call" || part.type === "provider_result";
}

/** "google" of "google.vertex.chat" and "google-vertex". */
function familyOf(provider: string): string {
  const name = provider.split(/[.-]/)[0] ?? provider;
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? name) : name;
}
