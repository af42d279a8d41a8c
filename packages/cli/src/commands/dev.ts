import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import { tokenVariable } from "portolan/server/main";
import { createHost, type ServerEntry } from "portolan-host";
import { apps } from "portolan-host/apps";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import type { OpenedConsole } from "../console/open-console.ts";
import { Failure, processEndOf } from "../failure.ts";
import { viaProxy } from "../http-proxy/choose.ts";
import { findModels } from "../models.ts";
import { type Catalog, changesBetween, countsOf, tokensOf } from "../output/catalog.ts";
import type { Preview } from "../preview/preview.ts";
import { type HttpListener, listen, parsePort } from "../serve/listen.ts";
import { openReloadingServer, type ReloadingServer } from "../serve/reloading-server.ts";
import { explainError } from "../serve/server-file.ts";
import { findTarget } from "../servers/find-server.ts";
import { requireUsable } from "../servers/host.ts";
import { withTypedName } from "../servers/link.ts";
import { pathFrom } from "../servers/saved-target.ts";
import { folderOf, variablesOf } from "../servers/target-flags.ts";
import { quote } from "../terminal/escape.ts";
import { wrapHanging } from "../terminal/wrap.ts";

const defaultPort = 3333;
/** Editors write a file in several steps. */
const settleMs = 60;
const sources = /\.([cm]?[jt]s|json)$/;

/** Serves a server file over HTTP and reloads it after each change. Clients stay connected. */
export async function run(
  context: CommandContext,
  [given = ""]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system } = context;
  const showsApps = flags["apps"] === true;
  if (context.command.length > 0 && !showsApps) {
    throw new Failure("usage", "dev serves a file; a command after -- needs --apps", { next: "portolan serve --help" });
  }
  if (showsApps && (context.command.length > 0 || !sources.test(given))) return showTarget(context, given, flags);
  if (given === "") throw new Failure("usage", "no file given", { next: "portolan dev --help" });
  const path = resolve(system.cwd, given);
  if (!existsSync(path)) throw new Failure("usage", `file not found: ${given}`);
  const port = typeof flags["http"] === "string" ? parsePort(flags["http"]) : undefined;
  const file = realpathSync(path);
  const { entry } = await findTarget(context, file, flags);
  // A file that exports its server runs in this process.
  system.setVariables(variablesOf(system, flags));
  const folder = folderOf(system, flags);
  if (folder !== undefined) system.changeFolder(folder);
  const server = await openReloadingServer(file, entry, context, showsApps ? [apps()] : []);
  const session = new DevSession(file, context, server);
  try {
    await context.terminal.waits.during(`loading ${context.screen.safe(given)}`, session.open());
    const listener = await listen((request, response) => server.answer(request, response), port ?? defaultPort, {
      isPreferred: port === undefined,
    });
    const preview = showsApps ? await session.preview(listener) : undefined;
    const page = await session.openConsole(listener);
    session.introduce(listener, given, { apps: preview?.url, page: page?.openAddress() });
    await context.untilStopped();
    await page?.close();
    await preview?.close();
    // Calls in progress are answered before their connections are closed.
    await server.close();
    await listener.close();
  } finally {
    await session.close();
  }
  // Timers and connections of the server file must not keep the program running.
  return system.exit(0);
}

/** Shows the apps of any server. It is not served, and not reloaded. */
async function showTarget(context: CommandContext, given: string, flags: Flags): Promise<CommandResult | undefined> {
  if (flags["http"] !== undefined) throw new Failure("usage", "--http is for a file that dev serves");
  const { entry } = await findTarget(context, given === "" ? undefined : given, flags);
  await requireUsable(context, entry);
  const preview = await previewOf(context, entry);
  const { screen, print, isJson } = context;
  if (isJson) print(JSON.stringify({ event: "preview", name: entry.name, apps: preview.url }));
  else print(`  apps   ${screen.step(preview.url)}`);
  await context.untilStopped();
  await preview.close();
  return undefined;
}

/** Starts a server in a host of its own, and the page that shows its apps. */
async function previewOf(context: CommandContext, entry: ServerEntry): Promise<Preview> {
  const { openPreview } = await import("../preview/preview.ts");
  const onError = (reason: unknown) => context.warn(reason instanceof Error ? reason.message : String(reason));
  const host = await createHost({
    servers: [entry],
    extensions: [apps()],
    answers: { approve: "later", openUrl: "later", say: "later" },
    via: viaProxy(context.system.env),
  });
  try {
    const [status] = await context.terminal.waits.during(`starting ${context.screen.safe(entry.name)}`, host.ready());
    if (status?.state !== "ready")
      throw new Failure("unreachable", `${entry.name} is ${status?.state}: ${status?.reason}`);
    return await openPreview(host, { self: context.system.self, onError });
  } catch (reason) {
    await host.close();
    throw reason;
  }
}

type DevEvent =
  | { event: "changed"; file: string; changes: string[]; tokens: number }
  | { event: "error"; file: string; message: string };

/** Watches a server file, reloads it, and reports what changed. */
class DevSession {
  readonly #file: string;
  readonly #context: CommandContext;
  readonly #server: ReloadingServer;
  #catalog: Catalog | undefined;
  #files: ReadonlySet<string> | undefined;
  #hasFailed = false;
  #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  #loading: Promise<void> = Promise.resolve();

  constructor(file: string, context: CommandContext, server: ReloadingServer) {
    this.#file = file;
    this.#context = context;
    this.#server = server;
  }

  /** Loads and watches the file. Fails if it cannot be loaded the first time. */
  async open(): Promise<void> {
    try {
      await this.#load();
    } catch (thrown) {
      throw new Failure("failed", this.#explain(thrown), { cause: thrown });
    }
    await this.#watch();
  }

  /** Opens the page with the apps of the served file, over HTTP as any client would. */
  preview(listener: HttpListener): Promise<Preview> {
    return previewOf(this.#context, this.#entryFor(listener));
  }

  /** Opens a console that is connected to the served file. The file is served also without one. */
  async openConsole(listener: HttpListener): Promise<OpenedConsole | undefined> {
    const { system, state, warn } = this.#context;
    try {
      const { openConsole } = await import("../console/open-console.ts");
      const digest = createHash("sha256").update(this.#file).digest("hex").slice(0, 16);
      const entry = this.#entryFor(listener);
      return await openConsole(this.#context, {
        servers: [{ ...entry, isTyped: true }],
        // The address ends with this command; the file stays.
        savedTargets: new Map([[entry.name, pathFrom(system.cwd, this.#file)]]),
        models: await findModels(system, {}),
        folder: join(state.folder, "console-dev", digest),
      });
    } catch (reason) {
      warn(`the console cannot be opened: ${reason instanceof Error ? reason.message : reason}`);
      return undefined;
    }
  }

  #entryFor({ url }: HttpListener): ServerEntry {
    const token = this.#context.system.env[tokenVariable];
    const target = { url, ...(token && { headers: { authorization: `Bearer ${token}` } }) };
    const name = this.#catalog?.name ?? "server";
    return { name, target, configured: target, settings: {}, source: { kind: "code" } };
  }

  #explain(thrown: unknown): string {
    const { system } = this.#context;
    const near = relative(system.cwd, this.#file);
    return withTypedName(
      explainError(thrown, this.#file, system),
      processEndOf(thrown),
      near.startsWith("..") ? this.#file : near,
    );
  }

  introduce(
    { url }: HttpListener,
    given: string,
    { apps, page }: { readonly apps?: string | undefined; readonly page?: string | undefined },
  ): void {
    const { screen, print, isJson, system } = this.#context;
    const catalog = this.#catalog;
    if (!catalog) return;
    const tokens = tokensOf(catalog);
    const { name, version } = catalog;
    const stdio = `portolan serve --stdio ${quote(given)}`;
    const isProtected = Boolean(system.env[tokenVariable]);
    if (isJson) {
      print(JSON.stringify({ event: "ready", name, version, url, stdio, tokens, isProtected, apps, console: page }));
      return;
    }
    const counts = countsOf(catalog, screen.mark("dot"));
    const size = screen.style("dim", `about\u00a0${tokens}\u00a0tokens`);
    const title = `${screen.style("bold", screen.safe(name))} ${screen.safe(version)}   ${counts}   ${size}`;
    print(`  ${wrapHanging(title, screen.columns, 2, 2)}`);
    print(`  http   ${url}${isProtected ? ` (with the token in ${tokenVariable})` : ""}`);
    print(`  stdio  ${screen.step(stdio)}`);
    if (apps !== undefined) print(`  apps   ${screen.step(apps)}`);
    print(`  try    ${screen.step(`portolan ls ${url}`)}`);
    if (page !== undefined) print(`  page   ${screen.step(page)}`);
    const hint = wrapHanging("reloads after each change; press Ctrl-C to stop", screen.columns, 2, 2);
    print(screen.style("dim", `  ${hint}`));
  }

  async close(): Promise<void> {
    clearTimeout(this.#settling);
    await this.#watcher?.close();
    await this.#loading;
    await this.#server.close();
  }

  async #load(): Promise<string[]> {
    const { catalog, files } = await this.#server.load();
    const before = this.#catalog;
    this.#catalog = catalog;
    this.#files = files;
    return before ? changesBetween(before, catalog) : [];
  }

  /** Watches the files. Resolves when no change can be missed any more. */
  async #watch(): Promise<void> {
    const folder = dirname(this.#file);
    const watcher = watch([folder, ...this.#outside()], {
      ignoreInitial: true,
      ignored: (path) => /[\\/](node_modules|\.[^\\/]+)([\\/]|$)/.test(path.slice(folder.length)),
    });
    this.#watcher = watcher;
    watcher.on("all", (_, path) => {
      if (!this.#concerns(path)) return;
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => {
        this.#loading = this.#loading.then(() => this.#reload(path));
      }, settleMs);
    });
    await new Promise<void>((ready) => watcher.once("ready", () => ready()));
  }

  /** After a failed load, a change of any source file may repair it. */
  #concerns(path: string): boolean {
    return this.#files && !this.#hasFailed ? this.#files.has(path) : sources.test(path);
  }

  #outside(): string[] {
    return [...(this.#files ?? [])].filter((file) => !file.startsWith(dirname(this.#file) + sep));
  }

  /** Loads the file again. If that fails, clients keep the version before. */
  async #reload(path: string): Promise<void> {
    const file = relative(dirname(this.#file), path);
    try {
      const changes = await this.#load();
      this.#hasFailed = false;
      this.#watcher?.add(this.#outside());
      this.#tell({ event: "changed", file, changes, tokens: this.#catalog ? tokensOf(this.#catalog) : 0 });
    } catch (thrown) {
      this.#hasFailed = true;
      this.#tell({ event: "error", file, message: this.#explain(thrown) });
    }
  }

  #tell(said: DevEvent): void {
    const { screen, print, isJson } = this.#context;
    if (isJson) {
      print(JSON.stringify(said));
      return;
    }
    const time = new Date().toTimeString().slice(0, 8);
    if (said.event === "error") {
      const message = wrapHanging(screen.safe(said.message), screen.columns, 13, 4);
      print(`  ${time} ${screen.style("red", screen.mark("bad"))} ${message}`);
      print(screen.style("dim", "    still serving the version before"));
      return;
    }
    const changes = said.changes.map((text) => screen.safe(text)).join("; ") || "the same definitions, new code";
    const size = screen.style("dim", `about\u00a0${said.tokens}\u00a0tokens`);
    const message = `${screen.safe(said.file)} changed ${screen.mark("next")} ${changes}   ${size}`;
    print(`  ${time} ${screen.mark("change")} ${wrapHanging(message, screen.columns, 13, 4)}`);
  }
}
