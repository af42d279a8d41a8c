import type { ServerTemplate } from "./templates.ts";

/** The settings of a new project. */
export interface Project {
  readonly name: string;
  readonly template: ServerTemplate;
  readonly language: "ts" | "js";
  /** The version of the library, or `file:` and its folder. */
  readonly library: string;
}

/** Returns the files of a new project by path. */
export function filesOf(project: Project): { readonly [path: string]: string } {
  const { language } = project;
  const source = language === "ts" ? "src/" : "";
  return {
    "package.json": packageOf(project),
    [`${source}server.${language}`]: serverOf(project),
    [`${source}main.${language}`]: mainOf(project),
    [`${source}server.test.${language}`]: testOf(project),
    ...(language === "ts" && { "tsconfig.json": tsconfig }),
    ".gitignore": "node_modules/\ndist/\n",
    "README.md": readmeOf(project),
  };
}

function packageOf({ name, language, library }: Project): string {
  const isTyped = language === "ts";
  const main = mainFile(language);
  return toJson({
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    bin: { [name]: `./${main}` },
    scripts: {
      dev: `portolan dev ${serverFile(language)}`,
      ...(isTyped && { build: "tsc" }),
      start: `node ${main}`,
      test: isTyped ? "tsc && node --test dist/server.test.js" : "node --test",
    },
    dependencies: { portolan: library, zod: "^4.0.0" },
    ...(isTyped && { devDependencies: { "@types/node": "^20.19.0", typescript: ">=5.8" } }),
  });
}

function serverOf({ name, template }: Project): string {
  return `import { createServer } from "portolan/server";
import { z } from "zod";
${template.before}
export default createServer({ name: ${JSON.stringify(name)}, version: "0.1.0" })${template.server};
`.replace('import { z } from "zod";\n', template.server.includes("z.") ? 'import { z } from "zod";\n' : "");
}

function mainOf({ name, language, template }: Project): string {
  return `#!/usr/bin/env node
// Serves standard input and output, or HTTP with --http <port>.
import { runMain } from "portolan/server/main";
import server from "./server.${language}";

await runMain({
  name: ${JSON.stringify(name)},
  version: "0.1.0",
  about: "A server with ${template.summary}.",
  create: () => server,
});
`;
}

function testOf({ language, template }: Project): string {
  return `import assert from "node:assert/strict";
import { test } from "node:test";
import { connectInMemory } from "portolan/testing";
import server from "./server.${language}";
${template.tests}`;
}

const tsconfig = toJson({
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    types: ["node"],
    rootDir: "src",
    outDir: "dist",
    strict: true,
    skipLibCheck: true,
    rewriteRelativeImportExtensions: true,
    verbatimModuleSyntax: true,
  },
  include: ["src"],
});

function readmeOf({ name, language, template }: Project): string {
  const entry = { mcpServers: { [name]: { command: "node", args: [mainFile(language)] } } };
  const file = serverFile(language);
  return `# ${name}

A Model Context Protocol server with ${template.summary}, written with Portolan.

\`\`\`sh
npm install
npm test
npm run dev     # serves it over HTTP, and reloads it after each change
npx portolan ls ./${file}
npx portolan ${template.tryIt.replace("FILE", `./${file}`)}
\`\`\`

The server is \`${file}\`. To use it in an editor or an assistant${language === "ts" ? ", build it (`npm run build`) and" : ","} put this into the
\`.mcp.json\` of a project in this folder; anywhere else, write the whole path of \`${mainFile(language)}\`:

\`\`\`json
${toJson(entry).trimEnd()}
\`\`\`
`;
}

/** Returns the path of the server definition. */
export function serverFile(language: "ts" | "js"): string {
  return language === "ts" ? "src/server.ts" : "server.js";
}

function mainFile(language: "ts" | "js"): string {
  return language === "ts" ? "dist/main.js" : "main.js";
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
