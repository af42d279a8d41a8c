import { type MaybePromise, whenDone } from "../../async.ts";
import { nameOf } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { checkOptions } from "../../options.ts";
import { isObject } from "../../schema/shape.ts";
import type { ToolDefinition } from "../define/definition.ts";
import { runtimeOf, type Server } from "../define/server.ts";
import type { DecoratedFeature, ServerExtension } from "../extension.ts";
import { type App, appMimeType, appsId, invalid } from "./app.ts";

/** Options of `apps`. */
export interface AppsOptions {
  /** Names the apps to every client, for hosts that show apps without saying so. Default: false. */
  readonly always?: boolean;
}

/** The extension MCP Apps: tools that are defined after it may have a `ui`. */
export function apps(options: AppsOptions = {}): ServerExtension {
  checkOptions(options, { always: 1 }, "apps");
  return options.always ? openToAll : openToDeclared;
}

/** One value for each option, so that a server with apps can be mounted on another one. */
const openToAll = createExtension(true);
const openToDeclared = createExtension(false);

function createExtension(always: boolean): ServerExtension {
  return {
    id: appsId,
    // Open, because apps are left out of the lists of clients that did not declare the extension.
    on(revision) {
      // A revision whose tools have no `_meta` cannot name an app: its clients get tools with text.
      const isNameable = !revision.encoderParts.hidden.get("tool")?.includes("_meta");
      const isNamed = (isDeclared: boolean) => isNameable && (always || isDeclared);
      return { isOpen: true, decorate: (entry, feature) => decorate(entry, feature, isNamed(feature.isDeclared)) };
    },
    toolMember: { name: "ui", define: addTool },
  };
}

/** The options of a tool or a resource for this extension. */
type UiOptions = { readonly uri: string; readonly visibility?: readonly string[] } | { readonly app: App };

/** Adds the app to a tool. Hides apps, and from clients without apps the tools that only apps call. */
function decorate(entry: JsonObject, { options }: DecoratedFeature, isNamed: boolean): JsonObject | undefined {
  const ui = options as UiOptions | undefined;
  if (!ui) return entry;
  if ("app" in ui) return undefined;
  const { uri: resourceUri, visibility } = ui;
  if (!isNamed) return visibility?.includes("model") === false ? undefined : entry;
  const meta = entry["_meta"] as JsonObject | undefined;
  return { ...entry, _meta: { ...meta, ui: { resourceUri, ...(visibility && { visibility }) } } };
}

type AnyServer = Server<unknown, unknown>;
type AnyTool = ToolDefinition<unknown, unknown, unknown>;

/** Adds the tool without its `ui`, and its app, unless the server has the app already. */
function addTool(server: AnyServer, name: string, definition: AnyTool): AnyServer {
  const { ui, ...rest } = definition;
  const where = `Tool "${name}"`;
  const { app, visibility } = parseUi(where, ui);
  const options: UiOptions = { uri: app.uri, ...(visibility && { visibility }) };
  const shown: AnyTool = {
    ...rest,
    extensions: { ...rest.extensions, [appsId]: options },
    ...(rest.run && {
      run: (args, context) => whenDone(rest.run(args, context), (returned) => checkText(where, returned)),
    }),
  };
  const other = runtimeOf(server).snapshot.parts.resources.find(({ key }) => key === app.uri);
  if (other) {
    if ((other.definition.extensions?.[appsId] as { app?: App } | undefined)?.app === app)
      return server.tool(name, shown);
    throw invalid(where, `ui: another app has the URI ${app.uri}; define the app once`);
  }
  const { uri, title, description } = app;
  const withApp = server.resource(uri, {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    mimeType: appMimeType,
    extensions: { [appsId]: { app } satisfies UiOptions },
    read: () => app.read(),
  });
  return withApp.tool(name, shown);
}

function parseUi(where: string, ui: unknown): { app: App; visibility?: readonly string[] } {
  const expected = "ui: expected an app made by app(), or { app, for }";
  if (!isObject(ui)) throw invalid(where, `${expected}, got ${nameOf(ui)}`);
  if (isApp(ui)) return { app: ui };
  checkOptions<object>(ui, { app: 1, for: 1 } as never, `${where}: ui`, { code: "invalid-definition" });
  const { app, for: visibility } = ui;
  if (!isApp(app)) throw invalid(where, `${expected}, got ${nameOf(app)} as app`);
  if (visibility === undefined) return { app };
  const isList = Array.isArray(visibility) && visibility.length > 0;
  if (!isList || !visibility.every((who) => who === "model" || who === "app")) {
    throw invalid(where, 'ui.for: expected a list with "model", "app" or both');
  }
  return { app, visibility };
}

function isApp(value: unknown): value is App {
  return isObject(value) && typeof value["uri"] === "string" && typeof value["read"] === "function";
}

/** Throws if a result has no text for clients that show no apps. A structured value has its JSON as text. */
function checkText<T>(where: string, returned: T): MaybePromise<T> {
  const content = isObject(returned) && Array.isArray(returned["content"]) ? returned["content"] : returned;
  const hasOther = isObject(returned) && "structuredContent" in returned;
  const isText =
    typeof content === "string"
      ? content.trim() !== ""
      : Array.isArray(content) && content.every((block) => typeof block?.type === "string")
        ? hasOther || content.some((block) => block.type === "text" && String(block.text).trim() !== "")
        : content !== undefined;
  if (isText) return returned;
  throw invalid(where, "returned no text; a client that shows no apps needs a text that tells the result");
}
