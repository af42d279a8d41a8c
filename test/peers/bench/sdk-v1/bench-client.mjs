import { Client } from "@modelcontextprotocol/sdk/client/index.js";

export async function connectOver(transport) {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args, onProgress) =>
      client.callTool({ name, arguments: args }, undefined, onProgress && { onprogress: onProgress }),
    close: () => client.close(),
  };
}
