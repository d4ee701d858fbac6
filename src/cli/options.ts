/** One option of a command. */
interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type Options = { readonly [name: string]: Option };

/** What was given for options. */
export type Values<Given extends Options> = {
  readonly [Name in keyof Given]: Given[Name] extends { readonly type: "boolean" }
    ? boolean | undefined
    : Given[Name] extends { readonly multiple: true }
      ? readonly string[] | undefined
      : string | undefined;
};

/** Every command has these. */
export const COMMON = {
  json: { type: "boolean", help: "one JSON object on stdout; JSON Lines from what streams" },
  quiet: { type: "boolean", short: "q", help: "say nothing on stderr but errors" },
  "no-input": { type: "boolean", help: "never ask anything" },
  "no-color": { type: "boolean", help: "no colour; also NO_COLOR" },
  help: { type: "boolean", short: "h", help: "this text" },
} as const satisfies Options;

/** Where the threads are. */
export const STORE = {
  store: {
    type: "string",
    short: "s",
    value: "url",
    help: "sqlite:./heddle.db (default), postgres://…; also HEDDLE_STORE",
  },
  tenant: { type: "string", value: "name", help: "whose threads; also HEDDLE_TENANT" },
} as const satisfies Options;

/** A Studio that has them, instead of a store. */
export const SERVER = {
  server: { type: "string", value: "url", help: "a running Studio, http://127.0.0.1:4747; also HEDDLE_SERVER" },
  token: { type: "string", value: "token", help: "what it asks for; also HEDDLE_TOKEN" },
} as const satisfies Options;

export const PLACE = { ...STORE, ...SERVER } as const satisfies Options;

/** Who answers. */
export const AGENT = {
  agent: {
    type: "string",
    value: "file",
    help: "a module that exports an agent; default: by the key in the environment",
  },
} as const satisfies Options;
