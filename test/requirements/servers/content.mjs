// A server with every member of the newest revision, to test what older revisions must not see. Each call creates a new
// server.
import { RpcError } from "portolan";
import { createServer, live } from "portolan/server";

const icons = [{ src: "https://example.com/icon.svg", mimeType: "image/svg+xml", sizes: ["any"] }];
const meta = { "example.com/note": "kept" };
const annotations = { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" };
const newest = { resultType: "complete", ttlMs: 5, cacheScope: "public" };
const everything = { title: "Title", description: "Description", icons, meta };
const link = {
  type: "resource_link",
  uri: "note:a",
  name: "a",
  title: "Note A",
  description: "A note",
  mimeType: "text/plain",
  size: 1,
  annotations,
  icons,
  _meta: meta,
};
const blocks = [
  { type: "text", text: "one", annotations, _meta: meta, "example.com/extra": 1 },
  { type: "image", data: "aW1hZ2U=", mimeType: "image/png", annotations, _meta: meta },
  { type: "audio", data: "c291bmQ=", mimeType: "audio/wav", annotations, _meta: meta },
  link,
  {
    type: "resource",
    resource: { uri: "note:a", mimeType: "text/plain", text: "A", _meta: meta, "example.com/extra": 1 },
    annotations,
    _meta: meta,
  },
  { type: "resource", resource: { uri: "note:b", mimeType: "image/png", blob: "aW1hZ2U=" } },
];
const tree = { type: "object", properties: { next: { $ref: "#/$defs/tree" } } };

export default function createContentServer() {
  const served = live(
    createServer(
      {
        name: "content",
        version: "1.0.0",
        title: "Content",
        description: "All there is",
        websiteUrl: "https://example.com",
        icons,
      },
      { instructions: "Look.", cache: { ttlMs: 1_000, cacheScope: "public" }, onError() {} },
    )
      .tool("all", {
        ...everything,
        annotations: { title: "Hint", readOnlyHint: true },
        output: { type: "object", properties: { n: { type: "number" } } },
        run: () => ({ content: blocks, structuredContent: { n: 1 }, _meta: meta, ...newest, "example.com/extra": 1 }),
      })
      .tool("list_output", { output: { type: "array", items: { type: "number" } }, run: () => [1] })
      .tool("self_reference", { output: { type: "array", items: { $ref: "#" } }, run: () => [[], []] })
      .tool("draft07", {
        input: {
          $schema: "http://json-schema.org/draft-07/schema#",
          type: "object",
          properties: {
            pair: { type: "array", items: [{ type: "string" }, { $ref: "#/definitions/n" }], additionalItems: false },
          },
          definitions: { n: { type: "number" } },
        },
        run: () => "fits",
      })
      .tool("modern", {
        input: {
          type: "object",
          properties: { pair: { type: "array", prefixItems: [{ type: "string" }], items: { type: "number" } } },
          unevaluatedProperties: false,
        },
        run: () => "fits",
      })
      .tool("deep", {
        input: { type: "object", properties: { tree: { $ref: "#/$defs/tree" } }, $defs: { tree } },
        run: () => "fits",
      })
      .tool("any", { run: () => "ran" })
      .tool("throws_code", {
        run({ code }) {
          throw new RpcError(code, "told");
        },
      })
      .tool("progress", {
        run(_, ctx) {
          ctx.progress(1, 2, "half");
          return "done";
        },
      })
      .tool("change", {
        run() {
          served.update((now) =>
            now
              .tool("extra", { run: () => "" })
              .prompt("extra", { get: () => "" })
              .resource("note:extra", { read: () => "" }),
          );
          served.publish("resources/updated", { uri: "note:a" });
          return "changed";
        },
      })
      .tool("elicit", {
        run: async ({ message, schema }, ctx) => JSON.stringify(await ctx.elicit("e", { message, form: schema })),
      })
      .tool("visit", {
        run: async (_, ctx) => (await ctx.openUrl("v", { message: "Log in", url: "https://example.com/login" })).action,
      })
      .tool("sample", { run: async ({ params }, ctx) => JSON.stringify((await ctx.sample("s", params)).content) })
      .resource("note:a", {
        ...everything,
        name: "a",
        mimeType: "text/plain",
        annotations,
        size: 1,
        subscribe: true,
        cache: { ttlMs: 5, cacheScope: "public" },
        read: () => ({
          contents: [{ uri: "note:a", text: "A", _meta: meta, "example.com/extra": 1 }],
          _meta: meta,
          "example.com/extra": 1,
          ...newest,
        }),
      })
      .template("note:t/{id}", { ...everything, name: "t", annotations, complete: { id: ["1"] }, read: () => "T" })
      .prompt("all", {
        ...everything,
        arguments: { who: { title: "Who", description: "Whom", required: true, complete: ["Ada"] } },
        get: () => ({
          description: "All",
          messages: blocks.map((content) => ({ role: "user", content })),
          _meta: meta,
          "example.com/extra": 1,
          ...newest,
        }),
      })
      .use(async (exchange, next) => {
        const outcome = await next(exchange);
        if (exchange.method !== "tools/list" || outcome.kind !== "complete") return outcome;
        const tools = outcome.result.tools.map((tool) => ({
          ...tool,
          execution: { taskSupport: "optional" },
          "example.com/extra": 1,
        }));
        return { ...outcome, result: { ...outcome.result, tools } };
      }),
  );
  return served;
}
