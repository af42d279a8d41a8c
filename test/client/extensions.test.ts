import type { JsonObject } from "portolan";
import type { ClientExtension, ClientExtensionParts } from "portolan/client";
import { createServer, type ServerExtension } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { describe, expect, test } from "vitest";

const id = "com.example/parcels";
const newest = "2026-07-28";

/** Answers `send` with a parcel that the client has to open, by a method of the extension. */
const parcels: ServerExtension = {
  id,
  on: (_, server) => ({
    settings: { size: 3 },
    requests: {
      "parcels/open": {
        nameIn: "parcelId",
        handle: ({ params }) => {
          server.publish("parcels", { parcelId: String(params["parcelId"]) });
          return { content: [{ type: "text", text: `inside ${params["parcelId"]}` }] };
        },
      },
      "parcels/ask": { handle: ({ params }) => ({ heard: params["answers"] }) },
    },
    listen: {
      parcelIds: {
        admit: (wanted) => (wanted as string[]).filter((one) => one !== "foreign"),
        wants: (admitted, topic, { parcelId }) => topic === "parcels" && (admitted as unknown[]).includes(parcelId),
      },
    },
  }),
  around: (exchange, next, isDeclared) =>
    isDeclared && exchange.method === "tools/call" && exchange.params["name"] === "send"
      ? { kind: "extended", resultType: "parcel", result: { parcelId: "p1" } }
      : next(exchange),
};

const server = createServer({ name: "post", version: "1" })
  .extend(parcels)
  .tool("send", { run: () => "sent plainly" })
  .tool("other", { run: () => "the other" });

function opening(parts: (also: string[]) => ClientExtensionParts = () => ({})): ClientExtension & { log: string[] } {
  const log: string[] = [];
  return {
    id,
    settings: { color: "red" },
    log,
    on: ({ version }) =>
      version === newest
        ? {
            results: {
              parcel: async ({ parcelId }, call) => {
                log.push(`${call.method} ${parcelId}`);
                return call.request("parcels/open", { parcelId: parcelId as string });
              },
            },
            ...parts(log),
          }
        : undefined,
  };
}

describe("a client with an extension", () => {
  test("gets the final result of a call that the server answered with another type of result", async () => {
    const extension = opening();
    await using client = await connectInMemory(server, { extensions: [extension] });
    expect((await client.callTool("send")).content).toEqual([{ type: "text", text: "inside p1" }]);
    expect(extension.log).toEqual(["tools/call p1"]);
    expect(client.server.capabilities.extensions).toEqual({ [id]: { size: 3 } });
  });

  test("declares its settings in every request, also in those with answers of their own", async () => {
    await using client = await connectInMemory(server, { extensions: [opening()] });
    await client.callTool("send", {}, { answers: { elicit: () => ({ action: "cancel" }) } });
    const sent = client.transcript.lines
      .filter((line) => line.startsWith("→"))
      .map((line) => JSON.parse(line.slice(2)));
    const declared = sent.map(
      ({ params }) => params._meta["io.modelcontextprotocol/clientCapabilities"].extensions as unknown,
    );
    expect(declared).toHaveLength(3);
    for (const extensions of declared) expect(extensions).toEqual({ [id]: { color: "red" } });
  });

  test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
    "does not declare it on %s unless it takes part there",
    async (revision) => {
      await using client = await connectInMemory(server, { revision, extensions: [opening()] });
      expect((await client.callTool("send")).content).toEqual([{ type: "text", text: "sent plainly" }]);
      expect(client.transcript.lines[0]).not.toContain(id);
      const taking: ClientExtension = { id, on: () => ({ capabilities: { tasks: {} } }) };
      await using other = await connectInMemory(server, { revision, extensions: [taking] });
      const { params } = other.transcript.find("initialize") as { params: JsonObject };
      expect(params["capabilities"]).toEqual({
        extensions: { [id]: {} },
        ...(revision === "2025-11-25" && { tasks: {} }),
      });
    },
  );

  test("never declares the tasks extension before 2026-07-28", async () => {
    const tasks: ClientExtension = { id: "io.modelcontextprotocol/tasks", on: () => ({}) };
    await using client = await connectInMemory(server, { revision: "2025-11-25", extensions: [tasks] });
    expect(client.transcript.toString()).not.toContain("io.modelcontextprotocol/tasks");
  });

  test("answers questions of an extension as those of the call", async () => {
    const asked: unknown[] = [];
    const extension = opening(() => ({
      results: {
        parcel: async (_, call) => {
          const questions = {
            q1: {
              method: "elicitation/create" as const,
              params: { message: "Sign?", requestedSchema: { type: "object" as const, properties: {} } },
            },
          };
          const answers = await call.answer(questions);
          const { heard } = await call.request("parcels/ask", { answers });
          return { content: [{ type: "text", text: JSON.stringify(heard) }] };
        },
      },
    }));
    await using client = await connectInMemory(server, {
      extensions: [extension],
      answers: {
        elicit: (params, { during }) => {
          asked.push(params.message, during);
          return { action: "decline" };
        },
      },
    });
    const { content } = await client.callTool("send");
    expect(content).toEqual([{ type: "text", text: '{"q1":{"action":"decline"}}' }]);
    expect(asked).toEqual(["Sign?", { method: "tools/call", name: "send" }]);
  });

  test("aborts the signal of a call that its caller gives up, and sends no cancellation for it", async () => {
    let signal: AbortSignal | undefined;
    const controller = new AbortController();
    const extension = opening(() => ({
      results: {
        parcel: (_, call) => {
          signal = call.signal;
          queueMicrotask(() => controller.abort());
          return new Promise(() => {});
        },
      },
    }));
    await using client = await connectInMemory(server, { extensions: [extension] });
    await expect(client.callTool("send", {}, { signal: controller.signal })).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(signal?.aborted).toBe(true);
    expect(client.transcript.toString()).not.toContain("notifications/cancelled");
  });

  test("fails a handed over call when the connection ends", async () => {
    const extension = opening(() => ({ results: { parcel: () => new Promise(() => {}) } }));
    const client = await connectInMemory(server, { extensions: [extension] });
    const called = client.callTool("send");
    const failed = expect(called).rejects.toMatchObject({ code: "connection-closed" });
    await client.ping();
    await client.close();
    await failed;
  });

  test("watches what the extension adds to the filter, and hears its notifications", async () => {
    const heard: JsonObject[] = [];
    const extension = opening(() => ({
      listen: {
        parcelIds: {
          notification: "notifications/parcels",
          covers: (wanted, { parcelId }) => (wanted as unknown[]).includes(parcelId),
          keyOf: ({ parcelId }) => String(parcelId),
        },
      },
      notifications: { "notifications/parcels": (params) => heard.push(params) },
    }));
    await using client = await connectInMemory(server, { extensions: [extension] });
    const changes = await client.watch({ extensions: { parcelIds: ["p1", "foreign"] } });
    expect(changes.acceptedFilter).toEqual({ extensions: { parcelIds: ["p1"] } });
    await client.request("parcels/open", { parcelId: "p1" });
    for await (const change of changes) {
      expect(change).toMatchObject({ kind: "extension", member: "parcelIds", params: { parcelId: "p1" } });
      break;
    }
    expect(heard).toMatchObject([{ parcelId: "p1" }]);
  });

  test("refuses to watch a member that no extension has", async () => {
    await using client = await connectInMemory(server, { extensions: [opening()] });
    await expect(client.watch({ extensions: { parcelIds: [] } })).rejects.toThrow(
      'watch: no extension of this client has "parcelIds" with this server\'s protocol version',
    );
  });

  test("changes the params of its requests before they are sent", async () => {
    const extension = opening(() => ({
      prepare: (method, params) => (method === "tools/call" ? { ...params, name: "other" } : params),
    }));
    await using client = await connectInMemory(server, { extensions: [extension] });
    expect((await client.callTool("send")).content).toEqual([{ type: "text", text: "the other" }]);
  });

  test.each([[[{ id: "nodomain", on: () => ({}) }]], [[{ id }]], [[opening(), opening()]]])(
    "rejects invalid extensions (%#)",
    async (extensions) => {
      await expect(connectInMemory(server, { extensions: extensions as ClientExtension[] })).rejects.toThrow(
        /^extensions: /,
      );
    },
  );
});

test("a result of a type that no extension handles is invalid", async () => {
  const declaring: ClientExtension = { id, on: () => ({}) };
  await using client = await connectInMemory(server, { extensions: [declaring] });
  await expect(client.callTool("send")).rejects.toMatchObject({ code: "answer-invalid" });
});
