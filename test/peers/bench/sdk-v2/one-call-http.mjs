import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "bench", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { content } = await client.callTool({ name: "echo", arguments: { message: "hello" } });
console.log(content[0].text);
await client.close();
