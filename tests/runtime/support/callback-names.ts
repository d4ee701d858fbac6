import type { OpenTelemetryOptions, RunOptions, RuntimeTelemetry } from "heddle";
import type { AgentConfig } from "../../../src/agent/definition/config.ts";
import type { Tool, Tools } from "../../../src/agent/definition/tool.ts";
import type { Reader } from "../../../src/projection/transcript/entry-reader.ts";
import type { HostOptions } from "../../../src/runtime/host/options.ts";
import type { ServerOptions } from "../../../src/runtime/server/options.ts";
import type { CancelOptions, ContinueOptions } from "../../../src/runtime/standalone/options.ts";
import type { AgentToolOptions } from "../../../src/runtime/tools/agent-tool.ts";
import type { ToolRunOptions } from "../../../src/runtime/tools/run-tool.ts";
import type { UIMessageStreamOptions } from "../../../src/runtime/ui-messages/options.ts";
import type { AnyAgent } from "./heddle.ts";

type AnyFunction = (...input: never[]) => unknown;

/**
 * Fields that hold no callback: objects with a contract and tests of their own, such as models, stores, ports and signals.
 * Tools and readers have names that a caller chooses, and are listed by their own types.
 */
type Parts =
  | "agent"
  | "allowedTools"
  | "contextPolicy"
  | "deadline"
  | "hold"
  | "inputSchema"
  | "messages"
  | "model"
  | "models"
  | "output"
  | "ports"
  | "readers"
  | "refs"
  | "signal"
  | "store";

/** The names of the fields that take a function, also one level down: `limits.costUsd`. */
type Callbacks<Options, Except extends string = Parts> = {
  [Name in Exclude<keyof Options & string, Except>]-?: Callback<Name, NonNullable<Options[Name]>>;
}[Exclude<keyof Options & string, Except>];

type Callback<Name extends string, Value> =
  | ([Extract<Value, AnyFunction>] extends [never] ? never : Name)
  | Inner<Name, Exclude<Value, AnyFunction | readonly unknown[] | string | number | boolean>>;

type Inner<Name extends string, Value> = Value extends object
  ? {
      [Sub in keyof Value & string]-?: [Extract<Value[Sub], AnyFunction>] extends [never] ? never : `${Name}.${Sub}`;
    }[keyof Value & string]
  : never;

/** Every function that a user can give. A new one is an error of types where a table has no row for it. */
export type CallbackName =
  | Callbacks<AgentConfig<Tools, never>, Parts | "tools">
  | Callbacks<ServerOptions<AnyAgent>>
  | Callbacks<HostOptions<AnyAgent>>
  | Callbacks<RunOptions<AnyAgent>, Parts | "tools" | "thread">
  | Callbacks<ContinueOptions<AnyAgent>, Parts | "tools">
  | Callbacks<CancelOptions<AnyAgent>>
  | `tool.${Callbacks<Tool> | "inputSchema"}`
  | `agentTool.${Callbacks<Pick<AgentToolOptions, "prompt">>}`
  | `reader.${Callbacks<Reader>}`
  | `telemetry.${Callbacks<RuntimeTelemetry>}`
  | `openTelemetry.${Callbacks<OpenTelemetryOptions>}`
  | `ui.${Callbacks<UIMessageStreamOptions>}`
  | `runTool.${Callbacks<ToolRunOptions, Parts | "tools">}`
  | "output";
