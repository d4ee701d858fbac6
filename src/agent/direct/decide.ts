import type { EntryInput } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import {
  type InputSchema,
  isMarkedSchema,
  isPromiseLike,
  type JsonSchema,
  type SchemaIssue,
  type StandardSchema,
} from "../definition/schema.ts";
import type { Failure } from "../signal.ts";
import type {
  DirectAgent,
  DirectDirective,
  DirectSignal,
  Instruction,
  InstructionResult,
  Params,
  RunningInstruction,
} from "./agent.ts";

interface DirectStep<Context> {
  readonly agent: DirectAgent<Context>;
  readonly directives: readonly DirectDirective[];
}

/** Whether a single command is logged. */
export interface CommandOptions {
  /** True logs this instruction, even when the agent does not log. Default false. */
  readonly thread?: boolean | undefined;
}

/** Applies a signal to a Direct agent. */
export function decideDirect<Context>(
  agent: DirectAgent<Context>,
  signal: DirectSignal,
  options: CommandOptions = {},
): DirectStep<Context> {
  switch (signal.type) {
    case "instruction":
      return startInstruction(agent, signal, options);
    case "instruction_result":
      return endInstruction(agent, signal);
    default:
      return signal satisfies never;
  }
}

function startInstruction<Context>(
  agent: DirectAgent<Context>,
  { action, params = {}, instructionId: chosenId }: Instruction,
  options: CommandOptions,
): DirectStep<Context> {
  const instructionId = chosenId ?? agent.ports.ids("instruction");
  const failure = refusalOf(agent, action, params, { instructionId, isGenerated: chosenId === undefined });
  if (failure !== undefined) {
    return { agent, directives: [{ type: "emit_instruction_error", instructionId, failure }] };
  }
  const logged = agent.logs || options.thread === true || agent.thread.rev > 0;
  const paramKeys = Object.keys(params);
  const running = { instructionId, action, paramKeys, startedAt: agent.ports.clock(), logged };
  const begun = { ...agent, running: [...agent.running, running] };
  const next = logged ? appendEntry(begun, entryOf("instruction_start", running, running.startedAt)) : begun;
  return { agent: next, directives: [{ type: "run_action", action, params, instructionId }] };
}

function endInstruction<Context>(
  agent: DirectAgent<Context>,
  { instructionId, status, code }: InstructionResult,
): DirectStep<Context> {
  const running = agent.running.find((one) => one.instructionId === instructionId);
  if (running === undefined) return { agent, directives: [] };
  const over = { ...agent, running: agent.running.filter((one) => one !== running) };
  if (!running.logged) return { agent: over, directives: [] };
  const at = agent.ports.clock();
  const durationMs = Math.max(0, at - running.startedAt); // a clock may be set back
  const end = { status, ...(code !== undefined && { code }), durationMs };
  return { agent: appendEntry(over, entryOf("instruction_end", running, at, end)), directives: [] };
}

function appendEntry<Context>(agent: DirectAgent<Context>, entry: EntryInput): DirectAgent<Context> {
  const complete = { id: agent.ports.ids("entry"), ...entry };
  return { ...agent, thread: agent.thread.append(complete) };
}

function entryOf(
  kind: string,
  { action, instructionId, paramKeys }: RunningInstruction,
  at: number,
  end: JsonObject = {},
): EntryInput {
  const names = paramKeys.length === 0 ? {} : { paramKeys };
  return { kind, at, payload: { action, instructionId, ...names, ...end }, refs: { action, instructionId } };
}

function refusalOf<Context>(
  agent: DirectAgent<Context>,
  name: string,
  params: Params,
  { instructionId, isGenerated }: { readonly instructionId: string; readonly isGenerated: boolean },
): Failure | undefined {
  const action = agent.actions.find((one) => one.name === name);
  if (action === undefined) {
    const known = agent.actions.map((one) => one.name).join(", ") || "none";
    return {
      code: "unknown_action",
      message: `There is no action ${JSON.stringify(name)}. The actions are: ${known}.`,
    };
  }
  const isUsed =
    agent.running.some((one) => one.instructionId === instructionId) ||
    agent.thread.filterByRef("instructionId", instructionId, { partial: isGenerated }).length > 0;
  if (isUsed) return ID_REUSED;
  if (!isPlainObject(params)) return invalidParams(name, ["params"]);
  let checked: ReturnType<typeof checkParams>;
  try {
    checked = checkParams(action.inputSchema, params);
  } catch {
    const message = `The schema of ${name} threw an error. An asynchronous schema must return a promise.`;
    return { code: "action_failed", message };
  }
  // The runtime awaits an asynchronous schema when it runs the action.
  return isPromiseLike(checked) || !("paths" in checked) ? undefined : invalidParams(name, checked.paths);
}

export const ID_REUSED: Failure = Object.freeze({
  code: "instruction_id_reused",
  message: "An instruction with this id was run before. Use a new instructionId, or omit it.",
});

export function invalidParams(action: string, paths: readonly string[]): Failure {
  return {
    code: "invalid_params",
    message: `The parameters of ${action} do not fit its schema at: ${paths.join(", ")}.`,
  };
}

/** The schema's output, or the paths of the invalid parameters. */
type CheckedParams = { readonly value: unknown } | { readonly paths: readonly string[] };

/** Validates parameters. Returns a promise only when the schema does. Does not catch errors of the schema. */
export function checkParams(inputSchema: InputSchema, params: Params): CheckedParams | PromiseLike<CheckedParams> {
  // Schemas of arktype are functions with a "~standard" field, so check the fields before the type.
  const schema =
    typeof inputSchema === "function" && !isStandard(inputSchema) && !isJsonSchema(inputSchema)
      ? inputSchema()
      : inputSchema;
  if (isStandard(schema)) {
    const { validate } = schema["~standard"];
    return after(validate(params), (result) =>
      result.issues === undefined ? { value: result.value } : { paths: pathsIn(result.issues) },
    );
  }
  if (!isJsonSchema(schema) || schema.validate === undefined) return { value: params };
  return after(schema.validate(params), (result) =>
    result.success ? { value: result.value } : { paths: pathsIn(Object(result.error).issues) },
  );
}

function isStandard(schema: object): schema is StandardSchema {
  return "~standard" in schema && !isMarkedSchema(schema);
}

function isJsonSchema(schema: object): schema is JsonSchema {
  return "jsonSchema" in schema;
}

function after<T, R>(value: T | PromiseLike<T>, next: (value: T) => R): R | PromiseLike<R> {
  return isPromiseLike(value) ? value.then(next) : next(value);
}

/** Only the paths, because an issue's message may contain the value. */
function pathsIn(issues: unknown): readonly string[] {
  if (!Array.isArray(issues)) return ["params"];
  const paths = (issues as readonly SchemaIssue[]).map(({ path = [] }) =>
    ["params", ...path.map((step) => String(isPlainObject(step) ? step["key"] : step))].join("."),
  );
  return [...new Set(paths)];
}
