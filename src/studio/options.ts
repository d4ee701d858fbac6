import type { AnyAgent } from "../agent/definition/agent.ts";
import type { RuntimePorts } from "../runtime/ports.ts";
import type { ThreadStore } from "../stores/port.ts";
import { type OptionNames, refuseUnknownOptions } from "../thread/option-names.ts";
import type { OfferedPrompt } from "./contract/info.ts";
import { StudioError } from "./http/error.ts";

export interface StudioOptions {
  /** The store of the threads. Studio does not close it. Default: the store at `url`. */
  readonly store?: ThreadStore | undefined;
  /** Used if there is no `store`: opened by Studio, and closed when it stops. Default "sqlite:./heddle.db". */
  readonly url?: string | undefined;
  /** The agent that answers. Default: the offline demo. */
  readonly agent?: AnyAgent | undefined;
  /** The context for each request, also for one that Studio resumes after a crash. Default: none. */
  readonly context?: ((threadId: string) => unknown) | undefined;
  /** Refuses everything that asks or changes. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Every call of the API must carry it. Default: a new one for `startStudio`, none for `studioHandler`. */
  readonly token?: string | undefined;
  /** The folder of the page; false for the API alone. Default: the page of the package. */
  readonly ui?: string | false | undefined;
  /** The name of the store on the page. Default: its kind. */
  readonly label?: string | undefined;
  /** Prompts that the empty page offers. Default: those of the demo if it answers, else none. */
  readonly prompts?: readonly OfferedPrompt[] | undefined;
  /** Host headers to allow besides the address that Studio listens on. Default: none. */
  readonly hosts?: readonly string[] | undefined;
  /** Milliseconds after which an idle thread is released. Default 10 000. */
  readonly idleMs?: number | undefined;
  /** The largest import, in bytes. An import is read into memory. Default 256 MiB. */
  readonly importLimit?: number | undefined;
  /** Gets warnings. Default: they are printed on stderr. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Clock, ids, timers and random numbers, for tests. Default: those of the system. */
  readonly ports?: Partial<RuntimePorts> | undefined;
}

export interface StartOptions extends StudioOptions {
  /** Default 4747; 0 takes any free port. */
  readonly port?: number | undefined;
  /** Default "127.0.0.1". */
  readonly host?: string | undefined;
}

/** A Studio that listens. */
export interface RunningStudio extends AsyncDisposable {
  /** Open this address. It works once, in one browser; the page keeps the token for other tabs. */
  readonly url: string;
  /** For `Authorization: Bearer`, for the command line, and for the page in another browser. */
  readonly token: string;
  readonly port: number;
  /** Ends the streams, waits up to `graceMs` (default 5000) for running requests, and releases the threads. */
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
