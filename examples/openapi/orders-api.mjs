// The HTTP API that orders.yaml describes, in memory. Run: node examples/openapi/orders-api.mjs 4100
import { createServer } from "node:http";

const key = process.env.ORDERS_KEY ?? "example-key";
const orders = [
  { id: 1, item: "Sextant", count: 1, state: "sent" },
  { id: 2, item: "Chart of the Azores", count: 2, state: "open" },
];
let lastId = 2;
const maxBodyBytes = 10_000;

const server = createServer(async (request, response) => {
  /** @type {(status: number, body?: unknown, headers?: { [name: string]: string }) => void} */
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const id = /^\/orders\/(\d+)$/.exec(pathname)?.[1];
  if (request.headers["x-shop-key"] !== key) return send(401, { message: "The key is missing or wrong" });
  if (pathname === "/orders" && request.method === "GET") {
    const state = searchParams.get("state");
    return send(200, orders.filter((order) => state === null || order.state === state).toReversed());
  }
  if (pathname === "/orders" && request.method === "POST") {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) {
      text += chunk;
      if (text.length > maxBodyBytes) return send(413, { message: "The order is too long" });
    }
    const { item, count = 1 } = readOrder(text);
    if (typeof item !== "string" || !Number.isInteger(count)) return send(400, { message: "An order needs an item" });
    lastId += 1;
    const order = { id: lastId, item, count, state: "open" };
    orders.push(order);
    return send(201, order, { location: `/orders/${order.id}` });
  }
  const order = orders.find((one) => one.id === Number(id));
  if (!order) return send(404, { message: "There is no such order" });
  if (request.method === "GET") return send(200, order);
  if (request.method !== "DELETE") return send(405, { message: "Only GET and DELETE" });
  if (order.state !== "open") return send(409, { message: "The order was sent already" });
  orders.splice(orders.indexOf(order), 1);
  return send(204);
});

/** @param {string} text */
function readOrder(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

server.listen(Number(process.argv[2] ?? 4100), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`Serving http://127.0.0.1:${address?.port}`);
});
