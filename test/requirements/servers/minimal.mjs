// A server that offers nothing at all.
import { createServer } from "portolan/server";

export default createServer({ name: "minimal", version: "1.0.0" });
