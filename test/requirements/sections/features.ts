import { expect } from "vitest";
import type { RawPeer } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { accepting, isFrom, jsonOf, listAll, listed, members, offeredBy } from "../results.ts";

const server = new URL("../servers/features.mjs", import.meta.url);
const bare = new URL("../servers/bare.mjs", import.meta.url);
const icons = [{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }];
const note = { "example.com/note": "kept" };

/** Follows resources in the way of the peer's revision. */
async function follow(peer: RawPeer, ...uris: string[]): Promise<void> {
  if (isStateless(peer.revision)) {
    const params = peer.describe({ notifications: { resourceSubscriptions: uris } });
    peer.send({ jsonrpc: "2.0", id: "follow", method: "subscriptions/listen", params });
    await peer.notification("notifications/subscriptions/acknowledged");
  } else {
    for (const uri of uris) expect((await peer.request("resources/subscribe", { uri })).result).toEqual({});
  }
}

/** The URIs whose change the peer heard of. */
function updates(peer: RawPeer): unknown[] {
  const heard = peer.notifications.filter(({ method }) => method === "notifications/resources/updated");
  return heard.map(({ params }) => params?.["uri"]);
}

/** Requirements on resources, prompts and completion. */
export const features: readonly Requirement[] = [
  {
    row: "H1",
    says: "members arrive as the revision has them",
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
    says: "templates are listed and matched, with lists and optional variables",
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
      // A pattern that backtracks would not come back from this.
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
    says: "text, bytes and several contents",
    async test(open, { revision }) {
      const peer = await open({ server });
      const withMeta = isFrom(revision, "2025-06-18") ? { _meta: { "example.com/n": 1 } } : {};
      const { result } = await peer.request("resources/read", { uri: "many:all" });
      expect(result.contents).toEqual([
        { uri: "many:1", mimeType: "text/plain", text: "one", ...withMeta },
        { uri: "many:2", mimeType: "application/octet-stream", blob: "AAH/" },
      ]);
      // Nothing there is an error; only an author who says so reads an empty list.
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
    says: "subscribers hear of their resource and what lies below it, others nothing",
    async test(open, { revision }) {
      const peer = await open({ server });
      const publish = async (...uris: string[]) => {
        await peer.callTool("publish", { uris });
        await peer.settled();
      };
      await publish("book:fixed/1");
      expect(updates(peer)).toEqual([]);
      await follow(peer, "book:fixed/1");
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
    says: "unknown, vanished and matched but missing are the same",
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
    says: "urn, https with query and fragment, and schemes of one's own",
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
    says: "the question comes first, then the contents",
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
    row: "H9",
    says: "members arrive as the revision has them",
    async test(open, { revision }) {
      const peer = await open();
      const prompt = await listed(peer, "prompts/list", "prompts", "greet");
      const wanted = ["arguments", "description", "name"];
      if (isFrom(revision, "2025-06-18")) wanted.push("_meta", "title");
      if (isFrom(revision, "2025-11-25")) wanted.push("icons");
      expect(members(prompt)).toEqual(wanted.sort());
      const title = isFrom(revision, "2025-06-18") ? { title: "Who" } : {};
      expect(prompt.arguments).toEqual([
        { name: "who", required: true, description: "Whom to greet", ...title },
        { name: "tone" },
      ]);
      expect((await offeredBy(peer)).prompts).toEqual({ listChanged: true });
    },
  },
  {
    row: "H10",
    says: "other values are refused with their path",
    async test(open) {
      const peer = await open({ server });
      for (const a of [5, true, null, ["x"], { x: "y" }]) {
        const { error } = await peer.request("prompts/get", { name: "several", arguments: { a } });
        expect(error?.code).toBe(-32602);
        expect(error?.message).toContain("params.arguments.a: expected a string");
      }
    },
  },
  {
    row: "H11",
    says: "several messages in order, newer media as older peers know them",
    async test(open, { revision }) {
      const [peer, full] = await Promise.all([open({ server }), open()]);
      const several = (await peer.request("prompts/get", { name: "several", arguments: { a: "1" } })).result;
      expect(several.messages).toEqual([
        { role: "user", content: { type: "text", text: "a=1" } },
        { role: "assistant", content: { type: "text", text: "b=undefined" } },
        { role: "user", content: { type: "image", data: "aW1hZ2U=", mimeType: "image/png" } },
      ]);
      expect((await peer.request("prompts/get", { name: "described" })).result).toMatchObject({ description: "Now" });
      const { messages } = (await full.request("prompts/get", { name: "media" })).result;
      expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
      expect(messages[0].content.type).toBe(isFrom(revision, "2025-03-26") ? "audio" : "resource");
      expect(messages[1].content.type).toBe(isFrom(revision, "2025-06-18") ? "resource_link" : "text");
      if (!isFrom(revision, "2025-06-18")) expect(messages[1].content.text).toContain("note://a");
      expect(messages[2].content).toEqual({ type: "resource", resource: { uri: "note://a", text: "A" } });
    },
  },
  {
    row: "H12",
    says: "each error says which prompt or argument",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.request("prompts/get", { name: "nowhere" })).error).toEqual({
        code: -32602,
        message: "Unknown prompt: nowhere",
      });
      const missing = (await peer.request("prompts/get", { name: "several" })).error;
      expect(missing?.code).toBe(-32602);
      expect(missing?.message).toContain("params.arguments.a");
      expect(
        (await peer.request("prompts/get", { name: "several", arguments: { a: "" } })).result.messages[0].content.text,
      ).toBe("a=");
      expect((await peer.request("prompts/get", {})).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "H13",
    says: "the question comes first, then the messages",
    async test(open) {
      const peer = await open({ capabilities: { elicitation: {} }, answer: accepting() });
      const first = await peer.request("prompts/get", { name: "asks" });
      expect(first.result).toMatchObject({
        resultType: "input_required",
        inputRequests: { get: { method: "elicitation/create" } },
      });
      const { result } = await peer.converse("prompts/get", { name: "asks" });
      expect(result).toMatchObject({
        resultType: "complete",
        messages: [{ role: "user", content: { type: "text", text: "true" } }],
      });
    },
  },
  {
    row: "H14",
    says: "values are filtered, counted and cut",
    async test(open, { revision }) {
      const [peer, without] = await Promise.all([open({ server }), open({ server: bare })]);
      const complete = async (ref: object, argument: object, more: object = {}) =>
        (await peer.request("completion/complete", { ref, argument, ...more })).result?.completion;
      const prompt = { type: "ref/prompt", name: "completing" };
      const template = { type: "ref/resource", uri: "book:{title}/{page}" };
      expect(await complete(prompt, { name: "who", value: "a" })).toEqual({
        values: ["Ada", "alan"],
        total: 2,
        hasMore: false,
      });
      expect(await complete(prompt, { name: "who", value: "" })).toEqual({
        values: ["Ada", "alan", "Bob"],
        total: 3,
        hasMore: false,
      });
      expect(await complete(prompt, { name: "free", value: "x" })).toEqual({ values: [] });
      expect(await complete(template, { name: "page", value: "" })).toEqual({
        values: ["1", "2"],
        total: 7,
        hasMore: true,
      });
      const cut = await complete(template, { name: "title", value: "t" });
      expect(cut.values).toHaveLength(100);
      expect(cut.values[99]).toBe("t-99");
      expect(cut.hasMore).toBe(true);
      const context = { context: { arguments: { page: "7" } } };
      expect((await complete(template, { name: "title", value: "t" }, context)).values[0]).toBe("t7-0");
      const { completions } = await offeredBy(peer);
      expect(completions).toEqual(isFrom(revision, "2025-03-26") ? {} : undefined);
      expect(await offeredBy(without)).not.toHaveProperty("completions");
      const refused = await without.request("completion/complete", {
        ref: prompt,
        argument: { name: "who", value: "" },
      });
      expect(refused.error).toMatchObject({ code: -32601 });
    },
  },
  {
    row: "H15",
    says: "unknown references and malformed requests are -32602",
    async test(open) {
      const peer = await open({ server });
      const argument = { name: "who", value: "" };
      const wrong: [object, object][] = [
        [{ type: "ref/prompt", name: "nowhere" }, argument],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "nowhere", value: "" },
        ],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "__proto__", value: "" },
        ],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "who", value: 5 },
        ],
        [{ type: "ref/prompt" }, argument],
        [{ type: "ref/resource", uri: "nowhere:{x}" }, argument],
        [
          { type: "ref/resource", uri: "book:{title}/{page}" },
          { name: "nowhere", value: "" },
        ],
        [{ type: "ref/resource" }, argument],
        [{ type: "ref/other", name: "completing" }, argument],
      ];
      for (const [ref, asked] of wrong) {
        const { error, result } = await peer.request("completion/complete", { ref, argument: asked });
        expect(result).toBeUndefined();
        expect(error?.code, JSON.stringify(ref)).toBe(-32602);
        expect(error?.message).not.toContain("\n");
      }
      expect((await peer.request("completion/complete", {})).error).toMatchObject({ code: -32602 });
      const fixed = { ref: { type: "ref/resource", uri: "book:fixed/1" }, argument };
      expect((await peer.request("completion/complete", fixed)).result.completion).toEqual({ values: [] });
    },
  },
  {
    row: "XH1",
    says: "the fixed resource is read",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.request("resources/read", { uri: "book:fixed/1" })).result.contents[0].text).toBe("fixed");
      expect((await peer.request("resources/read", { uri: "book:fixed/2" })).result.contents[0].text).toBe("fixed|2");
    },
  },
  {
    row: "XH2",
    says: "the resource's own members win, and pages go on over both kinds",
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
  {
    row: "XH3",
    says: "-32603 with a reference, and the reason goes to the operator",
    async test(open) {
      const peer = await open({ server });
      const failures = [
        await peer.request("resources/read", { uri: "fails:now" }),
        await peer.request("prompts/get", { name: "fails" }),
      ];
      const references = failures.map(({ error }) => {
        expect(error?.code).toBe(-32603);
        const [, reference] = /^Internal error \(reference (\w+)\)$/.exec(error?.message ?? "") ?? [];
        return reference;
      });
      expect(jsonOf(await peer.callTool("errors"))).toEqual([
        { message: "password=hunter2", method: "resources/read", reference: references[0] },
        { message: "password=hunter2", method: "prompts/get", reference: references[1] },
      ]);
    },
  },
  {
    row: "XH4",
    says: "garbage, an altered cursor and a cursor of another list are -32602",
    async test(open) {
      const peer = await open({ server });
      const cursors: { [method: string]: string } = {};
      const methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
      for (const method of methods) cursors[method] = (await peer.request(method)).result.nextCursor;
      for (const method of methods) {
        expect((await peer.request(method, { cursor: cursors[method] })).error).toBeUndefined();
        const foreign = methods.filter((other) => other !== method).map((other) => cursors[other]);
        for (const cursor of [...foreign, "garbage", "", `${cursors[method]}x`, "AAAA", "bnVsbA", 5, null]) {
          const { error } = await peer.request(method, { cursor });
          expect(error?.code, `${method} ${cursor}`).toBe(-32602);
          expect(error?.message).toContain("cursor");
        }
      }
    },
  },
];
