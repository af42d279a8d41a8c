// A server that cannot be served: its tool refers to a schema on the network.
import { createServer } from "portolan/server";

export default createServer({ name: "unfit", version: "1.0.0" }).tool("far", {
  input: { type: "object", properties: { a: { $ref: "https://example.com/schema.json" } } },
  run: () => "",
});
