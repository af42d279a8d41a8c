// A server with two extensions: parts of one are for clients that declare it, those of the other for everybody.
import { createServer } from "portolan/server";

const mark =
  (id) =>
  (entry, { kind }) =>
    kind === "tool" ? { ...entry, _meta: { ...entry._meta, [id]: true } } : entry;

/** Its tool `locked` works only for clients that declare it. */
const gated = {
  id: "com.example/gated",
  on: () => ({
    settings: { level: 3 },
    requests: { "com.example/gated/read": { handle: () => ({ value: "gated" }) } },
    decorate: mark("com.example/gated"),
  }),
  around(exchange, next, isDeclared) {
    if (isDeclared || exchange.params.name !== "locked") return next(exchange);
    return { kind: "complete", result: { content: [{ type: "text", text: "plain" }] } };
  },
};
const open = {
  id: "com.example/open",
  on: () => ({
    isOpen: true,
    requests: { "com.example/open/read": { handle: () => ({ value: "open" }) } },
    decorate: mark("com.example/open"),
  }),
};

export default createServer({ name: "extended", version: "1.0.0" })
  .extend(gated)
  .extend(open)
  .tool("locked", { run: () => "unlocked" });
