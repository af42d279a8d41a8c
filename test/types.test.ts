import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const folder = join(import.meta.dirname, "types/generated");
const program = readFileSync(join(import.meta.dirname, "types/program.txt"), "utf8");
const client = readFileSync(join(import.meta.dirname, "types/client.txt"), "utf8");
const exported = readFileSync(join(import.meta.dirname, "types/exported.txt"), "utf8");
const alone = readFileSync(join(import.meta.dirname, "types/alone.txt"), "utf8");
/** The oldest supported compiler is installed apart, so that it does not become the `tsc` of the project. */
const compilers: { readonly [name: string]: string } = {
  newest: join(root, "node_modules/typescript/bin/tsc"),
  "oldest supported": join(root, "test/peers/node_modules/typescript-5-7/bin/tsc"),
};
const compileWith = (typescript: string, ...args: string[]) =>
  spawnSync(process.execPath, [compilers[typescript]!, ...args], {
    cwd: root,
    encoding: "utf8",
  });
const compile = (...args: string[]) => compileWith("newest", ...args);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the whole project type-checks", () => {
  const { status, stdout } = compile("-b");
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test.each(["zod", "zod-3-25", "zod-4-0", "zod-4-1"])(
  "types/program.txt compiles with %s, and its marked lines are type errors",
  (zod) => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${zod}.ts`);
    writeFileSync(file, program.replace('from "zod"', `from "${zod}"`));
    const settings = {
      extends: "../../../tsconfig.base.json",
      compilerOptions: { noEmit: true },
      files: [`${zod}.ts`],
    };
    writeFileSync(join(folder, `${zod}.json`), JSON.stringify(settings));
    const { status, stdout } = compile("-p", join(folder, `${zod}.json`));
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  },
);

/** Writes a project of one program, as a user has it, and returns its folder. */
function writeProject(name: string, text: string, options: object): string {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "program.ts"), text);
  writeFileSync(join(home, "package.json"), JSON.stringify({ type: "module" }));
  const compilerOptions = {
    ...{ strict: true, module: "nodenext", target: "es2022", outDir: "out" },
    // The libraries that docs/typescript.md asks for, and no types of node.
    ...{ lib: ["es2023", "esnext.disposable", "dom"], types: [], skipLibCheck: false },
    ...options,
  };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  return home;
}

describe.each(Object.keys(compilers))("the %s TypeScript", (typescript) => {
  const project = (name: string, text: string, options: object) => {
    const home = writeProject(`${typescript.replace(" ", "-")}-${name}`, text, options);
    const { status, stdout } = compileWith(typescript, "-p", home);
    return { status, stdout, out: join(home, "out") };
  };

  test("compiles every entry without the types of node", () => {
    const entries = ["portolan", "host"].flatMap((name) => {
      const { name: packageName, exports } = JSON.parse(
        readFileSync(join(root, `packages/${name}/package.json`), "utf8"),
      );
      return Object.keys(exports)
        .filter((entry) => !entry.endsWith(".json"))
        .map((entry) => `${packageName}${entry.slice(1)}`);
    });
    expect(entries.length).toBeGreaterThan(15);
    const text = entries.map((entry, index) => `import * as e${index} from "${entry}";\nvoid e${index};\n`).join("");
    expect(project("entries", text, { noEmit: true })).toMatchObject({ status: 0, stdout: "" });
  });

  test("compiles the entries with keys and hosts without the library dom in a project for node", () => {
    const options = { lib: ["es2023", "esnext.disposable"], types: ["node"], noEmit: true };
    const text =
      'import * as client from "portolan/auth/client";\nimport * as host from "portolan-host";\nvoid [client, host];\n';
    expect(project("no-dom", text, options)).toMatchObject({ status: 0, stdout: "" });
  });

  test("types clients by definitions and live servers; the marked lines of types/client.txt are type errors", () => {
    // Not skipLibCheck: false, because the types of valibot do not compile without it.
    expect(project("client", client, { noEmit: true, skipLibCheck: true })).toMatchObject({ status: 0, stdout: "" });
  });

  test("writes declarations for exported servers, clients and hosts", () => {
    const { status, stdout, out } = project("exported", exported, { declaration: true });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    const declared = readFileSync(join(out, "program.d.ts"), "utf8");
    expect(declared).toMatch(/import\("portolan\/(server|client)"\)\.ToolTypes<"forecast"/);
    expect(declared).not.toMatch(/dist\/|\/src\//);
  });
});

// A program that imports one entry has only the files that this entry names: types must be named through these.
test("writes declarations for what is inferred from any entry alone", () => {
  const parts = alone.split(/^\/\/\/\/ /m).slice(1);
  const homes = parts.map((part) => {
    const [entry = "", ...lines] = part.split("\n");
    return writeProject(`alone-${entry.replaceAll("/", "-")}`, lines.join("\n"), { declaration: true });
  });
  expect(homes.length).toBeGreaterThan(15);
  const { status, stdout } = compile("-b", ...homes);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  for (const home of homes) expect(readFileSync(join(home, "out/program.d.ts"), "utf8")).not.toMatch(/dist\/|\/src\//);
});
