// Resources and prompts for the requirements on them. Each call creates a new server.
import { createServer, live } from "portolan/server";

export default function createFeatureServer() {
  const errors = [];
  const seen = [];
  const server = createServer(
    { name: "features", version: "1.0.0" },
    { pageSize: 2, onError: (error, about) => errors.push({ message: String(error?.message ?? error), ...about }) },
  )
    .tool("errors", { run: () => JSON.stringify(errors) })
    .tool("seen", { run: () => JSON.stringify(seen) })
    .resource("book:fixed/1", { name: "fixed", subscribe: true, read: () => "fixed" })
    .resource("urn:isbn:0451450523", { name: "urn", read: () => "urn" })
    .resource("https://example.com/a?b=c#d", { name: "web", read: () => "web" })
    .resource("many:all", {
      read: () => [
        { uri: "many:1", mimeType: "text/plain", text: "one", _meta: { "example.com/n": 1 } },
        { uri: "many:2", mimeType: "application/octet-stream", blob: "AAH/" },
      ],
    })
    .resource("many:none", { read: () => ({ contents: [] }) })
    .resource("fails:now", {
      read() {
        throw new Error("password=hunter2");
      },
    })
    .template("book:{title}/{page}", {
      name: "page",
      mimeType: "text/plain",
      description: "A page",
      list: () => [
        { uri: "book:alpha/1", name: "first page" },
        { uri: "book:alpha/2", mimeType: "text/html" },
      ],
      complete: {
        title: (value, known) => ({
          values: Array.from({ length: 120 }, (_, n) => `${value}${known.page ?? ""}-${n}`),
        }),
        page: () => ({ values: ["1", "2"], total: 7, hasMore: true }),
      },
      read: ({ title, page }) => (title === "gone" ? undefined : `${title}|${page}`),
    })
    .template("list:/path{/parts*}", { read: ({ parts }) => JSON.stringify(parts) })
    .template("query:{?a,b}", { read: (values) => JSON.stringify(values) })
    .prompt("several", {
      arguments: { a: { required: true }, b: {} },
      get: ({ a, b }) => [
        { role: "user", content: { type: "text", text: `a=${a}` } },
        { role: "assistant", content: { type: "text", text: `b=${b}` } },
        { role: "user", content: { type: "image", data: "aW1hZ2U=", mimeType: "image/png" } },
      ],
    })
    .prompt("described", {
      description: "Described",
      get: () => ({ description: "Now", messages: [{ role: "user", content: { type: "text", text: "x" } }] }),
    })
    .prompt("fails", {
      get() {
        throw new Error("password=hunter2");
      },
    })
    .prompt("completing", {
      arguments: { who: { complete: ["Ada", "alan", "Bob"] }, free: {} },
      get: () => "x",
    });
  const served = live(server);
  served.update((current) =>
    current.tool("publish", {
      run({ uris }) {
        for (const uri of uris) served.publish("resources/updated", { uri });
        return "published";
      },
    }),
  );
  return served;
}
