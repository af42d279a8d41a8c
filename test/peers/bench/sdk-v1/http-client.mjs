import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connectOver } from "./bench-client.mjs";

export const connect = ({ url }) => connectOver(new StreamableHTTPClientTransport(new URL(url)));
