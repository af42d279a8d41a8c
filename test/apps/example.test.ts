import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { build } from "esbuild";
import type { JsonObject } from "portolan";
import { serveHttp } from "portolan/server/http";
import type { AppSession } from "portolan-host/apps";
import { expect, test } from "vitest";
import { startChromium } from "../browser/chromium.ts";
import { pathTo, start } from "../examples/example.ts";
import { serve } from "./browser/stage.ts";

const files = [
  "examples/apps/server.mjs",
  "examples/apps/page.mjs",
  "examples/apps/sandbox.mjs",
  "examples/apps/seats.html",
];

test("the page of the example shows the app, and keeps for the model what the user did in it", async () => {
  const [serverFile = "", pageFile = "", sandboxFile = ""] = files;
  const { default: server } = await import(pathTo(serverFile));
  const { createSandbox } = await import(pathTo(sandboxFile));
  const program = `
    import { ask, openSeats, show, startHost } from ${JSON.stringify(pathTo(pageFile))};
    window.example = { ask, openSeats, show, startHost };
  `;
  const bundled = await build({
    stdin: { contents: program, resolveDir: join(pathTo(""), "examples/apps") },
    ...{ bundle: true, write: false, format: "iife", platform: "browser", logLevel: "silent" },
  });
  const script = bundled.outputFiles[0]?.text ?? "";
  let addressOf: (grant: object) => string = () => "";
  const port = await serve(async (request, response) => {
    if (request.url === "/sandbox") {
      let body = "";
      for await (const chunk of request) body += chunk;
      response.end(addressOf(JSON.parse(body)));
    } else if (request.url === "/page.js") response.end(script);
    else
      response
        .setHeader("content-type", "text/html")
        .end(`<!doctype html><body></body><script src="/page.js"></script>`);
  });
  const reserved = createServer().listen(0, "127.0.0.1");
  const { port: sandboxPort } = await new Promise<AddressInfo>((resolve) =>
    reserved.once("listening", () => resolve(reserved.address() as AddressInfo)),
  );
  await new Promise((resolve) => reserved.close(resolve));
  const origin = `http://127.0.0.1:${port}`;
  const sandbox = createSandbox(origin, `http://localhost:${sandboxPort}`);
  addressOf = (grant) => sandbox.addressOf(grant, "ada, cinema, ui://cinema/seats");
  await new Promise<void>((resolve) => sandbox.server.listen(sandboxPort, "127.0.0.1", resolve));
  const endpoint = serveHttp(server, { allowedOrigins: [origin] });
  const { url } = await endpoint.listen(0);
  try {
    const page = await (await startChromium()).newPage();
    await page.goto(origin);
    await page.evaluate(async (to) => {
      const { example } = window as unknown as { example: Record<string, (...args: unknown[]) => Promise<unknown>> };
      const host = await example["startHost"]?.(to, { approve: () => true, say: () => true });
      const session = await example["openSeats"]?.(host, () => {});
      await example["show"]?.(session, document.body);
      Object.assign(window, { session });
    }, url);
    const app = page.frameLocator("iframe").frameLocator("iframe");
    const callTool = (name: string, args: object) =>
      page.evaluate(
        async ([of, given]) => {
          const { session } = window as unknown as { session: AppSession };
          await session.settleTools();
          const tool = session.tools.find((one) => one.name === of);
          return tool && (await session.callTool(tool, given as JsonObject)).content[0];
        },
        [name, args] as const,
      );
    await expect.poll(() => callTool("free_seats", {})).toMatchObject({ text: expect.stringMatching(/^A1, A3, A4, /) });
    expect(await callTool("point_at_seat", { seat: "A4" })).toMatchObject({ text: "The user sees seat A4." });
    expect(await callTool("point_at_seat", { seat: "A2" })).toMatchObject({ text: "Seat A2 is not free." });
    await app.getByRole("button", { name: "A4" }).click();
    await app.getByText("Seat A4 is yours.").waitFor();
    await expect
      .poll(() =>
        page.evaluate(() => JSON.stringify((window as unknown as { session: { context: unknown } }).session.context)),
      )
      .toContain("The user has booked seat A4.");
  } finally {
    sandbox.server.closeAllConnections();
    sandbox.server.close();
    await endpoint.close();
  }
});

test("the example's server is one for clients without apps, too", async () => {
  const peer = await start("examples/apps/server.mjs", { revision: "2025-11-25" });
  const { tools } = (await peer.request("tools/list")).result;
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(["show_seats"]);
  const { content } = (await peer.request("tools/call", { name: "show_seats", arguments: {} })).result;
  expect(content[0].text).toContain('"booked":["A2","B3","B4"]');
});
