/** A module of Node, Bun or Deno. Undefined elsewhere: an import would fail in browsers. */
export function builtinModule<Module>(name: string): Module | undefined {
  const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.(name) as Module | undefined; // as Node documents it
}
