/** One option of a command. */
interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** Placeholder for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type Options = { readonly [name: string]: Option };

/** The parsed values of options. */
export type Values<Given extends Options> = {
  readonly [Name in keyof Given]: Given[Name] extends { readonly type: "boolean" }
    ? boolean | undefined
    : Given[Name] extends { readonly multiple: true }
      ? readonly string[] | undefined
      : string | undefined;
};

/** Every command has these. */
export const COMMON = {
  json: { type: "boolean", help: "print one JSON object on stdout; commands that stream print JSON Lines" },
  quiet: { type: "boolean", short: "q", help: "print only errors on stderr" },
  "no-input": { type: "boolean", help: "never ask a question" },
  "no-color": { type: "boolean", help: "no color; also NO_COLOR" },
  help: { type: "boolean", short: "h", help: "show this help" },
} as const satisfies Options;

/** Options that name the store. */
export const STORE = {
  store: {
    type: "string",
    short: "s",
    value: "url",
    help: "sqlite:./heddle.db (default), postgres://…; also HEDDLE_STORE",
  },
  tenant: { type: "string", value: "name", help: "the tenant whose threads are used; also HEDDLE_TENANT" },
} as const satisfies Options;

/** Options that name a running Studio instead of a store. */
export const SERVER = {
  server: { type: "string", value: "url", help: "a running Studio, http://127.0.0.1:4747; also HEDDLE_SERVER" },
  token: { type: "string", value: "token", help: "access token of that Studio; also HEDDLE_TOKEN" },
} as const satisfies Options;

export const PLACE = { ...STORE, ...SERVER } as const satisfies Options;

/** The option that names the agent. */
export const AGENT = {
  agent: {
    type: "string",
    value: "file",
    help: "a module that exports an agent; default: a model whose key is in the environment",
  },
} as const satisfies Options;
