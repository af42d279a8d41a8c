import { basename, extname } from "node:path";

/** Programs that run the file or module in their arguments, whose name says more. */
const runners = new Set(["node", "nodejs", "deno", "bun", "tsx", "ts-node", "python", "python3", "py", "ruby", "php"]);
/** Programs that fetch a package and run it. */
const fetchers = new Set(["npx", "bunx", "uvx", "pnpx", "pipx"]);
/** Subcommands that run a file, or fetch a package and run it. */
const verbs: { readonly [program: string]: readonly string[] } = {
  npm: ["exec", "x"],
  pnpm: ["dlx", "exec"],
  yarn: ["dlx", "exec"],
  bun: ["x", "run"],
  deno: ["run"],
  uv: ["run", "tool"],
  pipx: ["run"],
  docker: ["run"],
  podman: ["run"],
};
/** Flags that take the next word as their value. All others take none, or take it after `=`. */
const withValue: { readonly [program: string]: readonly string[] } = {
  node: ["-r", "--require", "--import", "--loader", "--env-file", "-C", "--conditions"],
  tsx: ["--tsconfig", "--import", "--require", "-r"],
  python: ["-W", "-X"],
  npx: ["--prefix", "-w", "--workspace", "--registry"],
  uvx: ["--python", "-p", "--with", "--index-url", "--refresh-package"],
  uv: ["--directory", "--project", "--python", "-p", "--with", "--index-url"],
  docker: [
    ...["-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "-w"],
    ...["--workdir", "-u", "--user", "--entrypoint", "--platform", "-h", "--hostname", "-l", "--label", "--add-host"],
    ...["-m", "--memory", "--cpus", "--pull", "--gpus", "--tmpfs", "--cap-add", "--cap-drop", "--security-opt"],
  ],
};
/** Programs that share the flags of another. */
const like: { readonly [program: string]: string } = {
  ...{ nodejs: "node", python3: "python", py: "python", podman: "docker" },
  ...{ npm: "npx", pnpm: "npx", yarn: "npx", bunx: "npx", pnpx: "npx", pipx: "uvx" },
};

/**
 * Returns the short flags among these arguments of a program that may have the next word as their value. Flags of a known
 * program that runs the server are left out, except variables that are passed to a container.
 */
export function shortFlagsWithValue(program: string, args: readonly string[]): { flag: string; at: number }[] {
  const own = programName(program);
  const isRunner = runners.has(own) || fetchers.has(own) || Object.hasOwn(verbs, own);
  const rest = args.slice(isRunner && verbs[own]?.includes(args[0] ?? "") ? 1 : 0);
  const operand = isRunner ? firstOperand(own, rest)?.replaceAll("/", ".") : undefined;
  const first = args.findIndex((word) => word.replaceAll("/", ".") === operand);
  return args.flatMap((flag, at) => {
    const value = args[at + 1] ?? "-";
    if (!/^-[A-Za-z]$/.test(flag) || value.startsWith("-")) return [];
    const isOwn = at > first && (operand !== undefined || !isRunner);
    const isVariable = flag === "-e" && (own === "docker" || own === "podman");
    return isOwn || isVariable ? [{ flag, at }] : [];
  });
}

function programName(program: string): string {
  return basename(program.replaceAll("\\", "/")).replace(/\.(exe|cmd|bat)$/i, "");
}

/** Returns a name for the server that a command starts: the name of what runs, not of the program that runs it. */
export function nameOfCommand([program = "", ...args]: readonly string[]): string {
  const own = programName(program);
  if (own === "env") return nameOfCommand(args.slice(args.findIndex((word) => !/^-|^\w+=/.test(word))));
  const verb = verbs[own]?.includes(args[0] ?? "");
  const isFetcher = fetchers.has(own) || (verb === true && !runners.has(own)) || (own === "bun" && args[0] === "x");
  if (!runners.has(own) && !isFetcher) return own || "server";
  const found = firstOperand(own, verb ? args.slice(args[0] === "tool" ? 2 : 1) : args);
  if (found === undefined) return own;
  const name = own === "docker" || own === "podman" ? nameOfImage(found) : isFetcher ? nameOfPackage(found) : found;
  return nameOfFile(name.replaceAll("\\", "/")) || own;
}

/** Returns the first word that is neither a flag nor its value, or the module or package that a flag names. */
function firstOperand(program: string, args: readonly string[]): string | undefined {
  const valued = withValue[like[program] ?? program] ?? [];
  const isPython = (like[program] ?? program) === "python";
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--") return args[at + 1];
    if (word === "--package" || word === "--from" || (word === "-p" && /^(npx|npm|bunx)$/.test(program))) {
      at += 1;
      continue;
    }
    if (word === "-m" && isPython) return args[at + 1]?.replaceAll(".", "/");
    // Code on the command line has no name.
    if (/^(-e|--eval|-p|--print|-c|--call)$/.test(word) && !valued.includes(word)) return undefined;
    if (valued.includes(word)) at += 1;
    else if (!word.startsWith("-")) return word;
  }
  return undefined;
}

/** Returns `name` for `@scope/name@1.2` and for `name==1.2`. */
function nameOfPackage(given: string): string {
  const [, name = given] = /^(?:@[^/]+\/)?([^@=<>[~^]+)/.exec(given) ?? [];
  return name;
}

/** Returns `name` for `registry:5000/owner/name:tag@digest`. */
function nameOfImage(given: string): string {
  return basename(given).replace(/[:@].*$/, "");
}

/** Returns the name of a file, or of its folder for `index` and `main`. */
function nameOfFile(path: string): string {
  const name = withoutExtension(basename(path));
  if (name !== "index" && name !== "main") return name;
  const folders = path.split("/").slice(0, -1);
  return folders.findLast((folder) => !/^(\.*|dist|build|out|lib|src|bin|esm|cjs)$/.test(folder)) ?? name;
}

function withoutExtension(name: string): string {
  const extension = extname(name);
  return /^\.([cm]?[jt]sx?|py|rb|php)$/.test(extension) ? name.slice(0, -extension.length) : name;
}
