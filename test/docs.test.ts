import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fencesOf, listFiles, problemsOf, regionsOf } from "./docs/markdown.ts";
import { accept, askingRevisions, decline, pathTo, start } from "./examples/example.ts";
import { isStateless, revisions } from "./kit/revisions.ts";

const read = (file: string) => readFileSync(pathTo(file), "utf8");
const hello = "examples/hello/server.mjs";
const highs = [4, 6, 5, 3, 2, 1];
const documents = listFiles(".md");
const sources = documents.flatMap((path) => fencesOf(read(path)).flatMap(({ source }) => source ?? []));

test("finds the README and the guides", () => {
  expect(documents).toEqual(
    expect.arrayContaining(["README.md", "docs/server.md", "docs/asking.md", "docs/transports.md"]),
  );
});

test.each(documents)("%s quotes examples word for word, and its commands and links exist", (path) => {
  expect(problemsOf(path, read(path))).toEqual([]);
});

test("a test runs every quoted example", () => {
  const tests = listFiles(".test.ts")
    .filter((path) => path.startsWith("test/"))
    .map(read)
    .join("\n");
  const files = [...new Set(sources.map((source) => source.replace(/#.*$/, "")))];
  const isRun = (file: string) => {
    const guide = /^examples\/guide\/(.*)\.mjs$/.exec(file)?.[1];
    return tests.includes(guide === undefined ? `"${file}"` : `importGuide("${guide}")`);
  };
  expect(files.filter((file) => !isRun(file))).toEqual([]);
});

test("a document quotes every region of examples/guide", () => {
  const written = listFiles(".mjs")
    .filter((path) => path.startsWith("examples/guide/"))
    .flatMap((path) => {
      const regions = [...regionsOf(read(path)).keys()].map((region) => `${path}#${region}`);
      return regions.length > 0 ? regions : [path];
    });
  expect(written.length).toBeGreaterThan(0);
  const isQuoted = (source: string) => sources.includes(source) || sources.includes(source.replace(/#.*$/, ""));
  expect(written.filter((source) => !isQuoted(source))).toEqual([]);
});

describe("reports a problem for a document with", () => {
  const fence = (language: string, content: string, before = "") =>
    `${before}\n\`\`\`${language}\n${content}\n\`\`\`\n`;
  const comment = `<!-- ${hello} -->`;

  test.each([
    ["code without a source", fence("js", "run();"), "README.md:3: no comment names the source file of this code"],
    ["code that differs", fence("js", "run();", comment), "README.md:3: differs from examples/hello/server.mjs"],
    ["a missing file", fence("ts", "x", "<!-- examples/none.mjs -->"), "README.md:3: there is no examples/none.mjs"],
    [
      "a missing region",
      fence("js", "x", "<!-- examples/guide/tools.mjs#none -->"),
      "README.md:3: there is no examples/guide/tools.mjs#none",
    ],
    ["a fence without a language", fence("", "npm start"), 'README.md:3: unknown fence language ""'],
    ["an unknown language", fence("bash", "npm start"), 'README.md:3: unknown fence language "bash"'],
    [
      "an unknown script",
      fence("sh", "npm start\nnpm run none"),
      "README.md:3: not a command of this project: npm run none",
    ],
    [
      "a missing program",
      fence("sh", "node examples/none.mjs"),
      "README.md:3: not a command of this project: node examples/none.mjs",
    ],
    [
      "two commands in one line",
      fence("sh", "npm test; true"),
      "README.md:3: not a command of this project: npm test; true",
    ],
    ["a broken link", "See [the guide](docs/none.md#top).", "README.md: there is no docs/none.md"],
  ])("%s", (_, text, problem) => {
    expect(problemsOf("README.md", text)).toEqual([problem]);
  });
});

test("accepts exact quotes, existing commands, working links and plain text", () => {
  const text = [
    "<!-- examples/hello/server.mjs -->",
    `\`\`\`js\n${read("examples/hello/server.mjs")}\`\`\``,
    "```sh\ngit clone https://example.com/portolan\ncd portolan\nnpm start\nnpm run bench -- --only W2,size\nnode examples/tcp/client.mjs 4000\n```",
    "```text\n[free](nowhere.md)\n```",
    "[inside](docs/adr) [outside](https://example.com) [here](#top) `[code](none.md)`",
  ].join("\n");
  expect(problemsOf("README.md", text)).toEqual([]);
});

describe.each(revisions)("the server of README.md on %s", (revision) => {
  test("forecasts three days by default", async () => {
    const peer = await start(hello, { revision });
    const { result } = await peer.callTool("forecast", { city: "Oslo" });
    const value = { city: "Oslo", highs: highs.slice(0, 3) };
    expect(result.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
    expect(result.structuredContent).toEqual(revision < "2025-06-18" ? undefined : value);
  });

  test("names the missing capability of a client that cannot ask the user", async () => {
    const peer = await start(hello, { revision });
    const { error } = await peer.callTool("forecast", { city: "Oslo", days: 6 });
    expect(error).toEqual({
      code: isStateless(revision) ? -32021 : -32602,
      message: expect.stringMatching(
        /^elicitation\/create needs a capability that this client did not declare or its protocol version lacks/,
      ),
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    });
  });
});

test.each(askingRevisions)(
  "the server of README.md on %s asks before it forecasts six days, and accepts a no",
  async (revision) => {
    const answers = [accept({})(), decline()];
    const peer = await start(hello, {
      revision,
      capabilities: { elicitation: {} },
      answer: () => answers.shift() ?? {},
    });
    const accepted = await peer.callTool("forecast", { city: "Oslo", days: 6 });
    expect(accepted.result.structuredContent).toEqual({ city: "Oslo", highs });
    const declined = await peer.callTool("forecast", { city: "Oslo", days: 6 });
    expect(declined.result).toMatchObject({ isError: true, content: [{ text: "Cancelled by the user." }] });
    expect(peer.questions.map(({ params }) => params?.["message"])).toEqual(["Really 6 days?", "Really 6 days?"]);
  },
);
