import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { freePort } from "../support/postgres/free-port.ts";
import { until } from "../support/postgres/until.ts";
import { fastFolder } from "../support/temp-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const file = (name: string): string => readFileSync(`${root}deploy/${name}`, "utf8");
const docs = readFileSync(`${root}docs/deploy.md`, "utf8");
const compose = parse(file("compose.yaml"), { merge: true });
const [deployment, service, budget] = parseAllDocuments(file("kubernetes.yaml")).map((one) => one.toJS());
const [container] = deployment.spec.template.spec.containers;

/** The instructions of the container file: their words, which are a list or a text. */
const instructions = file("Containerfile")
  .split("\n")
  .flatMap((line) => {
    const [, name = "", given = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return name === "" ? [] : [{ name, given }];
  });
const only = (wanted: string): string => instructions.find(({ name }) => name === wanted)?.given ?? "";
const environment = Object.fromEntries(
  only("ENV")
    .split(" ")
    .map((pair) => pair.split("=") as [string, string]),
);

/** The folder of a project that has the files of the deploy, and the package. */
function project(): string {
  const folder = fastFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules/heddle"));
  writeFileSync(join(folder, "package.json"), `{ "type": "module" }`);
  cpSync(`${root}deploy/agent.ts`, join(folder, "agent.ts"));
  return folder;
}

/** The variables that the documentation lists. */
const known = new Set([...docs.matchAll(/`((?:HEDDLE|DATABASE)_[A-Z]+)`/g)].map(([, name]) => name));

test("the command, the health check and the probes of the deploy work on a real process", async () => {
  const cwd = project();
  const port = await freePort();
  // Outside a container it listens on this machine only, on a port that is free.
  const own = {
    HEDDLE_HOST: "127.0.0.1",
    HEDDLE_PORT: String(port),
    HEDDLE_TOKEN: "a-token-of-the-tests",
    HEDDLE_DRAIN: "0",
  };
  const env = { ...environment, ...own, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`, HOME: cwd };
  const [command = "", ...args] = JSON.parse(only("CMD")) as string[];
  const [, check = ""] = /^CMD (.*)$/.exec(only("HEALTHCHECK")) ?? [];
  const [checking = "", ...checked] = JSON.parse(check) as string[];
  const isHealthy = () =>
    promisify(execFile)(checking, checked, { cwd, env }).then(
      () => true,
      () => false,
    );
  expect(await isHealthy()).toBe(false);
  const served = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void served.kill("SIGKILL"));
  const ended = once(served, "exit");
  await until("it listens", isHealthy);
  for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) {
    expect(httpGet.port).toBe(container.ports[0].name);
    expect((await fetch(`http://127.0.0.1:${port}${httpGet.path}`)).status).toBe(200);
  }
  served.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("all files use the port of the container, and variables that are documented", () => {
  const { HEDDLE_PORT: port } = environment;
  expect(only("EXPOSE")).toBe(port);
  expect(container.ports[0].containerPort).toBe(Number(port));
  const names = [
    ...Object.keys(environment),
    ...Object.keys(compose.services.app1.environment),
    ...container.env.map(({ name }: { readonly name: string }) => name),
  ];
  expect(names.filter((name) => /^(HEDDLE|DATABASE)_/.test(name) && !known.has(name))).toEqual([]);
  expect([...known].filter((name) => name !== undefined && !/^(HEDDLE|DATABASE)_/.test(name))).toEqual([]);
});

test("the compose file has two equal processes behind a balancer, with time to stop", () => {
  const { app1, app2, balancer } = compose.services;
  expect(app1).toEqual(app2);
  const targets = [...balancer.command.matchAll(/--to (\w+):(\d+)/g)].map(([, name, port]) => [name, port]);
  expect(targets).toEqual([
    ["app1", environment["HEDDLE_PORT"]],
    ["app2", environment["HEDDLE_PORT"]],
  ]);
  expect(Number.parseInt(app1.stop_grace_period, 10)).toBeGreaterThan(5 + 30);
});

test("the Kubernetes example selects its pods, and gives them time to stop", () => {
  const { template, selector } = deployment.spec;
  for (const one of [selector.matchLabels, service.spec.selector, budget.spec.selector.matchLabels])
    expect(one).toEqual(template.metadata.labels);
  expect(service.spec.ports[0].targetPort).toBe(container.ports[0].name);
  const seconds = (name: string): number =>
    Number(container.env.find((one: { readonly name: string }) => one.name === name).value);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
    seconds("HEDDLE_DRAIN") + seconds("HEDDLE_GRACE"),
  );
  expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
});
