import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type {
  ClientMethod,
  ClientNotificationMethod,
  ClientNotifications,
  ClientRequests,
  ServerMethod,
  ServerNotificationMethod,
  ServerNotifications,
  ServerRequests,
} from "../methods.ts";

const project = fileURLToPath(new URL("../../../../../", import.meta.url));
const specification = join(project, "../shared/spec");
const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const isAbsent =
  !existsSync(join(specification, "2026-07-28/examples")) ||
  !revisions.every((revision) => existsSync(join(specification, revision, "schema.json")));
if (isAbsent) console.warn(`types.test.ts skips its tests: no schemas of the specification in ${specification}`);

// `satisfies` makes a name that is missing here, or that methods.ts does not know, a type error.
const clientRequests = {
  initialize: true,
  "server/discover": true,
  ping: true,
  "tools/list": true,
  "tools/call": true,
  "resources/list": true,
  "resources/templates/list": true,
  "resources/read": true,
  "resources/subscribe": true,
  "resources/unsubscribe": true,
  "prompts/list": true,
  "prompts/get": true,
  "completion/complete": true,
  "logging/setLevel": true,
  "subscriptions/listen": true,
  "tasks/get": true,
  "tasks/result": true,
  "tasks/list": true,
  "tasks/cancel": true,
} satisfies Record<keyof ClientRequests & ClientMethod, true>;

const serverRequests = {
  ping: true,
  "roots/list": true,
  "sampling/createMessage": true,
  "elicitation/create": true,
  "tasks/get": true,
  "tasks/result": true,
  "tasks/list": true,
  "tasks/cancel": true,
} satisfies Record<keyof ServerRequests & ServerMethod, true>;

const clientNotifications = {
  "notifications/initialized": true,
  "notifications/cancelled": true,
  "notifications/progress": true,
  "notifications/roots/list_changed": true,
  "notifications/tasks/status": true,
} satisfies Record<keyof ClientNotifications & ClientNotificationMethod, true>;

const serverNotifications = {
  "notifications/cancelled": true,
  "notifications/progress": true,
  "notifications/message": true,
  "notifications/tools/list_changed": true,
  "notifications/prompts/list_changed": true,
  "notifications/resources/list_changed": true,
  "notifications/resources/updated": true,
  "notifications/subscriptions/acknowledged": true,
  "notifications/elicitation/complete": true,
  "notifications/tasks/status": true,
} satisfies Record<keyof ServerNotifications & ServerNotificationMethod, true>;

/** The unions of a schema that say who sends what, and the list that must hold the same. */
const senders: { [definition: string]: object } = {
  ClientRequest: clientRequests,
  ServerRequest: serverRequests,
  InputRequest: serverRequests,
  ClientNotification: clientNotifications,
  ServerNotification: serverNotifications,
};

interface Definition {
  const?: unknown;
  $ref?: string;
  anyOf?: Definition[];
  properties?: { [name: string]: Definition };
  required?: string[];
}

type Definitions = { [name: string]: Definition };

function definitionsOf(revision: string): Definitions {
  const schema = JSON.parse(readFileSync(join(specification, revision, "schema.json"), "utf8"));
  return schema.$defs ?? schema.definitions;
}

function resolve(definition: Definition, all: Definitions): Definition {
  return definition.$ref ? all[definition.$ref.split("/").at(-1)!]! : definition;
}

function methodsOf(definition: Definition, all: Definitions): string[] {
  const { anyOf, properties } = resolve(definition, all);
  const method = properties?.["method"]?.const;
  return typeof method === "string" ? [method] : (anyOf ?? []).flatMap((member) => methodsOf(member, all));
}

test.skipIf(isAbsent)("lists exactly the messages of all revisions by sender", () => {
  const seen = new Map(Object.values(senders).map((list) => [list, new Set<string>()]));
  const named = new Set<string>();
  for (const revision of revisions) {
    const all = definitionsOf(revision);
    for (const definition of Object.values(all)) for (const method of methodsOf(definition, all)) named.add(method);
    for (const [union, list] of Object.entries(senders)) {
      for (const method of all[union] ? methodsOf(all[union], all) : []) seen.get(list)!.add(method);
    }
  }
  for (const [list, methods] of seen) expect([...methods].sort()).toEqual(Object.keys(list).sort());
  const listed = new Set([...seen.values()].flatMap((methods) => [...methods]));
  expect([...named].sort()).toEqual([...listed].sort());
});

/** Our name for a definition, where it differs. */
const renamed: { [definition: string]: string } = {
  BaseMetadata: "Pick<T.Tool, 'name' | 'title'>",
  Icons: "Pick<T.Tool, 'icons'>",
  Annotated: "Pick<T.TextContent, 'annotations'>",
  MetaObject: "T.Meta",
  NotificationMetaObject: "T.Meta",
  RequestMetaObject: "T.RequestMeta",
  ResultMetaObject: "T.Meta",
  SubscriptionsListenResultMetaObject: "T.Meta",
  CacheableResult: "T.Result & T.CacheHints",
  ResourceReference: "T.ResourceTemplateReference",
  ResourceRequestParams: "T.SubscribeParams",
  PaginatedRequestParams: "T.PaginatedParams",
  InputResponseRequestParams: "T.RetryParams",
  TaskAugmentedRequestParams: "T.TaskAugmentedParams",
  CallToolRequestParams: "T.CallToolParams",
  CompleteRequestParams: "T.CompleteParams",
  CreateMessageRequestParams: "T.CreateMessageParams",
  ElicitRequestFormParams: "T.ElicitFormParams",
  ElicitRequestURLParams: "T.ElicitUrlParams",
  GetPromptRequestParams: "T.GetPromptParams",
  InitializeRequestParams: "T.InitializeParams",
  ReadResourceRequestParams: "T.ReadResourceParams",
  SetLevelRequestParams: "T.SetLevelParams",
  SubscribeRequestParams: "T.SubscribeParams",
  UnsubscribeRequestParams: "T.UnsubscribeParams",
  SubscriptionsListenRequestParams: "T.ListenParams",
  SubscriptionsListenResult: "T.ListenResult",
  CancelledNotificationParams: "T.CancelledParams",
  LoggingMessageNotificationParams: "T.LogMessageParams",
  ProgressNotificationParams: "T.ProgressParams",
  ResourceUpdatedNotificationParams: "T.ResourceUpdatedParams",
  SubscriptionsAcknowledgedNotificationParams: "T.SubscriptionsAcknowledgedParams",
  // Two shapes under one name: with titles beside the values, and without.
  EnumSchema: "T.UntitledSingleSelectEnumSchema | Partial<T.LegacyTitledEnumSchema>",
  LegacyTitledEnumSchema: "Partial<T.LegacyTitledEnumSchema>",
};

/** Definitions that are JSON-RPC's own, or an envelope around a message that is looked at by itself. */
const isEnvelope = (name: string): boolean =>
  /^JSON|^Error$|Error$|Response$|^(Paginated)?Request$|^Notification$/.test(name);

/** The type of the params of a message, or of the definition itself. */
function typeOf(name: string, method: unknown): string {
  if (typeof method === "string") return `Params<${JSON.stringify(method)}>`;
  return renamed[name] ?? `T.${name}`;
}

function memberChecks(revision: string): string[] {
  const all = definitionsOf(revision);
  return Object.entries(all).flatMap(([name, definition]) => {
    if (isEnvelope(name) || name in senders) return [];
    const method = definition.properties?.["method"]?.const;
    const params = resolve(definition.properties?.["params"] ?? {}, all);
    const { properties, required = [] } = method === undefined ? definition : params;
    if (properties === undefined) return [];
    const names = (list: string[]) => list.map((member) => JSON.stringify(member)).join(" | ") || "never";
    const type = typeOf(name, method);
    const known = `Known<${type}, ${names(Object.keys(properties))}>`;
    const open = `Nothing<Exclude<Demanded<${type}>, ${names(required)}>>`;
    return [`export type ${name}_${revision.replaceAll("-", "_")} = [${known}, ${open}];`];
  });
}

function exampleChecks(): string[] {
  const folder = join(specification, "2026-07-28/examples");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".json"));
  return files.flatMap((file) => {
    const name = file.split(/[\\/]/)[0]!;
    const example = JSON.parse(readFileSync(join(folder, file), "utf8"));
    if (/Error$/.test(name)) return [];
    const result = typeOf(name.replace(/Response$/, ""), undefined);
    const [value, type] =
      example.method !== undefined
        ? [example.params ?? {}, typeOf(name, example.method)]
        : example.jsonrpc !== undefined
          ? [example.result, `${result} | T.InputRequiredResult`]
          : [example, result];
    return [`(${JSON.stringify(value)}) satisfies ${type}; // ${file}`];
  });
}

const prelude = `
import type * as T from "${join(project, "packages/portolan/src/protocol/types/index.ts")}";
import type * as M from "${join(project, "packages/portolan/src/protocol/methods.ts")}";
type Requests = M.ClientRequests & M.ServerRequests;
type Notifications = M.ClientNotifications & M.ServerNotifications;
type Params<N> = N extends keyof Requests ? Requests[N]["params"] : N extends keyof Notifications ? Notifications[N] : never;
type Known<X, M extends X extends unknown ? keyof X : never> = M;
type Demanded<X, K = keyof X> = K extends keyof X ? ({} extends Pick<X, K> ? never : K) : never;
type Nothing<X extends never> = X;
`;

/** Returns the compiler's errors for a source that imports the types. */
async function complaints(source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-types-"));
  try {
    writeFileSync(join(folder, "check.ts"), source);
    const compilerOptions = { noEmit: true, noUnusedLocals: false, allowImportingTsExtensions: true, types: [] };
    const config = { extends: join(project, "tsconfig.base.json"), compilerOptions, files: ["check.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(project, "node_modules/typescript/bin/tsc");
    return await new Promise((done, fail) => {
      execFile(process.execPath, [compiler, "-p", folder, "--pretty", "false"], (error, stdout, stderr) => {
        // The compiler exits with a code when it complains; without any words something else went wrong.
        if (error && stdout === "") fail(new Error(`the compiler failed: ${stderr}`, { cause: error }));
        else done(stdout);
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.skipIf(isAbsent)(
  "the types know every member of every revision's schema and require none that a schema leaves open",
  { timeout: 60_000 },
  async () => {
    const checks = revisions.flatMap(memberChecks);
    expect(checks.length).toBeGreaterThan(300);
    expect(await complaints([prelude, ...checks].join("\n"))).toBe("");
  },
);

test.skipIf(isAbsent)("accepts the published examples as values of their types", { timeout: 60_000 }, async () => {
  const checks = exampleChecks();
  expect(checks.length).toBeGreaterThan(100);
  expect(await complaints([prelude, ...checks].join("\n"))).toBe("");
});

test.skipIf(isAbsent)(
  "an unknown member, an unmet demand and a wrong example are complained of",
  { timeout: 60_000 },
  async () => {
    const wrong = [
      "export type Unknown = Known<T.Root, 'uri' | 'colour'>;",
      "export type Unmet = Nothing<Exclude<Demanded<T.Root>, never>>;",
      "({ roots: [{ uri: 'file:///', colour: 'red' }] }) satisfies T.ListRootsResult;",
    ];
    const lines = (await complaints([prelude, ...wrong].join("\n"))).match(/error TS\d+/g);
    expect(lines).toHaveLength(wrong.length);
  },
);
