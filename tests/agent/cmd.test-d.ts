import { expectTypeOf, test } from "vitest";
import { cmd } from "../../src/agent/cmd.ts";
import { type DirectAgent, type DirectDirective, defineAction, direct } from "../../src/agent/direct/agent.ts";
import type { Directive } from "../../src/agent/directive.ts";
import { type ReactAgent, reactAgent } from "../../src/agent/react/agent.ts";
import { reactSettings } from "../../src/agent/react/settings.ts";
import { runInstructions } from "../../src/runtime/run-instructions.ts";

const greet = defineAction({
  name: "greet",
  inputSchema: { type: "object" },
  run: (_, { context }: { context: { word: string } }) => context.word,
});

test("each agent takes its own signals and gives its own directives", () => {
  const react = cmd(reactAgent(reactSettings()), { type: "ask", content: "Hi" });
  expectTypeOf(react.agent).toEqualTypeOf<ReactAgent>();
  expectTypeOf(react.directives).toEqualTypeOf<readonly Directive[]>();
  const told = cmd(direct({ actions: [greet] }), { type: "instruction", action: "greet" }, { thread: true });
  expectTypeOf(told.agent).toEqualTypeOf<DirectAgent<{ word: string }>>();
  expectTypeOf(told.directives).toEqualTypeOf<readonly DirectDirective[]>();
  // @ts-expect-error a Direct agent is asked nothing
  cmd(direct({ actions: [greet] }), { type: "ask", content: "Hi" });
});

test("actions are given the context that they ask for", () => {
  const agent = direct({ actions: [greet] });
  expectTypeOf(runInstructions<{ word: string }>)
    .parameter(2)
    .toExtend<{ context: { word: string } }>();
  // @ts-expect-error the context lacks the word
  void runInstructions(agent, [], { context: { wrong: "" } });
});
