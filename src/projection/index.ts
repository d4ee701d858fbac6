export { PolicyError } from "./policy/error.ts";
export type { ContextPolicyInput, ToolResultsPolicy, WindowPolicy } from "./policy/fields.ts";
export { ContextPolicy } from "./policy/policy.ts";
export { type PolicySources, resolvePolicy } from "./policy/resolve.ts";
