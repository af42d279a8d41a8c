// A server without any feature.
import { createServer } from "portolan/server";

export default createServer({ name: "minimal", version: "1.0.0" });
