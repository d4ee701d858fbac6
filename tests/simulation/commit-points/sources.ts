import { globSync, readFileSync } from "node:fs";

/** A function of the core: its file, the functions it calls, and its text. */
interface Function {
  readonly path: string;
  readonly names: readonly string[];
  readonly text: string;
}

const CORE = "src/agent/react";

/** The functions of a folder, by name, from the text of their files: every one begins and ends at the margin. */
function functionsIn(folder: string): ReadonlyMap<string, Function> {
  const found = new Map<string, Function>();
  for (const path of globSync(`${folder}/*.ts`)) {
    const text = readFileSync(path, "utf8");
    for (const [body, name = ""] of text.matchAll(/^(?:export )?function (\w+)[\s\S]*?^}/gm)) {
      const called = body.slice(body.indexOf(name) + name.length).matchAll(/(?<![.\w])(\w+)\(|\.reduce\((\w+),/g);
      found.set(name, { path, names: [...called].map(([, call, reducer]) => call ?? reducer ?? ""), text: body });
    }
  }
  return found;
}

/** Every kind of signal with what the core makes of it: `case "ask": return asked(...)`. */
function handlers(): ReadonlyMap<string, string> {
  const text = readFileSync(`${CORE}/decide.ts`, "utf8");
  const found = new Map<string, string>();
  for (const [, cases = "", handler = ""] of text.matchAll(/((?:case "\w+":\s*)+)return (\w+)\(/g)) {
    for (const [, signal = ""] of cases.matchAll(/case "(\w+)"/g)) found.set(signal, handler);
  }
  return found;
}

/** The makers of entries: functions of entries.ts, and what a handler makes without one. */
function makers(): ReadonlySet<string> {
  const text = readFileSync(`${CORE}/entries.ts`, "utf8");
  return new Set([...text.matchAll(/^export function (\w+)\([\s\S]*?\): EntryInput/gm)].map(([, name = ""]) => name));
}

/** `signal > maker`: an entry that may be written because of a signal, as far as the text of the core tells. */
export function appendsInCore(): readonly string[] {
  const functions = functionsIn(CORE);
  const known = makers();
  return [...handlers()].flatMap(([signal, handler]) => {
    const reached = reachableFrom(handler, functions);
    const made = [...reached].filter((name) => known.has(name));
    const inline = [...reached].flatMap((name) => {
      const { path = "", text = "" } = functions.get(name) ?? {};
      return path.endsWith("/entries.ts")
        ? []
        : [...text.matchAll(/\bkind: "(\w+)",\s*payload/g)].map(([, kind = ""]) => kind);
    });
    return [...made, ...inline].map((maker) => `${signal} > ${maker}`);
  });
}

function reachableFrom(start: string, functions: ReadonlyMap<string, Function>): ReadonlySet<string> {
  const reached = new Set<string>([start]);
  for (const name of reached)
    for (const next of functions.get(name)?.names ?? []) if (functions.has(next)) reached.add(next);
  return reached;
}

/** `file method`: every place in the runtime where a store is told to write. */
export function writesInRuntime(): readonly string[] {
  return globSync("src/runtime/**/*.ts").flatMap((path) => {
    const code = readFileSync(path, "utf8").replaceAll(/^\s*(\*|\/\/).*$/gm, "");
    const calls = code.matchAll(
      /\bstore\s*\.(append|save|delete|fork|putCheckpoint|deleteCheckpoint|claim|renew|release|putBlob|post|withdraw|amend)\(/g,
    );
    const ofLeases = [...code.matchAll(/\bleases\s*\.(start|renew|end)\(/g)].map(([, method = ""]) => `${method}Lease`);
    return [...new Set([...[...calls].map(([, method = ""]) => method), ...ofLeases])].map(
      (method) => `${path} ${method}`,
    );
  });
}

/** Every signal there is, as the type says. */
export function signalsInCore(): readonly string[] {
  const text = readFileSync("src/agent/signal.ts", "utf8");
  const type = text.slice(text.indexOf("export type Signal"));
  return [
    ...new Set(
      [...type.matchAll(/readonly type: ((?:"\w+"(?: \| )?)+)/g)].flatMap(([, names = ""]) =>
        [...names.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name),
      ),
    ),
  ];
}
