import { PortolanError, RpcError } from "portolan";
import { renderCall } from "portolan-recording";
import type { ConsoleBase } from "../base.ts";
import { parseArguments } from "../calls/calls.ts";
import { ApiRefusal } from "../failure.ts";
import { maxLongBodyBytes, maxPageRows } from "../limits.ts";
import { noServer } from "../servers/verbs.ts";
import { flag, list, name, object, oneOf, optional, text, whole } from "../takes.ts";
import { changes, pageMembers, reads, type VerbTable } from "../verbs.ts";
import type { Connections } from "./connections.ts";
import type { Lines } from "./lines.ts";
import { targetFor } from "./target.ts";

export type ConnectionVerb =
  | `connection.${"open" | "close" | "facts"}`
  | "messages"
  | "message"
  | "message.copy"
  | "lines"
  | "find"
  | "request";

const time = (value: unknown, path: string) =>
  typeof value === "number" && Number.isFinite(value) ? [] : [{ path, message: "expected a time" }];

const filter = object({
  text: optional(text(1_000)),
  lanes: optional(list(oneOf("client", "server", "http", "stderr"), 4)),
  onlyErrors: optional(flag),
  method: optional(text(1_000)),
  from: optional(time),
  to: optional(time),
});

export function connectionVerbs(
  { host }: ConsoleBase,
  connections: Connections,
  lines: Lines,
): VerbTable<ConnectionVerb> {
  const known = (server: string) => {
    if (!host.servers.some((one) => one.name === server)) throw noServer(server);
  };
  const detailOf = (connection: string, n: number) => {
    const detail = connections.get(connection).detail(n);
    if (!detail) throw new ApiRefusal("not-found", "The message is no longer kept.");
    return detail;
  };
  return {
    "connection.open": changes({ server: name, revision: optional(text(40, 1)) }, ({ server, revision }) => {
      known(server);
      return { id: connections.open(server, revision) };
    }),
    "connection.close": changes({ id: name }, async ({ id }) => {
      await connections.close(id);
      return {};
    }),
    "connection.facts": reads({ id: name }, ({ id }) => connections.facts(id)),
    messages: reads({ ...pageMembers, connection: name, filter: optional(filter) }, async (takes) => {
      const connection = connections.get(takes.connection);
      const rows = await connection.page(takes);
      const { first, last } = connection.spool;
      return { rows, first: last === 0 ? 0 : first, last };
    }),
    message: reads({ connection: name, n: whole(1) }, ({ connection, n }) => detailOf(connection, n)),
    "message.copy": reads(
      { connection: name, n: whole(1), as: oneOf("curl", "command", "typescript", "json") },
      ({ connection, n, as }) => {
        const detail = detailOf(connection, n);
        if (as === "json" && detail.kind !== "http") {
          return { text: renderCall({ text: detail.text, target: { command: "" } }, as) };
        }
        if (detail.kind !== "request" || detail.lane !== "client") {
          throw new ApiRefusal("invalid", "Only a request of the client can be copied so.", {
            next: "Copy it as JSON.",
          });
        }
        const { server, revision } = connections.get(connection).record;
        const call = { text: detail.text, target: targetFor(host, server), server };
        return { text: renderCall({ ...call, ...(revision !== undefined && { revision }) }, as) };
      },
    ),
    lines: reads({ ...pageMembers, server: name }, ({ server, ...page }) => {
      known(server);
      return lines.page(server, page);
    }),
    find: reads({ text: text(1_000, 1), limit: optional(whole(1, maxPageRows)) }, async (takes) => ({
      rows: await connections.find(takes.text, takes.limit),
    })),
    request: changes(
      { connection: name, method: text(200, 1), paramsText: text(maxLongBodyBytes) },
      async ({ request: label, connection: id, method, paramsText }) => {
        parseArguments(paramsText, "paramsText");
        const connection = connections.get(id);
        const { client } = connection;
        if (!client)
          throw new ApiRefusal("busy", "The connection is not open.", { next: "Open a connection of your own." });
        try {
          await client.request(method, undefined, { label, paramsText: paramsText.trim() === "" ? "{}" : paramsText });
        } catch (thrown) {
          // An error of the server is a response like any other.
          if (!(thrown instanceof RpcError) && !(thrown instanceof PortolanError)) throw thrown;
          if (!(thrown instanceof RpcError) && connection.rowOfCall(label) === undefined) throw thrown;
        }
        const row = connection.rowOfCall(label);
        if (row === undefined) throw new ApiRefusal("not-found", "The request was answered without being sent.");
        const rows = await connection.page({ after: row, limit: maxPageRows });
        const response = rows.find(({ kind, partner }) => kind === "response" && partner === row);
        return { row, responseText: response ? connection.spool.text(response.n) : "" };
      },
      maxLongBodyBytes,
    ),
  };
}
