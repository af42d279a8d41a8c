import { describe, expect, test } from "vitest";
import type { SafeFetch } from "../../net/policy.ts";
import { metadataUrls } from "../well-known.ts";
import { fetchPolicyFor, findAuthority, findResource, guessAuthority } from "./discovery.ts";

/** A fetch that serves these documents, and records the URLs that are asked for. */
function serve(documents: { readonly [url: string]: object }) {
  const asked: string[] = [];
  const fetch: SafeFetch = async (url) => {
    asked.push(String(url));
    const document = documents[String(url)];
    return document ? Response.json(document) : new Response("", { status: 404 });
  };
  return { fetch, asked };
}

describe("metadataUrls", () => {
  test("tries the OAuth document before the OpenID one", () => {
    expect(metadataUrls(new URL("https://as.example"))).toEqual([
      "https://as.example/.well-known/oauth-authorization-server",
      "https://as.example/.well-known/openid-configuration",
    ]);
  });

  test("inserts the well-known path before the issuer's path, then appends the OpenID one", () => {
    expect(metadataUrls(new URL("https://as.example/tenant/"))).toEqual([
      "https://as.example/.well-known/oauth-authorization-server/tenant",
      "https://as.example/.well-known/openid-configuration/tenant",
      "https://as.example/tenant/.well-known/openid-configuration",
    ]);
  });
});

describe("findResource", () => {
  const server = new URL("https://mcp.example/a/mcp");

  test("asks at the path of the server, then at the root", async () => {
    const { fetch, asked } = serve({});
    expect(await findResource(server, undefined, fetch)).toBeUndefined();
    expect(asked).toEqual([
      "https://mcp.example/.well-known/oauth-protected-resource/a/mcp",
      "https://mcp.example/.well-known/oauth-protected-resource",
    ]);
  });

  test("asks first at the URL that the challenge names", async () => {
    const named = "https://elsewhere.example/metadata";
    const { fetch, asked } = serve({
      [named]: { resource: server.href, authorization_servers: ["https://as.example"] },
    });
    expect(await findResource(server, named, fetch)).toMatchObject({ issuers: ["https://as.example"] });
    expect(asked).toEqual([named]);
  });

  test.each([
    ["https://mcp.example/a/mcp", true],
    ["https://mcp.example/a", true],
    ["https://mcp.example", true],
    ["https://mcp.example/a/mc", false],
    ["https://mcp.example/b", false],
    ["https://other.example/a/mcp", false],
    ["https://user@mcp.example/a/mcp", false],
    ["https://mcp.example/a/mcp#x", false],
  ])("metadata of %s is accepted: %s", async (resource, isAccepted) => {
    const named = "https://mcp.example/metadata";
    const { fetch } = serve({ [named]: { resource } });
    const found = findResource(server, named, fetch);
    if (isAccepted) expect((await found)?.resource).toBe(resource);
    else await expect(found).rejects.toThrow("expected the metadata of https://mcp.example/a/mcp");
  });

  test("refuses a metadata URL that is neither same-origin nor https", async () => {
    const { fetch } = serve({});
    await expect(findResource(server, "http://elsewhere.example/x", fetch)).rejects.toMatchObject({
      code: "address-refused",
    });
  });
});

describe("findAuthority", () => {
  const issuer = "https://as.example/t";

  test("skips a document of another issuer", async () => {
    const { fetch } = serve({
      "https://as.example/.well-known/oauth-authorization-server/t": { issuer: "https://as.example" },
      "https://as.example/.well-known/openid-configuration/t": { issuer, token_endpoint: "https://as.example/token" },
    });
    expect((await findAuthority(issuer, fetch)).metadata.token_endpoint).toBe("https://as.example/token");
  });

  test("names the issuer of the document when no document fits", async () => {
    const { fetch } = serve({
      "https://as.example/.well-known/oauth-authorization-server/t": { issuer: "https://evil.example" },
    });
    await expect(findAuthority(issuer, fetch)).rejects.toThrow("its metadata is that of https://evil.example");
  });

  test.each(["not a url", "https://as.example/?x=1", "https://as.example/#x", "https://user:pass@as.example"])(
    "refuses %s as an issuer",
    async (wrong) => {
      const { fetch, asked } = serve({});
      await expect(findAuthority(wrong, fetch)).rejects.toThrow("The server names an authorization server");
      expect(asked).toEqual([]);
    },
  );
});

test("guessAuthority falls back to the default endpoints", async () => {
  const { fetch } = serve({});
  expect(await guessAuthority(new URL("https://mcp.example/mcp"), fetch)).toMatchObject({
    issuer: "https://mcp.example",
    isGuessed: true,
    metadata: { authorization_endpoint: "https://mcp.example/authorize", token_endpoint: "https://mcp.example/token" },
  });
});

describe("fetchPolicyFor", () => {
  test("lets a server on this machine use all names of this machine", () => {
    expect(fetchPolicyFor(new URL("http://localhost:3000/mcp"), {}).privateHosts).toEqual([
      "localhost",
      "127.0.0.1",
      "[::1]",
    ]);
  });

  test("adds the hosts that the grant names", () => {
    const grant = { clientId: "c", addresses: ["https://idp.corp/x", "no url"], request: () => Promise.reject() };
    expect(fetchPolicyFor(new URL("https://mcp.corp/mcp"), { grant, policy: { privateHosts: ["a.corp"] } })).toEqual({
      neighbourOf: "mcp.corp",
      privateHosts: ["a.corp", "mcp.corp", "idp.corp"],
    });
  });
});
