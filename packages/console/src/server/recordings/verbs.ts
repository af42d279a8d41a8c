import type { Host } from "portolan-host";
import { type CatalogLists, catalogIn, diffCatalogs } from "portolan-recording";
import type { CatalogDifference } from "../../api.ts";
import { ApiRefusal, messageOf, toPageText } from "../failure.ts";
import { maxDifferenceChars, maxImportBytes } from "../limits.ts";
import type { ServerRecords } from "../servers/records.ts";
import { noServer } from "../servers/verbs.ts";
import { either, flag, name, object, optional, text } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";
import type { Recordings } from "./recordings.ts";

export type RecordingVerb =
  | `recording.${"start" | "stop" | "remove" | "open" | "import" | "export" | "mock"}`
  | "compare";

const side = either(object({ server: name }), object({ recording: name }));
const id = { id: name };

export function recordingVerbs(host: Host, recordings: Recordings, records: ServerRecords): VerbTable<RecordingVerb> {
  const known = (server: string) => {
    if (!host.servers.some((one) => one.name === server)) throw noServer(server);
  };
  const listsOf = async (of: { readonly recording: string } | { readonly server: string }): Promise<CatalogLists> => {
    if ("recording" in of) return recordings.use(of.recording, catalogIn);
    known(of.server);
    await haveLists(host, of.server);
    const own = <T extends { readonly server: string }>(all: readonly T[]): Omit<T, "server">[] =>
      all.flatMap(({ server, ...rest }) => (server === of.server ? [rest] : []));
    return {
      tools: own(host.catalog.tools).map(({ definition }) => definition),
      prompts: own(host.catalog.prompts),
      resources: own(host.catalog.resources),
      templates: own(host.catalog.templates),
    };
  };
  return {
    "recording.start": changes({ server: name, isRaw: optional(flag) }, async ({ server, isRaw = false }) => {
      known(server);
      return { id: await recordings.start(server, isRaw) };
    }),
    "recording.stop": changes(id, async (takes) => {
      await recordings.stop(takes.id);
      return {};
    }),
    "recording.remove": changes(id, async (takes) => {
      await recordings.remove(takes.id);
      return {};
    }),
    "recording.open": changes(id, async (takes) => ({ connection: await recordings.open(takes.id) })),
    "recording.import": changes(
      { name: text(500, 1), text: text(maxImportBytes) },
      async (takes) => ({ id: await recordings.import(takes.name, takes.text) }),
      maxImportBytes,
    ),
    "recording.export": reads(id, (takes) => recordings.export(takes.id)),
    "recording.mock": changes(id, async (takes) => {
      const server = await recordings.mock(takes.id);
      records.show(server);
      return { server };
    }),
    compare: reads({ before: side, after: side }, async ({ before, after }) => {
      const [old, now] = await Promise.all([listsOf(before), listsOf(after)]);
      const differences = diffCatalogs(old, now).map(({ kind, name: of, how, changes: lines }): CatalogDifference => {
        return { kind, name: of, how, lines: lines.map(toLine) };
      });
      return { differences };
    }),
  };
}

/** Starts a server that has no lists yet. Without them it would look as if it offered nothing. */
async function haveLists(host: Host, name: string): Promise<void> {
  const statusOf = () => host.servers.find((one) => one.name === name);
  const state = statusOf()?.state;
  // Only these start without asking a person first.
  const failure = state === "idle" || state === "starting" ? await failureOf(host.start(name)) : undefined;
  const { tools, prompts, resources, templates } = host.catalog;
  const isListed = [tools, prompts, resources, templates].some((list) => list.some(({ server }) => server === name));
  const status = statusOf();
  if (isListed || status?.state === "ready" || status?.state === "unresponsive") return;
  const why = failure ?? status?.reason;
  throw new ApiRefusal("busy", `${name} is not running${why === undefined ? "" : `: ${toPageText(why)}`}`, {
    next: "Start it, then compare again.",
  });
}

async function failureOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (reason: unknown) => messageOf(reason),
  );
}

function toLine({
  path,
  before,
  after,
}: {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}) {
  return {
    path,
    ...(before !== undefined && { before: written(before) }),
    ...(after !== undefined && { after: written(after) }),
  };
}

function written(value: unknown): string {
  return (typeof value === "string" ? value : JSON.stringify(value, undefined, 2)).slice(0, maxDifferenceChars);
}
