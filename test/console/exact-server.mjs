// A server without any library: it answers a call with the line that it received, and with a number of twenty digits.
import { createInterface } from "node:readline";

const tool = {
  name: "exact",
  description: "Says what was <b>sent</b>",
  inputSchema: {
    type: "object",
    properties: {
      count: { type: "integer" },
      note: { type: "string" },
      limit: { type: ["number", "null"] },
    },
    required: ["count"],
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`);
  if (method === "initialize") {
    const { protocolVersion } = params;
    answer(
      JSON.stringify({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "exact", version: "1" } }),
    );
  } else if (method === "tools/list") answer(JSON.stringify({ tools: [tool] }));
  else if (method === "tools/call") {
    const content = JSON.stringify([{ type: "text", text: `received ${line}` }]);
    answer(`{"content":${content},"structuredContent":{"total":12345678901234567890}}`);
  } else if (id !== undefined) answer("{}");
});
