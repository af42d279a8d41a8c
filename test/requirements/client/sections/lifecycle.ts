import { PortolanError } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, stateful } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { allAnswers, everyCall, gate, round, text } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const icons = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }];
const identity = {
  name: "atlas",
  version: "1.0.0",
  title: "Atlas",
  description: "A client",
  websiteUrl: "https://example.com",
  icons,
};

export const lifecycle: Requirement[] = [
  {
    row: "C-B1",
    says: "the handshake is sent before any other message, and initialized once",
    async test({ stage }) {
      const { server, connect } = await stage({ logLevel: "info" });
      const client = await connect();
      await Promise.all([client.callTool("a"), client.listTools()]);
      await client.ping();
      expect(server.methods.slice(0, 3)).toEqual(["initialize", "notifications/initialized", "logging/setLevel"]);
      expect(server.of("notifications/initialized")).toEqual([{ jsonrpc: "2.0", method: "notifications/initialized" }]);
      expect(server.of("initialize")).toHaveLength(1);
    },
  },
  {
    row: "C-B2",
    says: "the client info has exactly the members of the revision",
    async test({ open, revision }) {
      const { client, server } = await open({ info: identity });
      await client.callTool("a");
      const { name, version, title } = identity;
      const older = isFrom(revision, "2025-06-18") ? { name, version, title } : { name, version };
      const sentInfo = isStateless(revision)
        ? server.sent.map(({ params }) => params._meta[metaKey("clientInfo")])
        : server.of("initialize").map(({ params }) => params.clientInfo);
      expect(sentInfo.length).toBeGreaterThan(0);
      for (const info of sentInfo) expect(info).toEqual(isFrom(revision, "2025-11-25") ? identity : older);
      const [first] = server.of("initialize");
      if (first) expect(Object.keys(first.params).sort()).toEqual(["capabilities", "clientInfo", "protocolVersion"]);
    },
  },
  {
    row: "C-B3",
    says: "instructions of the server are available if it sends any",
    async test({ open }) {
      const withInstructions = await open({ says: { instructions: "Use with care." } });
      expect(withInstructions.client.server.instructions).toBe("Use with care.");
      const without = await open();
      expect(without.client.server.instructions).toBeUndefined();
    },
  },
  {
    row: "C-B5",
    says: "pings, log messages and requests of the server before the handshake's end are handled",
    async test({ stage }) {
      const answer = gate();
      const logs: unknown[] = [];
      const { server, connect } = await stage({
        on: {
          initialize: async ({ params }) => {
            await answer.promise;
            return {
              protocolVersion: params.protocolVersion,
              capabilities: {},
              serverInfo: { name: "s", version: "1" },
            };
          },
        },
        onLog: ({ data }) => logs.push(data),
      });
      const connecting = connect();
      await server.arrival("initialize");
      server.notify("notifications/message", { level: "info", data: "booting" });
      server.notify("notifications/tools/list_changed");
      expect(await server.ask("ping")).toMatchObject({ result: {} });
      expect(await server.ask("roots/list")).toHaveProperty("error");
      expect(server.sent.filter(({ method }) => method !== undefined && method !== "initialize")).toEqual([]);
      answer.open();
      const client = await connecting;
      await client.ping();
      expect(logs).toEqual(["booting"]);
    },
  },
  {
    row: "C-B6",
    says: "the client uses the version that the server selects",
    async test({ open, revision }) {
      const { client, server } = await open({
        era: isStateless(revision) ? "stateless" : "stateful",
        info: identity,
        answers: allAnswers,
        capabilities: { sampling: { tools: {}, context: {} } },
      });
      expect(client.server).toMatchObject({ version: revision, era: isStateless(revision) ? "stateless" : "stateful" });
      await everyCall(client, revision);
      expect(server.of("tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-B7",
    says: "every kind of request has version, client info and capabilities",
    async test({ open, revision }) {
      const { client, server } = await open({
        info: identity,
        answers: allAnswers,
        on: {
          "tools/call": ({ params }) => (params.inputResponses ? text("x") : round({ q: { method: "roots/list" } })),
        },
      });
      await everyCall(client, revision);
      const requests = server.sent.filter(({ id }) => id !== undefined);
      expect(new Set(requests.map(({ method }) => method)).size).toBe(10);
      for (const { method, params } of requests) {
        expect(params._meta, method).toMatchObject({
          [metaKey("protocolVersion")]: revision,
          [metaKey("clientInfo")]: identity,
          [metaKey("clientCapabilities")]: { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
        });
      }
    },
  },
  {
    row: "C-B8",
    says: "the server info is available with title, icons and unknown members",
    async test({ open, revision }) {
      const info = { ...identity, name: "server", later: { x: 1 } };
      const says = isStateless(revision) ? { _meta: { [metaKey("serverInfo")]: info } } : { serverInfo: info };
      const { client } = await open({ says });
      expect(client.server.info).toEqual(info);
    },
  },
  {
    row: "C-B9",
    says: "missing, malformed and known names of a server change nothing",
    async test({ open, revision }) {
      for (const info of [undefined, {}, { name: 5 }, "me", { name: "portolan", version: "0.0.0" }]) {
        const says = isStateless(revision) ? { _meta: { [metaKey("serverInfo")]: info } } : { serverInfo: info };
        const { client, server } = await open({ says });
        await client.callTool("a");
        expect(server.of("tools/call")).toHaveLength(1);
        expect(client.server.info?.name).toBe((info as { version?: string } | undefined)?.version && "portolan");
      }
    },
  },
  {
    row: "C-B10",
    says: "server/discover is sent once and first, and the newest common version is used",
    async test({ open, revision }) {
      const { client, server } = await open({
        says: { supportedVersions: ["2099-01-01", revision, "2025-11-25"], instructions: "Hi" },
        offers: { tools: {} },
      });
      await client.callTool("a");
      expect(server.methods).toEqual(["server/discover", "tools/call"]);
      expect(client.server).toMatchObject({ version: revision, capabilities: { tools: {} }, instructions: "Hi" });
    },
  },
  {
    row: "C-B10",
    says: "an invalid discovery result rejects",
    async test({ stage }) {
      for (const result of [{}, { supportedVersions: "all", capabilities: {} }, { supportedVersions: [] }]) {
        const { server, connect } = await stage({ on: { "server/discover": () => result } });
        await expect(connect()).rejects.toBeInstanceOf(PortolanError);
        expect(server.methods).toEqual(["server/discover"]);
      }
    },
  },
  {
    row: "C-B11",
    says: "without a capability lists are empty, and other calls reject in the client",
    async test({ open, revision }) {
      const { client, server } = await open({ offers: {} });
      const before = server.sent.length;
      expect(await client.listTools()).toEqual([]);
      expect(await client.listResources()).toEqual([]);
      expect(await client.listTemplates()).toEqual([]);
      expect(await client.listPrompts()).toEqual([]);
      const complete = () => client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" });
      const refused: (() => Promise<unknown>)[] = [
        () => client.callTool("a"),
        () => client.readResource("note://a"),
        () => client.getPrompt("p"),
        () => client.watch({ tools: true }),
        () => client.watch({ uris: ["note://a"] }),
        () => client.request("tools/list"),
        ...(isStateless(revision) ? [] : [() => client.setLogLevel("info")]),
        ...(isFrom(revision, "2025-03-26") ? [complete] : []),
      ];
      for (const call of refused) {
        await expect(call(), String(call)).rejects.toMatchObject({ code: "capability-missing" });
      }
      expect(server.sent).toHaveLength(before);
      // The oldest servers have no capability for completion.
      if (!isFrom(revision, "2025-03-26")) expect(await complete()).toEqual({ values: [] });
    },
  },
  {
    row: "C-B11",
    says: "a watch covers only changes that the server announces",
    async test({ open }) {
      const { client } = await open({ offers: { tools: {}, resources: { listChanged: true } } });
      await expect(client.watch({ tools: true })).rejects.toMatchObject({ code: "capability-missing" });
      const watch = await client.watch({ tools: true, resources: true, uris: ["note://a"] });
      expect(watch.acceptedFilter).toEqual({ resources: true });
    },
  },
  {
    row: "C-B12",
    says: "extensions and experimental capabilities are sent and received with their settings",
    async test({ open, revision }) {
      const both = { experimental: { "example.com/x": { a: 1 } }, extensions: { "example.com/y": { b: [2] } } };
      // Hosts also send extensions in handshakes, although the schemas do not define them there.
      const { client, server } = await open({ offers: both, capabilities: both, expected: /capabilities.*extensions/ });
      expect(client.server.capabilities).toEqual(both);
      const [first] = server.sent;
      const { _meta = {}, capabilities = _meta[metaKey("clientCapabilities")] } = first!.params;
      expect(capabilities).toEqual(both);
      expect(first!.method).toBe(isStateless(revision) ? "server/discover" : "initialize");
    },
  },
  {
    row: "C-B17",
    says: "the error with the supported versions reaches the caller",
    on: stateful,
    async test({ stage }) {
      const data = { supported: ["2026-07-28"], requested: "x" };
      const { server, connect } = await stage({
        on: {
          initialize: () => {
            throw refusal(-32022, "Unsupported protocol version", data);
          },
        },
      });
      const message = expect.stringContaining("Unsupported protocol version");
      await expect(connect()).rejects.toMatchObject({ code: -32022, data, message });
      expect(server.methods).toEqual(["initialize"]);
    },
  },
  {
    row: "C-XB3",
    says: "close rejects pending calls once, and nothing is sent afterwards",
    async test({ open }) {
      const { client, server } = await open({ on: { "tools/call": () => undefined } });
      const settlements: string[] = [];
      const calls = ["a", "b"].map((name) =>
        client.callTool(name).then(
          () => settlements.push("result"),
          ({ code }) => settlements.push(code),
        ),
      );
      await server.arrival("tools/call", 2);
      const before = server.sent.length;
      await Promise.all([client.close(), client.close()]);
      await client.close();
      await Promise.all(calls);
      expect(settlements).toEqual(["connection-closed", "connection-closed"]);
      expect(await client.closed).toBeUndefined();
      await expect(client.callTool("c")).rejects.toMatchObject({ code: "connection-closed" });
      expect(server.sent).toHaveLength(before);
    },
  },
];
