import type * as heddle from "heddle";
import type * as aiSdk from "heddle/ai-sdk";
import type * as core from "heddle/core";
import type { PostgresStoreOptions } from "heddle/postgres";
import * as providers from "heddle/providers";
import type { SqliteStoreOptions } from "heddle/sqlite";
import type * as stores from "heddle/store";
import type { DemoOptions, StartOptions, StudioOptions } from "heddle/studio";
import type * as testing from "heddle/testing";
import { expectTypeOf, test } from "vitest";

/** The optional fields that refuse `undefined`: with `exactOptionalPropertyTypes`, a value that may be missing fails there. */
type Refusing<Options> = Options extends object
  ? {
      [Key in keyof Options]-?: object extends Pick<Options, Key>
        ? { [K in Key]: undefined } extends Pick<Options, Key>
          ? never
          : Key
        : never;
    }[keyof Options]
  : never;

type Agent = heddle.AgentDefinition;

/** Whatever is passed to a function of heddle as options. */
interface Public {
  ask: heddle.AskOptions;
  steer: heddle.SteerOptions;
  server: heddle.ServerOptions<Agent>;
  host: heddle.HostOptions<Agent>;
  agent: heddle.AgentConfig;
  thread: core.ThreadOptions;
  entry: heddle.EntryInput;
  toMessages: NonNullable<Parameters<heddle.Thread["toMessages"]>[0]>;
  entriesOfStep: core.StepOptions;
  openCalls: core.OpenCallsOptions;
  fromMessages: NonNullable<Parameters<typeof heddle.Thread.fromMessages>[1]>;
  policy: heddle.ContextPolicyInput;
  window: heddle.ContextPolicyInput["window"];
  toolResults: heddle.ContextPolicyInput["toolResults"];
  projection: heddle.ProjectionInput;
  append: stores.AppendOptions;
  load: stores.LoadOptions;
  read: stores.ReadOptions;
  list: stores.ListOptions;
  feed: stores.FeedOptions;
  watch: stores.WatchOptions;
  fork: stores.ForkOptions;
  claim: stores.ClaimOptions;
  verify: stores.VerifyOptions;
  run: heddle.RunOptions<Agent>;
  continue: core.ContinueOptions<Agent>;
  cancel: core.CancelOptions<Agent>;
  mcp: heddle.McpOptions;
  telemetry: heddle.OpenTelemetryOptions;
  memory: stores.MemoryStoreOptions;
  open: heddle.OpenStoreOptions;
  sqlite: SqliteStoreOptions;
  postgres: PostgresStoreOptions;
  studio: StudioOptions;
  start: StartOptions;
  demo: DemoOptions;
  prompt: providers.AISDKOptions;
  cache: providers.CacheOption;
  anthropic: NonNullable<Parameters<typeof providers.toAnthropic>[2]>;
  gemini: NonNullable<Parameters<typeof providers.toGemini>[2]>;
  stream: aiSdk.UIStreamOptions;
  response: aiSdk.UIMessageStreamResponseInit;
  toUI: aiSdk.ToUIMessagesOptions;
  turn: aiSdk.ChatTurnOptions;
  step: aiSdk.ProjectionStepOptions;
  scripted: testing.ScriptedModelOptions;
  faults: testing.FaultOptions;
  simulation: testing.SimulationOptions;
  projector: core.ProjectorOptions;
  stored: stores.StoreProjectionInput;
  transcript: NonNullable<Parameters<typeof heddle.transcript>[1]>;
  rebuild: NonNullable<Parameters<typeof heddle.rebuildCall>[2]>;
  fold: NonNullable<Parameters<typeof core.foldLane>[2]>;
  tool: Parameters<typeof heddle.runTool>[1];
  toolError: ConstructorParameters<typeof heddle.ToolError>[0];
  summaryRequest: NonNullable<Parameters<typeof core.summaryRequest>[1]>;
  acceptSummary: NonNullable<Parameters<typeof core.acceptSummary>[2]>;
  mint: heddle.TokenConfig;
}

test("an option that may be missing may be undefined", () => {
  expectTypeOf<{ [Name in keyof Public]: Refusing<Public[Name]> }>().toEqualTypeOf<{ [Name in keyof Public]: never }>();
});

test("the stable prefix of a projection can be handed on as it is", () => {
  const meta = {} as heddle.Projection["meta"];
  expectTypeOf(providers.toAISDKPrompt).toBeCallableWith([], { cache: { stablePrefix: meta.stablePrefix } });
});
