// A minimal server for the tests of taps: node tapped.mjs <transport> [tampered]. It lists its tools, validly or not, over
// stdio, or over HTTP as JSON, as split events, or on the stream of HTTP+SSE.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [transport, fault] = process.argv.slice(2);
const tool = { name: "grüße", inputSchema: { type: "object" } };
const tools = [fault === "tampered" ? { ...tool, name: undefined } : tool];
const answer = (text) => JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result: { tools } });

if (transport === "stdio") createInterface({ input: process.stdin }).on("line", (line) => console.log(answer(line)));
else {
  let stream;
  const server = createServer(async (request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, ["content-type", "text/event-stream"]);
      stream.write("event: endpoint\ndata: /messages?sessionId=1\n\n");
      return;
    }
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    if (transport === "http-sse") {
      response.writeHead(202).end();
      stream.write(`data: ${answer(body)}\n\n`);
    } else if (transport === "json") response.setHeader("content-type", "application/json").end(answer(body));
    else {
      const event = Buffer.from(`: hello\n\ndata: ${answer(body)}\r\n\r\n`);
      const middle = event.indexOf("ß") + 1;
      response.writeHead(200, { "Content-Type": "text/event-stream", "Mcp-Session-Id": "s" });
      response.write(event.subarray(0, middle));
      response.end(event.subarray(middle));
    }
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
}
