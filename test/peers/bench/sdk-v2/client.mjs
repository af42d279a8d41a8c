import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connectOver } from "./bench-client.mjs";

export const connect = ({ era, command, args, env }) =>
  connectOver(new StdioClientTransport({ command, args, env }), era);
