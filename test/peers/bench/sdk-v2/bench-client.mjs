import { Client } from "@modelcontextprotocol/client";

export async function connectOver(transport, era) {
  const mode = era === "stateless" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client({ name: "bench", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    listTools: async () => (await client.listTools()).tools,
    call: (name, args, onProgress) =>
      client.callTool({ name, arguments: args }, onProgress && { onprogress: onProgress }),
    close: () => client.close(),
  };
}
