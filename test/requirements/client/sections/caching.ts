import { createResponseCache } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { stateful, stateless } from "../../../kit/revisions.ts";
import { gate } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";

const day = 24 * 60 * 60_000;
const keep = (ttlMs: unknown, cacheScope = "private") => ({ ttlMs, cacheScope });

export const caching: Requirement[] = [
  {
    row: "C-J11",
    says: "every cacheable result is cached for its ttlMs and no longer",
    on: stateless,
    async test({ open, revision }) {
      const clock = createClock();
      const hints = keep(5_000);
      const { client, server } = await open({
        clock,
        on: {
          "tools/list": () => ({ tools: [], ...hints }),
          "prompts/list": () => ({ prompts: [], ...hints }),
          "resources/list": () => ({ resources: [], ...hints }),
          "resources/templates/list": () => ({ resourceTemplates: [], ...hints }),
          "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: "x" }], ...hints }),
          "server/discover": () => ({
            supportedVersions: [revision],
            capabilities: { tools: {}, prompts: {}, resources: {} },
            ...hints,
          }),
        },
      });
      const requestAll = () =>
        Promise.all([
          client.listTools(),
          client.listPrompts(),
          client.listResources(),
          client.listTemplates(),
          client.readResource("note://a"),
          client.request("server/discover"),
        ]);
      const first = await requestAll();
      const sent = server.sent.length;
      await clock.advance(4_999);
      expect(await requestAll()).toEqual(first);
      expect(server.sent).toHaveLength(sent);
      await clock.advance(1);
      await requestAll();
      expect(server.sent).toHaveLength(sent + 6);
    },
  },
  {
    row: "C-J11",
    says: "results without a valid ttlMs are not cached, and none for more than a day",
    on: stateless,
    async test({ open }) {
      const clock = createClock();
      let ttlMs: unknown;
      const { client, server } = await open({ clock, on: { "tools/list": () => ({ tools: [], ttlMs }) } });
      for (const odd of [0, -1, "5000", null, undefined, {}]) {
        ttlMs = odd;
        const before = server.of("tools/list").length;
        await client.listTools();
        await client.listTools();
        expect(server.of("tools/list"), String(odd)).toHaveLength(before + 2);
      }
      ttlMs = 1e15;
      await client.listTools();
      const kept = server.of("tools/list").length;
      await clock.advance(day - 1);
      await client.listTools();
      expect(server.of("tools/list")).toHaveLength(kept);
      await clock.advance(1);
      await client.listTools();
      expect(server.of("tools/list")).toHaveLength(kept + 1);
    },
  },
  {
    row: "C-J11",
    says: "changing a result does not change the cache, and fresh and cache: false bypass it",
    on: stateless,
    async test({ open }) {
      let version = 1;
      const contents = () => ({ contents: [{ uri: "note://a", text: `v${version}` }], ...keep(60_000) });
      const { client, server } = await open({ on: { "resources/read": contents } });
      const first = await client.readResource("note://a");
      first.contents.length = 0;
      expect((await client.readResource("note://a")).contents).toEqual(contents().contents);
      version = 2;
      expect((await client.readResource("note://a", { fresh: true })).contents).toEqual(contents().contents);
      expect((await client.readResource("note://a")).contents).toEqual(contents().contents);
      expect(server.of("resources/read")).toHaveLength(2);
      const plain = await open({ cache: false, on: { "resources/read": contents } });
      for (const _ of [1, 2]) await plain.client.readResource("note://a");
      expect(plain.server.of("resources/read")).toHaveLength(2);
    },
  },
  {
    row: "C-J11",
    says: "cache hints of stateful servers are ignored",
    on: stateful,
    async test({ open }) {
      const { client, server } = await open({ on: { "tools/list": () => ({ tools: [], ...keep(60_000) }) } });
      for (const _ of [1, 2]) await client.listTools();
      expect(server.of("tools/list")).toHaveLength(2);
    },
  },
  {
    row: "C-J12",
    says: "cached results are keyed by URI, metadata and capabilities",
    async test({ open }) {
      const { client, server } = await open({
        on: {
          "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: params.uri }], ...keep(60_000) }),
        },
      });
      for (const uri of ["note://a", "note://b", "note://a", "note://b"]) {
        expect((await client.readResource(uri)).contents).toEqual([{ uri, text: uri }]);
      }
      expect(server.of("resources/read")).toHaveLength(2);
      await client.readResource("note://a", { meta: { "example.com/as": "admin" } });
      await client.readResource("note://a", { capabilities: { roots: {} } });
      await client.readResource("note://a");
      expect(server.of("resources/read")).toHaveLength(4);
    },
  },
  {
    row: "C-J13",
    says: "clients of the same principal and server share a cache; others do not",
    async test({ open }) {
      const cache = createResponseCache();
      const reader = (principal: string, eraCacheKey: string) =>
        open({
          cache,
          principal,
          eraCacheKey,
          on: {
            "resources/read": ({ params }) => ({
              contents: [{ uri: params.uri, text: principal }],
              ...keep(60_000, "public"),
            }),
          },
        });
      const read = async (principal: string, eraCacheKey: string) => {
        const { client, server } = await reader(principal, eraCacheKey);
        const { contents } = await client.readResource("note://a");
        return [(contents[0] as { text: string }).text, server.of("resources/read").length];
      };
      expect(await read("ada", "s")).toEqual(["ada", 1]);
      expect(await read("bob", "s")).toEqual(["bob", 1]);
      expect(await read("ada", "other")).toEqual(["ada", 1]);
      expect(await read("ada", "s")).toEqual(["ada", 0]);
    },
  },
  {
    row: "C-J14",
    says: "a change invalidates only the results it concerns",
    async test({ open }) {
      const { client, server, settled } = await open({
        on: {
          "tools/list": () => ({ tools: [], ...keep(60_000) }),
          "prompts/list": () => ({ prompts: [], ...keep(60_000) }),
          "resources/list": () => ({ resources: [], ...keep(60_000) }),
          "resources/templates/list": () => ({ resourceTemplates: [], ...keep(60_000) }),
          "resources/read": ({ params }) => ({ contents: [{ uri: params.uri, text: "" }], ...keep(60_000) }),
        },
      });
      const requestAll = async () => {
        await settled();
        const before = server.sent.length;
        await Promise.all([client.listTools(), client.listPrompts(), client.listResources(), client.listTemplates()]);
        for (const uri of ["note://a", "note://a/b", "note://ab"]) await client.readResource(uri);
        await settled();
        return server.sent.slice(before, -1).map(({ method, params }) => params.uri ?? method);
      };
      expect(await requestAll()).toHaveLength(7);
      expect(await requestAll()).toEqual([]);
      const watch = await client.watch({ tools: true, prompts: true, resources: true, uris: ["note://a"] });
      const _meta = { [metaKey("subscriptionId")]: server.of("subscriptions/listen")[0]!.id };
      server.notify("notifications/tools/list_changed", { _meta });
      expect(await requestAll()).toEqual(["tools/list"]);
      server.notify("notifications/prompts/list_changed", { _meta });
      server.notify("notifications/resources/list_changed", { _meta });
      expect((await requestAll()).sort()).toEqual(["prompts/list", "resources/list", "resources/templates/list"]);
      server.notify("notifications/resources/updated", { uri: "note://a", _meta });
      expect(await requestAll()).toEqual(["note://a", "note://a/b"]);
      await watch.close();
    },
  },
  {
    row: "C-J14",
    says: "a change during a request prevents its result from being cached",
    async test({ open }) {
      const answer = gate();
      const { client, server } = await open({
        on: {
          "tools/list": async () => {
            await answer.promise;
            return { tools: [], ...keep(60_000) };
          },
        },
      });
      const list = client.listTools();
      await server.arrival("tools/list");
      server.notify("notifications/tools/list_changed");
      answer.open();
      await list;
      await client.listTools();
      await client.listTools();
      expect(server.of("tools/list")).toHaveLength(2);
    },
  },
];
