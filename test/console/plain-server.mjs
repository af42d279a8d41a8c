// A server without any library, of an older revision: it has 2,100 tools, and knows no request that it need not know.
import { createInterface } from "node:readline";

const tools = Array.from({ length: 2_100 }, (_, at) => ({
  name: at === 0 ? "echo" : `tool_${at}`,
  inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
}));

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const say = (rest) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...rest })}\n`);
  if (method === "initialize") {
    const { protocolVersion } = params;
    say({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "plain", version: "1" } } });
  } else if (method === "tools/list") say({ result: { tools } });
  else if (method === "tools/call") say({ result: { content: [{ type: "text", text: params.arguments.message }] } });
  else if (id !== undefined) say({ error: { code: -32601, message: "Method not found" } });
});
