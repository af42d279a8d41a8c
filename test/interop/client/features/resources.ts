import { RpcError } from "portolan";
import type { Change, ChangeStream } from "portolan/client";
import { expect } from "vitest";
import type { Data } from "../../../peers/clients/peer.d.mts";
import { type ServerFeature, textOf } from "../feature.ts";
import type { Peer } from "../peer.ts";

const ticks = "counter://ticks";

export const resourceFeatures: ServerFeature[] = [
  {
    name: "resources: list",
    async check({ client }) {
      const all = await client.listResources();
      expect(all.map(({ uri }) => uri)).toEqual(expect.arrayContaining([ticks, "data://pixel", "text://hello"]));
      expect(all.find(({ name }) => name === "hello")).toMatchObject({ mimeType: "text/plain" });
    },
  },
  {
    name: "resources: read",
    async check({ client }) {
      const { contents } = await client.readResource("text://hello");
      expect(contents).toMatchObject([{ uri: "text://hello", mimeType: "text/plain", text: "Hello, world" }]);
      const [picture] = (await client.readResource("data://pixel")).contents as Data[];
      expect(Buffer.from(picture.blob, "base64").subarray(0, 4)).toEqual(Buffer.from("\x89PNG", "latin1"));
    },
  },
  {
    name: "resources: templates",
    async check({ client }) {
      expect(await client.listTemplates()).toMatchObject([{ name: "note", uriTemplate: "note://{id}" }]);
      expect((await client.readResource("note://42")).contents).toMatchObject([{ uri: "note://42", text: "Note 42" }]);
    },
  },
  {
    name: "resources: unknown",
    async check({ client }) {
      const reading = client.readResource("nowhere://at/all");
      await expect(reading).rejects.toThrow(RpcError);
      await expect(reading).rejects.toThrow("nowhere://at/all");
    },
  },
  {
    name: "resources: watch",
    async check(peer) {
      const { client } = peer;
      await client.callTool("tick");
      const watch = await client.watch({ uris: [ticks] });
      expect(watch.acceptedFilter).toEqual({ uris: [ticks] });
      const changes = watch[Symbol.asyncIterator]();
      const first = changes.next();
      const ticked = textOf(await client.callTool("tick"));
      expect(await first).toEqual({ done: false, value: { kind: "resource", uri: ticks } });
      expect((await client.readResource(ticks)).contents).toMatchObject([{ text: ticked }]);
      await watch.close();
      expect(await changes.next()).toEqual({ done: true, value: undefined });
    },
  },
  {
    name: "resources: no duplicate changes",
    async check(peer) {
      const before = updatesOf(peer);
      const watch = await peer.client.watch({ uris: [ticks] });
      for (let times = 0; times < 3; times += 1) await peer.client.callTool("tick");
      await peer.until(() => updatesOf(peer) === before + 3);
      const changes = watch[Symbol.asyncIterator]();
      expect((await changes.next()).value).toEqual({ kind: "resource", uri: ticks });
      let later = false;
      const next = changes.next().then(({ value }) => {
        later = true;
        return value;
      });
      await peer.client.ping();
      expect(later).toBe(false);
      await peer.client.callTool("tick");
      expect(await next).toEqual({ kind: "resource", uri: ticks });
      await watch.close();
    },
  },
  {
    name: "resources: two watches of one URI",
    async check({ client }) {
      const first = await client.watch({ uris: [ticks] });
      const second = await client.watch({ uris: [ticks] });
      const received = [first, second].map((watch) => watch[Symbol.asyncIterator]().next());
      await client.callTool("tick");
      const change = { done: false, value: { kind: "resource", uri: ticks } };
      expect(await Promise.all(received)).toEqual([change, change]);
      await first.close();
      const next = second[Symbol.asyncIterator]().next();
      await client.callTool("tick");
      expect(await next).toEqual(change);
      await second.close();
    },
  },
  {
    name: "resources: no changes after a watch ended",
    async check(peer) {
      const watch = await peer.client.watch({ uris: [ticks] });
      await watch.close();
      const before = updatesOf(peer);
      await peer.client.callTool("tick");
      // A second watch gets the next tick: a late notification for the first watch would arrive before it.
      const second = await peer.client.watch({ uris: [ticks] });
      await peer.client.callTool("tick");
      await peer.until(() => updatesOf(peer) > before);
      await second.close();
      expect(updatesOf(peer)).toBe(before + 1);
    },
  },
  {
    name: "resources: cached for their lifetime",
    since: "2026-07-28",
    async check({ client }) {
      const uri = "counter://reads";
      const read = async (options?: { fresh: boolean }) => {
        const [{ text }] = (await client.readResource(uri, options)).contents as Data;
        return Number(text);
      };
      const first = await read();
      expect(await read()).toBe(first);
      expect(await read({ fresh: true })).toBe(first + 1);
    },
  },
  {
    name: "list changes",
    async check(peer) {
      const { client } = peer;
      const kinds = (["tools", "prompts", "resources"] as const).filter(
        (kind) => (client.server.capabilities[kind] as Data)?.listChanged,
      );
      expect(kinds).toContain("prompts");
      // Fill the cache, which must be cleared when the lists change.
      await Promise.all([client.listTools(), client.listPrompts(), client.listResources()]);
      const watch = await client.watch({ tools: true, prompts: true, resources: true });
      expect(watch.acceptedFilter).toEqual(Object.fromEntries(kinds.map((kind) => [kind, true])));
      const [told] = await Promise.all([take(watch, kinds.length), client.callTool("grow")]);
      expect(told.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
      expect((await client.listTools()).map(({ name }) => name)).toContain("grown");
      expect((await client.listPrompts()).map(({ name }) => name)).toContain("grown");
      expect((await client.listResources()).map(({ uri }) => uri)).toContain("grown://new");
      expect(textOf(await client.callTool("grown"))).toBe("I am new");
      await watch.close();
    },
  },
];

function updatesOf({ heard }: Peer): number {
  return heard.filter(({ method, params }) => method.endsWith("resources/updated") && params.uri === ticks).length;
}

async function take(watch: ChangeStream, count: number): Promise<Change[]> {
  const taken: Change[] = [];
  for await (const change of watch) {
    taken.push(change);
    if (taken.length === count) break;
  }
  return taken;
}
