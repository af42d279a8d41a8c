import { connect } from "./client.mjs";

const client = await connect({ era: "stateful", command: process.execPath, args: [process.argv[2]] });
const { content } = await client.call("echo", { message: "hello" });
console.log(content[0].text);
await client.close();
