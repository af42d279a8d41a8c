/** The parts of a new project that depend on its template. */
export interface ServerTemplate {
  readonly summary: string;
  /** The definition after `createServer(…)`. */
  readonly server: string;
  /** Code before the definition. */
  readonly before: string;
  /** Tests after the imports. */
  readonly tests: string;
  /** A first command to try: the arguments of `portolan`, where `FILE` stands for the file. */
  readonly tryIt: string;
}

const countTool = `
  .tool("count", {
    description: "Counts the characters, words and lines of a text",
    input: z.object({ text: z.string().describe("The text to look at") }),
    output: z.object({ characters: z.number(), words: z.number(), lines: z.number() }),
    annotations: { readOnlyHint: true },
    run: ({ text }) => ({
      characters: text.length,
      words: text.split(/\\s+/).filter(Boolean).length,
      lines: text.split("\\n").length,
    }),
  })`;

const countTest = `
test("counts characters, words and lines", async () => {
  const client = await connectInMemory(server);
  const { structuredContent } = await client.callTool("count", { text: "two words\\nand a line" });
  assert.deepEqual(structuredContent, { characters: 20, words: 5, lines: 2 });
  await client.close();
});
`;

const notes = `
const notes = new Map([
  ["welcome", "Notes are resources: a client reads them by their address."],
  ["shopping", "milk, bread, apples"],
]);
`;

const noteResources = `
  .resource("note://all", {
    name: "All notes",
    mimeType: "application/json",
    read: () => JSON.stringify([...notes.keys()]),
  })
  .template("note://{title}", {
    name: "A note",
    mimeType: "text/plain",
    list: () => [...notes.keys()].map((title) => ({ uri: \`note://\${title}\`, name: title })),
    complete: { title: () => [...notes.keys()] },
    // Return undefined if the resource does not exist.
    read: ({ title }) => notes.get(String(title)),
  })`;

const noteTest = `
test("reads a note, and says so when there is none", async () => {
  const client = await connectInMemory(server);
  const { contents } = await client.readResource("note://shopping");
  assert.equal(contents[0] && "text" in contents[0] && contents[0].text, "milk, bread, apples");
  await assert.rejects(client.readResource("note://none"));
  await client.close();
});
`;

const writing = `
  .tool("write", {
    description: "Writes a note; asks before it writes over one",
    input: z.object({ title: z.string().min(1), text: z.string() }),
    annotations: { destructiveHint: true },
    async run({ title, text }, ctx) {
      if (notes.has(title) && !(await ctx.confirm("overwrite", \`Write over "\${title}"?\`))) return ctx.cancelled();
      notes.set(title, text);
      ctx.progress(1, 1, "written");
      return \`Wrote \${title}\`;
    },
  })`;

const prompt = `
  .prompt("summarize", {
    description: "Asks for the gist of a note",
    arguments: { title: { description: "Which note", required: true, complete: () => [...notes.keys()] } },
    get: ({ title }) => \`Summarize this note in one sentence:\\n\\n\${notes.get(title) ?? ""}\`,
  })`;

const askTest = `
test("asks before it writes over a note", async () => {
  const client = await connectInMemory(server, { answers: [{ action: "decline" }] });
  const { isError } = await client.callTool("write", { title: "welcome", text: "gone" });
  assert.equal(isError, true);
  const { messages } = await client.getPrompt("summarize", { title: "shopping" });
  assert.equal(messages.length, 1);
  await client.close();
});
`;

/** The templates by name. */
export const templates: { readonly [name: string]: ServerTemplate } = {
  tools: {
    summary: "a tool",
    before: "",
    server: countTool,
    tests: countTest,
    tryIt: 'call FILE count "text=two words"',
  },
  resources: {
    summary: "resources",
    before: notes,
    server: noteResources,
    tests: noteTest,
    tryIt: "read FILE note://welcome",
  },
  everything: {
    summary: "tools, resources, a prompt and a question",
    before: notes,
    server: `${countTool}${noteResources}${writing}${prompt}`,
    tests: `${countTest}${noteTest}${askTest}`,
    tryIt: "prompt FILE summarize title=shopping",
  },
};
