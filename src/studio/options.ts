import type { AnyAgent } from "../agent/definition/agent.ts";
import type { RuntimePorts } from "../runtime/ports.ts";
import type { ThreadStore } from "../stores/port.ts";
import { type OptionNames, refuseUnknownOptions } from "../thread/option-names.ts";
import type { OfferedPrompt } from "./contract/info.ts";
import { StudioError } from "./http/error.ts";

export interface StudioOptions {
  /** The threads to show; it is not closed. */
  readonly store?: ThreadStore | undefined;
  /** Instead of a store: opened here, and closed when Studio stops. Default "sqlite:./heddle.db". */
  readonly url?: string | undefined;
  /** Who answers. Default the offline demo. */
  readonly agent?: AnyAgent | undefined;
  /** The context of every ask, and of a request that a crash has interrupted. */
  readonly context?: ((threadId: string) => unknown) | undefined;
  readonly readOnly?: boolean | undefined;
  /** Every call of the API must carry it. `startStudio` makes one by default; `studioHandler` asks for none by default. */
  readonly token?: string | undefined;
  /** The folder of the page; false for the API alone. Default the one that comes with the package. */
  readonly ui?: string | false | undefined;
  /** What the page calls the store. Default its kind. */
  readonly label?: string | undefined;
  /** Offered on the empty page. Default the demo's. */
  readonly prompts?: readonly OfferedPrompt[] | undefined;
  /** Names that the Host header may have beside the address it listens on. */
  readonly hosts?: readonly string[] | undefined;
  /** How long a thread stays at hand when nothing runs on it. Default 10 000. */
  readonly idleMs?: number | undefined;
  /** The largest import, in bytes; it is read into memory. Default 256 MiB. */
  readonly importLimit?: number | undefined;
  readonly warn?: ((message: string) => void) | undefined;
  /** Clock, ids, timers and chance; for tests. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

export interface StartOptions extends StudioOptions {
  /** Default 4747; 0 is any that is free. */
  readonly port?: number | undefined;
  /** Default "127.0.0.1". */
  readonly host?: string | undefined;
}

/** A Studio that listens. */
export interface RunningStudio extends AsyncDisposable {
  /** Open this. It lets in one browser, once; the page keeps the token for further tabs. */
  readonly url: string;
  /** For `Authorization: Bearer`, for the command line, and for the page in another browser. */
  readonly token: string;
  readonly port: number;
  /** Ends streams, lets requests at work end, lets the threads go. */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const NAMES: OptionNames<StudioOptions> = {
  store: true,
  url: true,
  agent: true,
  context: true,
  readOnly: true,
  token: true,
  ui: true,
  label: true,
  prompts: true,
  hosts: true,
  idleMs: true,
  importLimit: true,
  warn: true,
  ports: true,
};

export function checkStudioOptions(what: string, options: object, more: { readonly [name: string]: true } = {}): void {
  refuseUnknownOptions(what, options, { ...NAMES, ...more }, (message) => {
    return new StudioError({ code: "invalid_options", status: 400, message });
  });
}
