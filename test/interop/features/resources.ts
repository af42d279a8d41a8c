import { expect } from "vitest";
import { type Feature, journalOf, untilJournal } from "../feature.ts";

export const resourceFeatures: Feature[] = [
  {
    name: "resources: list",
    async check(peer) {
      const { all } = await peer.listResources();
      expect(all.map(({ uri }) => uri)).toEqual([
        "asks://name",
        "counter://ticks",
        "data://pixel",
        "note://1",
        "note://2",
        "text://hello",
      ]);
      expect(all[5]).toMatchObject({ name: "hello", mimeType: "text/plain" });
    },
  },
  {
    name: "resources: read text",
    async check(peer) {
      const { contents } = await peer.readResource("text://hello");
      expect(contents).toEqual([{ uri: "text://hello", mimeType: "text/plain", text: "Hello, world" }]);
    },
  },
  {
    name: "resources: read binary",
    async check(peer) {
      const { contents } = await peer.readResource("data://pixel");
      expect(contents).toMatchObject([{ uri: "data://pixel", mimeType: "image/png" }]);
      expect(Buffer.from(contents[0].blob, "base64").subarray(0, 4)).toEqual(Buffer.from("\x89PNG", "latin1"));
    },
  },
  {
    name: "resources: templates",
    async check(peer) {
      const { all } = await peer.listTemplates();
      expect(all.map(({ uriTemplate }) => uriTemplate)).toEqual(["note://{id}", "repo://{owner}/{name}"]);
      expect((await peer.readResource("note://42")).contents).toMatchObject([{ uri: "note://42", text: "Note 42" }]);
      const { contents } = await peer.readResource("repo://ada/engine");
      expect(contents).toMatchObject([{ text: "engine of ada" }]);
    },
  },
  {
    name: "resources: unknown",
    async check(reader, { version, peer }) {
      // SDK v2 reports the older code as the newer one.
      const code = version < "2026-07-28" && peer !== "SDK v2" ? -32002 : -32602;
      for (const uri of ["note://100", "nowhere://at/all"]) {
        const message = expect.stringContaining(`Resource not found: ${uri}`);
        await expect(reader.readResource(uri)).rejects.toMatchObject({ code, message });
      }
    },
  },
  {
    name: "resources: watch",
    async check(peer) {
      const uri = "counter://ticks";
      const heard = () => peer.heard.filter(({ params }) => params?.uri === uri).length;
      await peer.callTool("tick");
      const { stop } = await peer.follow(uri);
      expect(await journalOf(peer, uri)).toEqual([`watch ${uri}`]);
      expect(heard()).toBe(0);
      const { content } = await peer.callTool("tick");
      await peer.hears("notifications/resources/updated", (params) => params.uri === uri);
      expect((await peer.readResource(uri)).contents[0].text).toBe(content[0].text);
      await stop();
      await peer.callTool("tick");
      await untilJournal(peer, uri, [`watch ${uri}`, `unwatch ${uri}`]);
      expect(heard()).toBe(1);
    },
  },
  {
    name: "resources: publish",
    async check(peer) {
      const { stop } = await peer.follow("note://7");
      await peer.callTool("touch", { uri: "note://8" });
      await peer.callTool("touch", { uri: "note://7" });
      await peer.hears("notifications/resources/updated", ({ uri }) => uri === "note://7");
      await stop();
      await peer.callTool("touch", { uri: "note://7" });
      await peer.callTool("text", { text: "what was sent before is here now" });
      const uris = peer.heard.flatMap(({ params }) => (params?.uri?.startsWith("note:") ? [params.uri] : []));
      expect(uris).toEqual(["note://7"]);
    },
  },
  {
    name: "resources: completion",
    async check(peer) {
      const ref = { type: "ref/resource", uri: "note://{id}" };
      const { completion } = await peer.complete({ ref, argument: { name: "id", value: "1" } });
      expect(completion).toMatchObject({ values: ["1", "10", "11"], total: 3, hasMore: false });
    },
  },
  {
    name: "resources: completion in context",
    since: "2025-06-18",
    async check(peer) {
      const { completion } = await peer.complete({
        ref: { type: "ref/resource", uri: "repo://{owner}/{name}" },
        argument: { name: "name", value: "" },
        context: { arguments: { owner: "ada" } },
      });
      expect(completion.values).toEqual(["ada-engine", "ada-notes"]);
    },
  },
];
