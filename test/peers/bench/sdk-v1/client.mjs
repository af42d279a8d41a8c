import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { connectOver } from "./bench-client.mjs";

export const connect = ({ command, args, env }) => connectOver(new StdioClientTransport({ command, args, env }));
