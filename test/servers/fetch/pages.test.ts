import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { article, html, open, startSite } from "./kit.ts";

const pixel = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

test.each(revisions)("returns a page as Markdown on %s", async (revision) => {
  const site = await startSite((_, response) => html(response, article("")));
  const client = await open({ revision });
  if (revision === "2026-07-28") await expectDescribed(client);
  const { content } = await client.callTool("fetch", { url: site.url });
  expect(content[0]).toMatchObject({
    type: "text",
    text: expect.stringMatching(/^## Heading\n\nSome words about \*\*things\*\*/),
  });
});

describe("a page", () => {
  test("is reduced to its article, without scripts and navigation, with absolute URLs", async () => {
    const body = [
      '<ul><li><a href="other?a=1#part">Other</a></li><li><a href="javascript:alert(1)">bad</a></li></ul>',
      '<img src="/a.png" alt="pic"><pre><code>x\n\n\n\ny</code></pre>',
      "<table><tr><th>Name</th><th>Age</th></tr><tr><td>A|b</td><td>3</td></tr></table>",
    ];
    const site = await startSite((_, response) => html(response, article(body.join(""))));
    const page = await call(await open(), "fetch", { url: `${site.url}/dir/page` });
    expect(page).toMatchObject({ title: "A page", contentType: "text/html", url: `${site.url}/dir/page`, from: 0 });
    for (const part of [
      `[Other](${site.url}/dir/other?a=1#part)`,
      `![pic](${site.url}/a.png)`,
      "x\n\n\n\ny",
      "| Name | Age |\n| --- | --- |\n| A\\|b | 3 |",
    ]) {
      expect(page.text).toContain(part);
    }
    for (const part of ["script", "alert", "The foot", "Home of all"]) expect(page.text).not.toContain(part);
    expect(page.links).toEqual([{ url: `${site.url}/dir/other?a=1`, text: "Other" }]);
  });

  test("without an article is returned completely", async () => {
    const items = Array.from({ length: 30 }, (_, index) => `<li><a href="/${index}">Item ${index}</a></li>`);
    const site = await startSite((_, response) =>
      html(response, `<html><body><ul>${items.join("")}</ul></body></html>`),
    );
    const page = await call(await open(), "fetch", { url: site.url });
    expect(page.text).toContain(`[Item 29](${site.url}/29)`);
    expect(page.links.length).toBe(20);
  });

  test("is available as text and as source", async () => {
    const source = article("<ul><li>one</li><li>two</li></ul>");
    const site = await startSite((_, response) => html(response, source));
    const client = await open();
    const { text } = await call(client, "fetch", { url: site.url, format: "text" });
    expect(text).toMatch(/^Heading\n+Some words about things, which[^*<]*\none\ntwo$/);
    expect((await call(client, "fetch", { url: site.url, format: "raw" })).text).toBe(source);
  });

  test("comes in parts of one fetch", async () => {
    const site = await startSite((_, response) => html(response, article("<p>😀 end</p>".repeat(300))));
    const client = await open();
    const whole = (await call(client, "fetch", { url: site.url, length: 100_000 })).text;
    const before = site.seen.length;
    let text = "";
    for (let from: number | undefined = 0; from !== undefined; ) {
      const part: { text: string; next?: number; total: number } = await call(client, "fetch", {
        url: site.url,
        from,
        length: 501,
      });
      expect(part.total).toBe(whole.length);
      expect(part.text).not.toMatch(/\p{Cs}/u);
      text += part.text;
      from = part.next;
    }
    expect(text).toBe(whole);
    expect(site.seen.length - before).toBe(1);
    expect(await failureOf(client, "fetch", { url: site.url, from: 1_000_000 })).toContain("use a smaller number");
  });

  test("has links to its next part and to other pages, and both can be read", async () => {
    const site = await startSite(({ path }, response) => {
      html(
        response,
        path === "/other" ? article("<p>The other one</p>", "Other") : article('<p><a href="/other">Other</a></p>'),
      );
    });
    const client = await open();
    const { content } = await client.callTool("fetch", { url: `${site.url}/?q=a b&c=+`, length: 100 });
    const links = content.filter((block) => block.type === "resource_link");
    expect(links.map(({ name }) => name)).toEqual(["The rest of A page", "Other"]);
    const [rest, other] = await Promise.all(links.map(({ uri }) => client.readResource(uri)));
    expect(rest?.contents).toMatchObject([
      { mimeType: "text/markdown", text: expect.stringMatching(/^ut \*\*|\[Other\]/) },
    ]);
    expect(other?.contents).toMatchObject([{ text: expect.stringContaining("The other one") }]);
    expect(site.seen.filter(({ path }) => path.startsWith("/?")).map(({ path }) => path)).toEqual(["/?q=a%20b&c=+"]);
    const none = client.readResource("fetch://page?url=http%3A%2F%2F127.0.0.1%2F");
    await expect(none).rejects.toMatchObject({ code: 1001, message: expect.stringContaining("is not allowed") });
  });

  test("is available as a prompt, and so is the reason for a failure", async () => {
    const site = await startSite(({ path }, response) =>
      path === "/" ? html(response, article("")) : response.writeHead(404).end(),
    );
    const client = await open();
    const textOf = async (url: string) => JSON.stringify((await client.getPrompt("fetch", { url })).messages);
    expect(await textOf(site.url)).toContain("Some words");
    expect(await textOf(`${site.url}/none`)).toContain("404");
  });
});

describe("other content", () => {
  test.each([
    ["application/json", '{"a":1}'],
    ["text/plain", "a < b"],
    ["application/vnd.api+json; charset=utf-8", "{}"],
    ["image/svg+xml", "<svg/>"],
    ["", "said nothing"],
  ])("%s is returned unchanged", async (type, body) => {
    const site = await startSite((_, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end(body);
    });
    expect((await call(await open(), "fetch", { url: site.url })).text).toBe(body);
  });

  test("an image is returned as an image, up to its limit", async () => {
    const site = await startSite((_, response) => response.setHeader("content-type", "image/gif").end(pixel));
    const { content } = await (await open()).callTool("fetch", { url: site.url });
    expect(content).toContainEqual({ type: "image", mimeType: "image/gif", data: pixel.toString("base64") });
    const { messages } = await (await open()).getPrompt("fetch", { url: site.url });
    expect(messages).toMatchObject([{ content: { type: "image", mimeType: "image/gif" } }]);
    expect(await failureOf(await open({ maxImageBytes: 10 }), "fetch", { url: site.url })).toContain("image of");
  });

  test.each([
    ["application/pdf", Buffer.from("%PDF-1.7")],
    ["application/octet-stream", Buffer.from("text all the same")],
    ["text/html", Buffer.from([60, 104, 0, 1, 2])],
    ["", Buffer.from([80, 75, 3, 4, 0, 0])],
  ])("refuses %s with the reason", async (type, body) => {
    const site = await startSite((_, response) => {
      if (type !== "") response.setHeader("content-type", type);
      response.end(body);
    });
    expect(await failureOf(await open(), "fetch", { url: site.url })).toMatch(
      /is not text \(.*only pages, text and images/,
    );
  });

  test("reports an error of the site, with advice", async () => {
    const site = await startSite(({ path }, response) => response.writeHead(Number(path.slice(1))).end("secret"));
    const client = await open();
    expect(await failureOf(client, "fetch", { url: `${site.url}/404` })).toMatch(/answered 404: .*check the URL/);
    expect(await failureOf(client, "fetch", { url: `${site.url}/503` })).toMatch(/answered 503: try again later/);
  });
});

test("reads compressed pages", async () => {
  const site = await startSite((_, response) => {
    response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(gzipSync("unpacked"));
  });
  expect((await call(await open(), "fetch", { url: site.url })).text).toBe("unpacked");
});

test("decodes a page with a wrong charset header", async () => {
  const site = await startSite((_, response) => {
    response.setHeader("content-type", "text/plain; charset=utf-8").end(Buffer.from("na\u00efve", "latin1"));
  });
  expect((await call(await open(), "fetch", { url: site.url })).text).toBe("naïve");
});

test("limits the number and age of cached pages", async () => {
  const site = await startSite((_, response) =>
    response.setHeader("content-type", "text/plain").end("x".repeat(1_000)),
  );
  const count = (path: string) => site.seen.filter((one) => one.path === path).length;
  const few = await open({ cachePages: 2 });
  for (const path of ["/a", "/b", "/c"]) await call(few, "fetch", { url: site.url + path, length: 10 });
  for (const path of ["/c", "/b", "/a"]) await call(few, "fetch", { url: site.url + path, from: 10 });
  expect(["/a", "/b", "/c"].map(count)).toEqual([2, 1, 1]);
  const small = await open({ cacheLength: 999 });
  for (const from of [0, 10]) await call(small, "fetch", { url: `${site.url}/d`, from });
  const short = await open({ cacheMs: 0 });
  for (const from of [0, 10]) await call(short, "fetch", { url: `${site.url}/e`, from });
  expect(["/d", "/e"].map(count)).toEqual([2, 2]);
});
