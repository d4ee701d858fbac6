import { ThreadError } from "../errors.ts";
import { describe, isPlainObject, type JsonObject, type JsonValue, notOneOf } from "../json.ts";

/** A value inside the caller's list with its path, so that errors can name the place. */
export class Field {
  readonly value: JsonValue | undefined;
  readonly path: string;

  constructor(value: JsonValue | undefined, path: string) {
    this.value = value;
    this.path = path;
  }

  /** Whether there is a value. Undefined and null count as none. */
  get isPresent(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  get object(): JsonObject {
    if (isPlainObject(this.value)) return this.value as JsonObject; // plain, and JSON already
    throw this.error("must be an object");
  }

  get text(): string {
    if (typeof this.value === "string") return this.value;
    throw this.error("must be text");
  }

  get optionalText(): string | undefined {
    return this.isPresent ? this.text : undefined;
  }

  /** A missing list counts as empty. */
  get list(): readonly Field[] {
    if (!this.isPresent) return [];
    if (!Array.isArray(this.value)) throw this.error("must be a list");
    return this.value.map((item: JsonValue, index) => new Field(item, `${this.path}[${index}]`));
  }

  /** The `type` of a part or message. */
  get type(): string {
    return this.at("type").text;
  }

  at(key: string): Field {
    const { object, path } = this;
    return new Field(Object.hasOwn(object, key) ? object[key] : undefined, `${path}.${key}`);
  }

  /** An error that shows the value. Use it for fields with fixed words, which hold no content. */
  notOneOf(words: readonly string[]): ThreadError {
    return this.#invalid(notOneOf(words, this.value));
  }

  error(rule: string): ThreadError {
    return this.#invalid(`${rule}, not ${describe(this.value)}`);
  }

  #invalid(trouble: string): ThreadError {
    const { path } = this;
    return new ThreadError({ code: "invalid_message", path, message: `${path} ${trouble}.` });
  }
}
