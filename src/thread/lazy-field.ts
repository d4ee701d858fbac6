const MAKE = Symbol("make");

/** One getter for all objects. V8 keeps all that a getter of an object literal holds until a full collection. */
const LAZY = {
  enumerable: true,
  configurable: true,
  get(this: { readonly [MAKE]: () => unknown }): unknown {
    return this[MAKE]();
  },
};

/** Adds a field to a new object. `make` is called whenever the field is read. An object can have one such field. */
export function lazyField<Fields extends object, Name extends string, Value>(
  object: Fields,
  name: Name,
  make: () => Value,
): Fields & { readonly [Field in Name]: Value } {
  Object.defineProperty(object, MAKE, { value: make });
  return Object.defineProperty(object, name, LAZY) as Fields & { readonly [Field in Name]: Value }; // just added
}
