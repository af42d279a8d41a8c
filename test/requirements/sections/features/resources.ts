import { expect } from "vitest";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, isFrom, listAll, listed, members, offeredBy } from "../../results.ts";

const server = new URL("../../servers/features.mjs", import.meta.url);
const icons = [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }];
const note = { "example.com/note": "kept" };

/** Subscribes to resources as the peer's revision requires. */
async function subscribe(peer: RawPeer, ...uris: string[]): Promise<void> {
  if (isStateless(peer.revision)) {
    const params = peer.describe({ notifications: { resourceSubscriptions: uris } });
    peer.send({ jsonrpc: "2.0", id: "follow", method: "subscriptions/listen", params });
    await peer.notification("notifications/subscriptions/acknowledged");
  } else {
    for (const uri of uris) expect((await peer.request("resources/subscribe", { uri })).result).toEqual({});
  }
}

/** The URIs of the updates that the peer received. */
function updates(peer: RawPeer): unknown[] {
  const updated = peer.notifications.filter(({ method }) => method === "notifications/resources/updated");
  return updated.map(({ params }) => params?.["uri"]);
}

/** Requirements on resources. */
export const resources: readonly Requirement[] = [
  {
    row: "H1",
    says: "a listed entry has exactly the members of the revision",
    async test(open, { revision }) {
      const peer = await open();
      const resource = await listed(peer, "resources/list", "resources", "note://a");
      const wanted = ["annotations", "mimeType", "name", "size", "uri"];
      if (isFrom(revision, "2025-06-18")) wanted.push("_meta", "title");
      if (isFrom(revision, "2025-11-25")) wanted.push("icons");
      expect(members(resource)).toEqual(wanted.sort());
      expect(resource).toMatchObject({ uri: "note://a", name: "a", mimeType: "text/plain", size: 1 });
      const dated = isFrom(revision, "2025-06-18") ? { lastModified: "2026-01-01T00:00:00Z" } : {};
      expect(resource.annotations).toEqual({ priority: 1, ...dated });
      if (isFrom(revision, "2025-06-18")) expect(resource).toMatchObject({ title: "Note A", _meta: note });
      if (isFrom(revision, "2025-11-25")) expect(resource.icons).toEqual(icons);
      expect((await offeredBy(peer)).resources).toEqual({ subscribe: true, listChanged: true });
    },
  },
  {
    row: "H2",
    says: "templates are listed and matched, also with list and optional variables",
    async test(open, { revision }) {
      const peer = await open({ server });
      expect((await peer.request("resources/templates/list")).result.resourceTemplates).toHaveLength(2);
      const templates = await listAll(peer, "resources/templates/list", "resourceTemplates");
      expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual([
        "book:{title}/{page}",
        "list:/path{/parts*}",
        "query:{?a,b}",
      ]);
      expect(templates[0]).toEqual({
        uriTemplate: "book:{title}/{page}",
        name: "page",
        description: "A page",
        mimeType: "text/plain",
      });
      const read = async (uri: string) => (await peer.request("resources/read", { uri })).result.contents;
      expect(await read("book:beta%20x/7")).toEqual([
        { uri: "book:beta%20x/7", mimeType: "text/plain", text: "beta x|7" },
      ]);
      expect(JSON.parse((await read("list:/path/a/b%2Fc"))[0].text)).toEqual(["a", "b/c"]);
      expect(JSON.parse((await read("query:?a=1&b=2"))[0].text)).toEqual({ a: "1", b: "2" });
      expect(JSON.parse((await read("query:?b=2"))[0].text)).toEqual({ b: "2" });
      // A backtracking pattern would not finish on this.
      const hostile = `list:/path${"/a".repeat(3_000)}?`;
      expect((await peer.request("resources/read", { uri: hostile })).error?.code).toBe(
        isStateless(revision) ? -32602 : -32002,
      );
      const full = await listed(
        await open(),
        "resources/templates/list",
        "resourceTemplates",
        "page://{book}/{number}",
      );
      const wanted = ["mimeType", "name", "uriTemplate"];
      if (isFrom(revision, "2025-06-18")) wanted.push("_meta", "title");
      if (isFrom(revision, "2025-11-25")) wanted.push("icons");
      expect(members(full)).toEqual(wanted.sort());
    },
  },
  {
    row: "H3",
    says: "text, bytes and several contents are returned",
    async test(open, { revision }) {
      const peer = await open({ server });
      const withMeta = isFrom(revision, "2025-06-18") ? { _meta: { "example.com/n": 1 } } : {};
      const { result } = await peer.request("resources/read", { uri: "many:all" });
      expect(result.contents).toEqual([
        { uri: "many:1", mimeType: "text/plain", text: "one", ...withMeta },
        { uri: "many:2", mimeType: "application/octet-stream", blob: "AAH/" },
      ]);
      // A missing resource is an error; an empty list is returned only if the author returns one.
      expect((await peer.request("resources/read", { uri: "book:gone/1" })).error?.data).toEqual({
        uri: "book:gone/1",
      });
      expect((await peer.request("resources/read", { uri: "many:none" })).result.contents).toEqual([]);
      const bytes = await (await open()).request("resources/read", { uri: "note://b" });
      expect(bytes.result.contents).toEqual([{ uri: "note://b", blob: "AAH/" }]);
    },
  },
  {
    row: "H4",
    says: "subscribers receive updates of their resource and its children, and of no others",
    async test(open, { revision }) {
      const peer = await open({ server });
      const publish = async (...uris: string[]) => {
        await peer.callTool("publish", { uris });
        await peer.settled();
      };
      await publish("book:fixed/1");
      expect(updates(peer)).toEqual([]);
      await subscribe(peer, "book:fixed/1");
      await publish("book:fixed/1", "book:fixed/1/line", "book:fixed/12", "book:fixed", "urn:isbn:0451450523");
      expect(updates(peer)).toEqual(["book:fixed/1", "book:fixed/1/line"]);
      if (isStateless(revision)) {
        for (const { params } of peer.notifications) {
          expect(params?.["_meta"]).toEqual({ "io.modelcontextprotocol/subscriptionId": "follow" });
        }
        expect((await peer.request("resources/subscribe", { uri: "book:fixed/1" })).error).toMatchObject({
          code: -32601,
        });
        peer.notify("notifications/cancelled", { requestId: "follow" });
      } else {
        const [first] = peer.notifications;
        expect(first).toEqual({
          jsonrpc: "2.0",
          method: "notifications/resources/updated",
          params: { uri: "book:fixed/1" },
        });
        expect((await peer.request("resources/subscribe", { uri: "nowhere:x" })).error).toMatchObject({ code: -32002 });
        expect((await peer.request("resources/unsubscribe", { uri: "book:fixed/1" })).result).toEqual({});
      }
      await publish("book:fixed/1");
      expect(updates(peer)).toHaveLength(2);
    },
  },
  {
    row: "H5",
    says: "unknown, removed and matched but missing resources have the same error",
    async test(open, { revision }) {
      const peer = await open({ server });
      for (const uri of ["nowhere:at-all", "book:gone/1", "book:x", "", "__proto__"]) {
        const { error, result } = await peer.request("resources/read", { uri });
        expect(result).toBeUndefined();
        expect(error).toEqual({
          code: isStateless(revision) ? -32602 : -32002,
          message: `Resource not found: ${uri}`,
          data: { uri },
        });
      }
      expect((await peer.request("resources/read", {})).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "H6",
    says: "URNs, https URIs with query and fragment, and custom schemes are served",
    async test(open) {
      const peer = await open({ server });
      for (const uri of ["urn:isbn:0451450523", "https://example.com/a?b=c#d", "book:fixed/1"]) {
        expect(await listed(peer, "resources/list", "resources", uri)).toBeDefined();
        expect((await peer.request("resources/read", { uri })).result.contents[0].uri).toBe(uri);
      }
    },
  },
  {
    row: "H7",
    says: "a URI of wrong type or length is refused",
    async test(open) {
      const peer = await open({ server });
      for (const uri of [5, null, ["book:fixed/1"], `book:${"x".repeat(9_000)}/1`]) {
        const { error } = await peer.request("resources/read", { uri });
        expect(error?.code, String(uri).slice(0, 20)).toBe(-32602);
        expect(error?.message.length).toBeLessThan(200);
      }
    },
  },
  {
    row: "H8",
    says: "the request to the client comes first, then the contents",
    async test(open) {
      const peer = await open({ capabilities: { elicitation: {} }, answer: accepting() });
      const first = await peer.request("resources/read", { uri: "note://asks" });
      expect(first.result).toMatchObject({
        resultType: "input_required",
        inputRequests: { read: { method: "elicitation/create" } },
      });
      const { result } = await peer.converse("resources/read", { uri: "note://asks" });
      expect(result).toMatchObject({ resultType: "complete", contents: [{ uri: "note://asks", text: "true" }] });
    },
  },
  {
    row: "XH1",
    says: "a read of a URI that a template also matches returns the fixed resource",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.request("resources/read", { uri: "book:fixed/1" })).result.contents[0].text).toBe("fixed");
      expect((await peer.request("resources/read", { uri: "book:fixed/2" })).result.contents[0].text).toBe("fixed|2");
    },
  },
  {
    row: "XH2",
    says: "members of the resource take precedence, and pages contain both kinds",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.request("resources/list")).result.resources).toHaveLength(2);
      const resources = await listAll(peer, "resources/list", "resources");
      const uris = resources.map(({ uri }) => uri);
      expect(uris).toEqual([...uris].sort());
      expect(uris).toContain("urn:isbn:0451450523");
      expect(resources.find(({ uri }) => uri === "book:alpha/1")).toEqual({
        uri: "book:alpha/1",
        name: "first page",
        description: "A page",
        mimeType: "text/plain",
      });
      expect(resources.find(({ uri }) => uri === "book:alpha/2")).toMatchObject({
        name: "page",
        mimeType: "text/html",
      });
    },
  },
];
