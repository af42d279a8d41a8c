// An MCP server made from the description of an HTTP API. Start the API first: node examples/openapi/orders-api.mjs 4100
import { serveStdio } from "portolan/server/stdio";
import { fromOpenApi, readDescription } from "portolan-openapi";

const description = await readDescription(new URL("./orders.yaml", import.meta.url).pathname);

serveStdio(
  fromOpenApi(description, {
    api: process.env.ORDERS_URL ?? "http://127.0.0.1:4100",
    credential: process.env.ORDERS_KEY ?? "example-key",
    names: { cancel_order: "cancel" },
    except: ["POST /orders"],
  }),
);
