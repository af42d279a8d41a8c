// A server whose lists depend on the caller.
import { createServer } from "portolan/server";

const options = { view: ({ key }) => key, cache: { ttlMs: 60_000, cacheScope: "public" } };

export default createServer({ name: "views", version: "1.0.0" }, options)
  .tool("mine", { visibleTo: (view) => view === "local", run: () => "mine" })
  .tool("theirs", { visibleTo: (view) => view === "remote", run: () => "theirs" });
