import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { connectOver } from "./bench-client.mjs";

export const connect = ({ era, url }) => connectOver(new StreamableHTTPClientTransport(new URL(url)), era);
