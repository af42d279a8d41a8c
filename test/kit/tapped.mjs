// A server of few words, to see what a tap sees: node tapped.mjs <way> [tampered]. It lists its tools, rightly or not, over
// stdio, or over HTTP as JSON, as events in pieces, or on the stream of HTTP+SSE.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [way, habit] = process.argv.slice(2);
const tool = { name: "grüße", inputSchema: { type: "object" } };
const tools = [habit === "tampered" ? { ...tool, name: undefined } : tool];
const answer = (text) => JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result: { tools } });

if (way === "stdio") createInterface({ input: process.stdin }).on("line", (line) => console.log(answer(line)));
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
    if (way === "http-sse") {
      response.writeHead(202).end();
      stream.write(`data: ${answer(body)}\n\n`);
    } else if (way === "json") response.setHeader("content-type", "application/json").end(answer(body));
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
