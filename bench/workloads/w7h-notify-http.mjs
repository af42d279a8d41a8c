import { Child } from "../driver/child.mjs";
import { notifyEndToEnd } from "../driver/end-to-end.mjs";
import { HttpServer } from "../driver/http-server.mjs";

/** 10,000 progress notifications from one call over HTTP, each implementation's client with its own server. */
export function run(options) {
  const open = (implementation, era) => new Pair(implementation, era);
  return notifyEndToEnd("W7 HTTP", { role: "http-client", open }, options);
}

/** A server and a client of the same implementation. */
class Pair {
  #server;
  #client;

  constructor(implementation, era) {
    const { name, folder } = implementation;
    this.#server = new HttpServer(implementation, { era, reply: "sse" });
    this.#client = new Child(name, "client-child.mjs", { folder, program: "http-client.mjs", era });
  }

  async notify(count) {
    const url = await this.#server.url();
    const before = await this.#server.cpu();
    const { wall, cpu, delivered } = await this.#client.ask({ run: "notify", url, count });
    return { wall, delivered, cpu: cpu + (await this.#server.cpu()) - before };
  }

  async close() {
    await this.#client.close();
    await this.#server.close();
  }
}
