// @ts-check
// Calls tools until the quota is used up, and prints what is left.
// Run: node examples/extension/client.mjs
import { fileURLToPath } from "node:url";
import { RpcError } from "portolan";
import { connect } from "portolan/client";
import { quotaClient, readQuota } from "./quota.mjs";

const client = await connect(
  { command: process.execPath, args: [fileURLToPath(new URL("./server.mjs", import.meta.url))] },
  { extensions: [quotaClient()] },
);
for (const name of ["shout", "translate", "translate"]) {
  try {
    const { content } = await client.callTool(name, { text: "ahoy" });
    console.log(name, JSON.stringify(content), "left:", await readQuota(client));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    console.log(name, error.message);
  }
}
await client.close();
