import { ToolError } from "../../agent/definition/errors.ts";
import type { LoadModule } from "../../tokens/exact.ts";
import { fieldOf } from "./schema-kinds.ts";

/** Names are literals inside a try: bundlers follow them, and only warn where an optional package is not installed. */
const importModule: LoadModule = async (name) => {
  try {
    if (name === "@valibot/to-json-schema") return await import("@valibot/to-json-schema");
    if (name === "zod-to-json-schema") return await import("zod-to-json-schema");
    return await import("zod/v4/core"); // zod 3.25 has this path too
  } catch (cause) {
    return Promise.reject(cause);
  }
};

interface Converter {
  readonly package: string;
  readonly version: string;
  readonly named: string;
  readonly options: object;
}

/** For releases that do not convert themselves. Zod did not before 4.2, and zod 3 has no `_zod`. */
function converterOf(vendor: string, schema: unknown): Converter | undefined {
  if (vendor === "valibot") {
    const options = { typeMode: "input", target: "draft-07" };
    return { package: "@valibot/to-json-schema", version: "1", named: "toJsonSchema", options };
  }
  if (vendor !== "zod") return undefined;
  return fieldOf(schema, "_zod") === undefined
    ? {
        package: "zod-to-json-schema",
        version: "3",
        named: "zodToJsonSchema",
        options: { target: "jsonSchema7", $refStrategy: "none" },
      }
    : { package: "zod", version: "4", named: "toJSONSchema", options: { target: "draft-7", io: "input" } };
}

/** The JSON Schema by the vendor's own package; undefined when none is known. */
export async function converted(
  vendor: string,
  schema: unknown,
  load: LoadModule = importModule,
): Promise<object | undefined> {
  const method = fieldOf(schema, "toJsonSchema"); // arktype
  if (typeof method === "function") return Reflect.apply(method, schema, []);
  const converter = converterOf(vendor, schema);
  if (converter === undefined) return undefined;
  const convert = fieldOf(await loaded(converter, load), converter.named);
  if (typeof convert !== "function") throw missing(converter);
  return convert(schema, converter.options);
}

async function loaded(converter: Converter, load: LoadModule): Promise<unknown> {
  try {
    return await load(converter.package);
  } catch (cause) {
    throw missing(converter, cause);
  }
}

function missing({ package: name, version }: Converter, cause?: unknown): ToolError {
  const message = `Its schema needs the package ${name} to become a JSON Schema. Run: npm install ${name}@${version}`;
  return new ToolError({ code: "tool_schema_unsupported", message, cause });
}
