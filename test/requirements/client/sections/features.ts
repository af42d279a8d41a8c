import type { JsonObject } from "portolan";
import type { ChangeStream, Client } from "portolan/client";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { round } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement, Scene } from "../requirement.ts";

const annotations = { audience: ["user"], priority: 0.5, lastModified: "1999-12-31T23:59:59Z" };
const extras = {
  title: "T",
  description: "d",
  icons: [{ src: "https://example.com/i.png" }],
  _meta: { "example.com/x": 1 },
};
const resource = { uri: "note://a", name: "a", mimeType: "text/plain", size: 3, annotations, ...extras, later: true };
const template = { uriTemplate: "note://{id}", name: "t", mimeType: "text/plain", annotations, ...extras, later: true };
const argument = { name: "who", title: "Who", description: "d", required: true, later: true };
const prompt = { name: "p", arguments: [argument, { name: "bare" }], ...extras, later: true };

/** Answers with a list in two pages. */
const paged = (member: string, items: readonly JsonObject[]) => (request: { params?: JsonObject }) =>
  request.params?.["cursor"] === "more"
    ? { [member]: items.slice(1) }
    : { [member]: items.slice(0, 1), nextCursor: "more" };

/** Sends an update in the form of the revision. */
function sendUpdate({ server, client }: Scene, uri: string): void {
  const _meta = { [metaKey("subscriptionId")]: server.of("subscriptions/listen").at(-1)?.id };
  server.notify("notifications/resources/updated", client.server.era === "stateless" ? { uri, _meta } : { uri });
}

/** Closes a watch and resolves to its changes so far. */
async function changesOf(watch: ChangeStream, client: Client): Promise<unknown[]> {
  await client.ping();
  const changes: unknown[] = [];
  const reading = (async () => {
    for await (const change of watch) changes.push(change);
  })();
  await client.ping();
  await watch.close();
  await reading;
  return changes;
}

export const features: Requirement[] = [
  {
    row: "C-H1",
    says: "page by page",
    async test({ open }) {
      const bare = { uri: "note://b", name: "b" };
      const { client } = await open({ on: { "resources/list": paged("resources", [resource, bare]) } });
      expect(await client.listResources()).toEqual([resource, bare]);
    },
  },
  {
    row: "C-H2",
    says: "templates of all pages are listed with all their members",
    async test({ open }) {
      const bare = { uriTemplate: "x://{y}", name: "b" };
      const on = { "resources/templates/list": paged("resourceTemplates", [template, bare]) };
      const { client, server } = await open({ on });
      expect(await client.listTemplates()).toEqual([template, bare]);
      expect(server.of("resources/templates/list").map(({ params }) => params.cursor)).toEqual([undefined, "more"]);
    },
  },
  {
    row: "C-H3",
    says: "all contents arrive as sent",
    async test({ open }) {
      const contents = [
        { uri: "note://a", text: "", mimeType: "text/plain", _meta: { "example.com/x": 1 } },
        { uri: "note://a/b", blob: "AAECAw==" },
        { uri: "note://c", text: "é🙂", later: 1 },
      ];
      const { client, server } = await open({ on: { "resources/read": () => ({ contents }) } });
      expect((await client.readResource("note://a")).contents).toEqual(contents);
      const [read] = server.of("resources/read");
      expect(Object.keys(read!.params).sort()).toEqual(["_meta", "uri"]);
    },
  },
  {
    row: "C-H4",
    says: "a watch reports updates of its URIs and their children, and of no others",
    async test({ open }) {
      const scene = await open();
      const watch = await scene.client.watch({ uris: ["file:///a", "note://x/"] });
      for (const uri of ["file:///a", "file:///a/b", "file:///ab", "note://x/y", "note://z"]) sendUpdate(scene, uri);
      const uris = ["file:///a", "file:///a/b", "note://x/y"];
      expect(await changesOf(watch, scene.client)).toEqual(uris.map((uri) => ({ kind: "resource", uri })));
    },
  },
  {
    row: "C-H4",
    says: "a resource is subscribed to once for all watches and unsubscribed after the last",
    async test({ open, revision }) {
      const { client, server, settled } = await open();
      const first = await client.watch({ uris: ["note://a", "note://b"] });
      const second = await client.watch({ uris: ["note://a"] });
      await first.close();
      await settled();
      if (isStateless(revision)) {
        const listens = server.of("subscriptions/listen");
        const filters = listens.map(({ params }) => params.notifications);
        expect(filters).toEqual([
          { resourceSubscriptions: ["note://a", "note://b"] },
          { resourceSubscriptions: ["note://a"] },
        ]);
        expect(server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([listens[0]!.id]);
        return;
      }
      const urisOf = (method: string) => server.of(method).map(({ params }) => params.uri);
      expect(urisOf("resources/subscribe").sort()).toEqual(["note://a", "note://b"]);
      expect(urisOf("resources/unsubscribe")).toEqual(["note://b"]);
      await second.close();
      expect(urisOf("resources/unsubscribe")).toEqual(["note://b", "note://a"]);
    },
  },
  {
    row: "C-H5",
    says: "a missing resource rejects with the code of the revision and its URI",
    async test({ open, revision }) {
      const code = isStateless(revision) ? -32602 : -32002;
      const { client } = await open({
        on: {
          "resources/read": ({ params }) => {
            throw refusal(code, "Resource not found", { uri: params.uri });
          },
        },
      });
      const expected = { name: "RpcError", code, data: { uri: "note://gone" } };
      await expect(client.readResource("note://gone")).rejects.toMatchObject(expected);
    },
  },
  {
    row: "C-H6",
    says: "URIs are neither resolved nor normalized",
    async test({ open }) {
      const uris = [
        "https://example.com/a/../b",
        "git://x?ref=main#L1",
        "urn:isbn:1",
        "file:///C:/ä b",
        "x:%7e",
        "HTTP://X",
      ];
      const { client, server } = await open();
      for (const uri of uris) await client.readResource(uri);
      expect(server.of("resources/read").map(({ params }) => params.uri)).toEqual(uris);
    },
  },
  {
    row: "C-H8",
    says: "resources/read answers the server's requests and returns only the contents",
    async test({ open }) {
      const contents = [{ uri: "note://a", text: "secret" }];
      const { client, server } = await open({
        answers: { roots: [{ uri: "file:///r" }] },
        on: {
          "resources/read": ({ params }) =>
            params.inputResponses ? { contents } : round({ where: { method: "roots/list" } }, "state"),
        },
      });
      expect(await client.readResource("note://a")).toMatchObject({ contents });
      const [, retry] = server.of("resources/read");
      const { _meta, ...params } = retry!.params;
      const inputResponses = { where: { roots: [{ uri: "file:///r" }] } };
      expect(params).toEqual({ uri: "note://a", inputResponses, requestState: "state" });
    },
  },
  {
    row: "C-H9",
    says: "page by page",
    async test({ open }) {
      const { client } = await open({ on: { "prompts/list": paged("prompts", [prompt, { name: "bare" }]) } });
      expect(await client.listPrompts()).toEqual([prompt, { name: "bare" }]);
    },
  },
  {
    row: "C-H10",
    says: "argument values are sent as strings",
    async test({ open }) {
      const { client, server } = await open();
      await client.getPrompt("p", { who: "Ada", age: "36", empty: "" });
      await client.getPrompt("q");
      const sent = server.of("prompts/get").map(({ params: { _meta, ...params } }) => params);
      expect(sent[0]).toEqual({ name: "p", arguments: { who: "Ada", age: "36", empty: "" } });
      expect(sent[1]).toMatchObject({ name: "q" });
    },
  },
  {
    row: "C-H11",
    says: "prompt messages of every content type arrive unchanged",
    async test({ open }) {
      const contents = [
        { type: "text", text: "a" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "note://a", text: "x" } },
        { type: "resource_link", uri: "note://a", name: "a" },
        { type: "later", x: 1 },
      ];
      const messages = contents.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
      const { client } = await open({ on: { "prompts/get": () => ({ description: "d", messages }) } });
      expect(await client.getPrompt("p")).toMatchObject({ description: "d", messages });
    },
  },
  {
    row: "C-H12",
    says: "an unknown prompt and a missing argument reject with the server's error",
    async test({ open }) {
      const { client } = await open({
        on: {
          "prompts/get": ({ params }) => {
            throw refusal(-32602, params.name === "p" ? "Missing argument: who" : `Unknown prompt: ${params.name}`);
          },
        },
      });
      await expect(client.getPrompt("p")).rejects.toMatchObject({ code: -32602, message: "Missing argument: who" });
      await expect(client.getPrompt("x")).rejects.toMatchObject({ code: -32602, message: "Unknown prompt: x" });
    },
  },
  {
    row: "C-H13",
    says: "prompts/get answers the server's requests and returns only the messages",
    async test({ open }) {
      const messages = [{ role: "user", content: { type: "text", text: "x" } }];
      const { client, server } = await open({
        answers: { roots: [] },
        on: {
          "prompts/get": ({ params }) =>
            params.inputResponses ? { messages } : round({ q: { method: "roots/list" } }),
        },
      });
      expect(await client.getPrompt("p", { who: "Ada" })).toMatchObject({ messages });
      const [first, retry] = server.of("prompts/get").map(({ params: { _meta, ...params } }) => params);
      expect(retry).toEqual({ ...first, inputResponses: { q: { roots: [] } } });
    },
  },
  {
    row: "C-H14",
    says: "completion sends known arguments in the revisions that have them",
    async test({ open, revision }) {
      const completion = { values: ["Ada", "Alan"], total: 7, hasMore: true };
      const { client, server } = await open({ on: { "completion/complete": () => ({ completion }) } });
      const ref = { type: "ref/prompt", name: "p", title: "P" } as const;
      const known = { century: "19" };
      expect(await client.complete(ref, { name: "who", value: "A" }, { known })).toEqual(completion);
      await client.complete({ type: "ref/resource", uri: "note://{id}" }, { name: "id", value: "" });
      const [first, second] = server.of("completion/complete").map(({ params: { _meta, ...params } }) => params);
      const isNew = isFrom(revision, "2025-06-18");
      expect(first).toEqual({
        ref: isNew ? ref : { type: "ref/prompt", name: "p" },
        argument: { name: "who", value: "A" },
        ...(isNew && { context: { arguments: known } }),
      });
      expect(second).toEqual({
        ref: { type: "ref/resource", uri: "note://{id}" },
        argument: { name: "id", value: "" },
      });
    },
  },
];
