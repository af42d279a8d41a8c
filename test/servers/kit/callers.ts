import { type Client, connect } from "portolan/client";
import { http } from "portolan/client/http";
import type { Server } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { onTestFinished } from "vitest";
import { byUser } from "../../http/users.ts";

/** Serves over HTTP and connects two authenticated callers, until the test ends. */
export async function connectCallers(server: Server): Promise<{ hostile: Client; innocent: Client }> {
  const endpoint = serveHttp(server, { verify: byUser });
  onTestFinished(() => endpoint.close());
  const { url } = await endpoint.listen(0);
  const connectAs = async (authorization: string) => {
    const client = await connect(http(url, { headers: { authorization } }));
    onTestFinished(() => client.close());
    return client;
  };
  return { hostile: await connectAs("hostile"), innocent: await connectAs("innocent") };
}
