import type * as heddle from "heddle";
import type * as aiSdk from "heddle/ai-sdk";
import type { PostgresStoreOptions } from "heddle/postgres";
import * as providers from "heddle/providers";
import type { SqliteStoreOptions } from "heddle/sqlite";
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

type Agent = heddle.Agent;

/** Whatever is passed to a function of heddle as options. */
interface Public {
  ask: heddle.AskOptions;
  steer: heddle.SteerOptions;
  server: heddle.ServerOptions<Agent>;
  host: heddle.HostOptions<Agent>;
  agent: heddle.AgentConfig;
  thread: heddle.ThreadOptions;
  entry: heddle.EntryInput;
  toMessages: NonNullable<Parameters<heddle.Thread["toMessages"]>[0]>;
  entriesOfStep: heddle.StepOptions;
  openCalls: heddle.OpenCallsOptions;
  fromMessages: NonNullable<Parameters<typeof heddle.Thread.fromMessages>[1]>;
  policy: heddle.ContextPolicyInput;
  window: heddle.ContextPolicyInput["window"];
  toolResults: heddle.ContextPolicyInput["toolResults"];
  projection: heddle.ProjectionInput;
  append: heddle.AppendOptions;
  load: heddle.LoadOptions;
  read: heddle.ReadOptions;
  list: heddle.ListOptions;
  feed: heddle.FeedOptions;
  watch: heddle.WatchOptions;
  fork: heddle.ForkOptions;
  claim: heddle.ClaimOptions;
  verify: heddle.VerifyOptions;
  run: heddle.RunOptions<Agent>;
  continue: heddle.ContinueOptions<Agent>;
  cancel: heddle.CancelOptions<Agent>;
  mcp: heddle.McpOptions;
  telemetry: heddle.OpenTelemetryOptions;
  memory: heddle.MemoryStoreOptions;
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
  stream: aiSdk.UIMessageStreamOptions;
  response: aiSdk.UIMessageStreamResponseInit;
  toUI: aiSdk.ToUIMessagesOptions;
  turn: aiSdk.ChatTurnOptions;
  step: aiSdk.ProjectionStepOptions;
  scripted: testing.ScriptedModelOptions;
  faults: testing.FaultOptions;
  simulation: testing.SimulationOptions;
  projector: heddle.ProjectorOptions;
  stored: heddle.StoredInput;
  transcript: NonNullable<Parameters<typeof heddle.transcript>[1]>;
  rebuild: NonNullable<Parameters<typeof heddle.rebuildCall>[2]>;
  fold: NonNullable<Parameters<typeof heddle.foldLane>[2]>;
  tool: Parameters<typeof heddle.runTool>[1];
  toolError: ConstructorParameters<typeof heddle.ToolError>[0];
  summaryRequest: NonNullable<Parameters<typeof heddle.summaryRequest>[1]>;
  acceptSummary: NonNullable<Parameters<typeof heddle.acceptSummary>[2]>;
  mint: heddle.TokenConfig;
}

test("an option that may be missing may be undefined", () => {
  expectTypeOf<{ [Name in keyof Public]: Refusing<Public[Name]> }>().toEqualTypeOf<{ [Name in keyof Public]: never }>();
});

test("the stable prefix of a projection can be handed on as it is", () => {
  const meta = {} as heddle.Projection["meta"];
  expectTypeOf(providers.toAISDKPrompt).toBeCallableWith([], { cache: { stablePrefix: meta.stablePrefix } });
});
