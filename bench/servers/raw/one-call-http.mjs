import { connect } from "./http-client.mjs";

const client = await connect({ era: "stateful", url: process.argv[2] });
const { content } = await client.call("echo", { message: "hello" });
console.log(content[0].text);
await client.close();
