import { connect } from "portolan/client";

const client = await connect(process.argv[2]);
const { content } = await client.callTool("echo", { message: "hello" });
console.log(content[0].text);
await client.close();
