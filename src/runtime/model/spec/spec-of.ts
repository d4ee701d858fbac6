import type { ProviderModel } from "../../../agent/definition/language-model.ts";
import { ModelError } from "../error.ts";
import type { ModelSpec } from "./spec.ts";
import { v2 } from "./v2.ts";
import { v3 } from "./v3.ts";
import { v4 } from "./v4.ts";

const SPECS: { readonly [version: string]: ModelSpec } = { v2, v3, v4 };

/** Users without types pass what they have: a name, a model of a framework, a later version. */
export function specOf({ specificationVersion: version }: ProviderModel): ModelSpec {
  const spec = Object.hasOwn(SPECS, version) ? SPECS[version] : undefined;
  if (spec !== undefined) return spec;
  throw new ModelError({
    code: "model_unsupported",
    message:
      "The model is of no version of the AI SDK's specification that is known here (v2, v3, v4); pass what a " +
      "provider package returns, such as openai(name).",
  });
}
