// Descriptions that others wrote: GitHub's whole one against the fake of GitHub, and a collection of examples.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { connectInMemory } from "portolan/testing";
import { fromOpenApi, readDescription } from "portolan-openapi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSeeded } from "../github/kit.ts";
import { failureOf } from "../kit/tools.ts";
import { open, textOf } from "./kit.ts";

const vendors = join(import.meta.dirname, "../../services/vendors/node_modules");
const github = join(vendors, "@octokit/openapi/generated/api.github.com.json");

describe("GitHub's description", () => {
  let description: Awaited<ReturnType<typeof readDescription>> = {};
  beforeAll(async () => {
    description = await readDescription(github);
  });
  afterAll(() => {
    description = {};
  });

  test("becomes four small tools that find each of more than a thousand operations", async () => {
    const left: string[] = [];
    const client = await connectInMemory(fromOpenApi(description, { onLeftOut: (problem) => left.push(problem) }));
    const tools = await client.listTools();
    expect(tools).toHaveLength(4);
    expect(JSON.stringify([...tools]).length).toBeLessThan(3_000);
    // Uploads go to another host, which must not get the token.
    expect(left).toEqual([
      expect.stringMatching(/^POST \/repos\/\{owner\}\/\{repo\}\/releases\/\{release_id\}\/assets: /),
    ]);
    const search = async (words: string) => JSON.parse(await textOf(client as never, "find_operations", { words }));
    expect((await search("")).total).toBeGreaterThan(1_000);
    for (const [words, name] of [
      ["create an issue", "issues_create"],
      ["list pull requests", "pulls_list"],
      ["get a repository", "repos_get"],
      ["merge a pull request", "pulls_merge"],
    ] as const) {
      const { operations } = await search(words);
      expect(
        operations.slice(0, 5).map((one: { name: string }) => one.name),
        words,
      ).toContain(name);
    }
    await client.close();
  });

  test("gives every operation a short name of its own, and a schema within its limit", async () => {
    const client = await connectInMemory(fromOpenApi(description, { offer: "tools", onLeftOut: () => {} }));
    const tools = [...(await client.listTools())];
    expect(tools.length).toBeGreaterThan(1_000);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    expect(tools.filter(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
    expect(Math.max(...tools.map(({ inputSchema }) => JSON.stringify(inputSchema).length))).toBeLessThan(20_000);
    await client.close();
  });

  test("works with GitHub as the fake plays it: pages, changes, results and refusals", async () => {
    const { fake, token, repository } = await startSeeded();
    const only = ["issues/list-for-repo", "issues/create", "issues/get", "repos/get-content", "pulls/get"];
    const client = await open(description, { api: fake.origin, credential: token, only });
    const hello = { owner: "ada", repo: "hello" };
    const first = await textOf(client, "issues_list-for-repo", { ...hello, per_page: 1 });
    expect(first).toContain("There is a next page: call this again with");
    const page = /[^_]page: (\d+)/.exec(first)?.[1];
    expect(await textOf(client, "issues_list-for-repo", { ...hello, per_page: 1, page: Number(page) })).toContain(
      "Wrong answer",
    );
    await client.callTool("issues_create", { ...hello, title: "From a description", labels: ["bug"] } as never);
    expect([...repository.issues.values()].at(-1)).toMatchObject({ title: "From a description" });
    expect(await failureOf(client, "issues_get", { ...hello, issue_number: 99 })).toContain("has nothing there");
    const stranger = await open(description, { api: fake.origin, credential: "ghp_wrong", only });
    expect(await failureOf(stranger, "issues_get", { ...hello, issue_number: 1 })).toContain(
      "does not accept the sign-in",
    );
    expect(fake.requests.at(-1)?.headers["user-agent"]).toBe("portolan");
  });
});

const files = ["3.0", "3.1"].flatMap((version) => {
  const folder = join(vendors, "@readme/oas-examples", version);
  return ["json", "yaml"].flatMap((kind) =>
    readdirSync(join(folder, kind))
      .filter((name) => name.endsWith(`.${kind}`))
      .map((name) => join(folder, kind, name)),
  );
});

test("the collection has descriptions of both versions, in JSON and YAML", () => {
  expect(files.length).toBeGreaterThan(60);
});

/** What has no operation at all, or none at its own server. */
const empty = /\/(link-example|webhooks|schema-visibility)\.(json|yaml)$/;

test("every description of the collection that has operations becomes a server whose tools can be listed", async () => {
  const listed = new Map<string, number>();
  const refused: string[] = [];
  for (const file of files) {
    const description = await readDescription(file);
    try {
      const client = await connectInMemory(
        fromOpenApi(description, {
          api: "https://api.example",
          onLeftOut: (problem) => refused.push(`${file}: ${problem}`),
        }),
      );
      listed.set(file.slice(vendors.length), (await client.listTools()).length);
      await client.close();
    } catch (reason) {
      refused.push(`${file}: ${(reason as Error).message}`);
    }
  }
  expect(refused.filter((line) => !empty.test(line.split(":")[0] ?? ""))).toEqual([]);
  expect(listed.size).toBeGreaterThan(60);
});

test("JSON and YAML of one description give the same tools", async () => {
  const folder = join(vendors, "@readme/oas-examples/3.1");
  const lists = await Promise.all(
    ["json/train-travel.json", "yaml/train-travel.yaml"].map(async (file) => {
      const client = await open(await readDescription(join(folder, file)));
      return [...(await client.listTools())];
    }),
  );
  expect(lists[0]?.map(({ name }) => name)).toEqual(lists[1]?.map(({ name }) => name));
  expect(lists[0]?.length).toBeGreaterThan(4);
});

test("a file that is no description is refused with the place and the reason", async () => {
  await expect(readDescription("/nowhere/api.json")).rejects.toThrow("/nowhere/api.json cannot be read");
  await expect(readDescription(import.meta.filename)).rejects.toThrow(/expected (JSON or YAML|an OpenAPI description)/);
});
