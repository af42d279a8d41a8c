import { expect, test } from "vitest";
import { createMasker, describeCommand, exitError, startError, toVisible } from "../process-errors.ts";
import { pathExists } from "./process.ts";
import { StderrTail } from "./stderr.ts";

const kept = 256 * 1024;

function collectLines() {
  const lines: string[] = [];
  const tail = new StderrTail((line) => lines.push(line));
  return { tail, lines };
}

test("keeps everything up to 256 KB", () => {
  const tail = new StderrTail(undefined);
  expect(tail.text).toBe("");
  tail.push(Buffer.from("one\n"));
  tail.push(Buffer.from("two"));
  expect(tail.text).toBe("one\ntwo");
  tail.push(Buffer.alloc(kept - 7, "x"));
  expect(tail.text).toBe(`one\ntwo${"x".repeat(kept - 7)}`);
});

test.each([1, 7_001, 1_000_000])("keeps the last 256 KB of a flood in chunks of %i bytes", (size) => {
  const flood = Buffer.from(Array.from({ length: 100_000 }, (_, at) => `line ${at}\n`).join(""));
  const tail = new StderrTail(undefined);
  for (let at = 0; at < flood.length; at += size) tail.push(flood.subarray(at, at + size));
  expect(flood.toString().endsWith(tail.text)).toBe(true);
  expect(tail.text.length).toBeLessThanOrEqual(kept);
  expect(tail.text.length).toBeGreaterThan(kept - 17_000);
});

test("drops an incomplete first character", () => {
  const tail = new StderrTail(undefined);
  tail.push(Buffer.from(`x${"é".repeat(kept)}`));
  expect(tail.text).toMatch(/^é+$/);
});

test("emits lines from chunks of any size", () => {
  const { tail, lines } = collectLines();
  for (const byte of Buffer.from("één\r\n\ntwo\nrest")) tail.push(Buffer.of(byte));
  expect(lines).toEqual(["één", "", "two"]);
  tail.end();
  expect(lines).toEqual(["één", "", "two", "rest"]);
});

test("cuts a very long line and emits it once, before it ends", () => {
  const { tail, lines } = collectLines();
  tail.push(Buffer.from("x".repeat(9_000)));
  expect(lines).toEqual([`${"x".repeat(8_192)}…`]);
  tail.push(Buffer.from(`${"x".repeat(9_000)}\nnext\n`));
  expect(lines.slice(1)).toEqual(["next"]);
});

test("calls a listener that throws for the next line too", () => {
  const received: string[] = [];
  const tail = new StderrTail((line) => {
    received.push(line);
    throw new Error("no");
  });
  tail.push(Buffer.from("one\ntwo\n"));
  expect(received).toEqual(["one", "two"]);
  expect(tail.text).toBe("one\ntwo\n");
});

const target = { command: "node", args: ["server.mjs"] };
const kept256 = (text: string, head = "") => ({ text, head });
const end = (stderr: string, head = "") => exitError(target, "exited with code 1", kept256(stderr, head)).message;
const systemError = (code: string) => Object.assign(new Error(`spawn ${code}`), { code });

test("names the ending of a process without output", () => {
  const error = exitError(target, "was ended by SIGKILL", kept256("\n \n"));
  expect(error.code).toBe("connection-closed");
  expect(error.message).toBe('The server "node server.mjs" was ended by SIGKILL');
});

test("shows the message of an uncaught error without its stack", () => {
  const stderr = `node:internal/modules/esm/resolve:303
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error: Cannot find module '/x/server.mjs'
    at finalizeResolution (node:internal/modules/esm/resolve:303:11)
    at moduleResolve (node:internal/modules/esm/resolve:997:10) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
`;
  expect(end(stderr)).toBe(
    "The server \"node server.mjs\" exited with code 1: Error: Cannot find module '/x/server.mjs' | code: 'ERR_MODULE_NOT_FOUND'",
  );
});

test("shows the first line, and the last five lines in at most 500 characters, if there is no error", () => {
  expect(end("1\n2\n3\n4\n5")).toMatch(/code 1: 1 \| 2 \| 3 \| 4 \| 5$/);
  expect(end("1\n2\n3\n4\n5\n6\n7")).toMatch(/code 1: 1 \| … \| 3 \| 4 \| 5 \| 6 \| 7$/);
  expect(end("3\n4\n5\n6\n7", "first\nsecond")).toMatch(/code 1: first \| … \| 3 \| 4 \| 5 \| 6 \| 7$/);
  expect(end(`${"f".repeat(900)}\n${"1\n2\n3\n4\n5\n6"}`)).toContain(`: ${"f".repeat(199)}… | … | 2 |`);
  expect(end(`${"x".repeat(400)}\n${"y".repeat(400)}`).split("code 1: ")[1]).toHaveLength(500);
});

test("shows the last error, and then the first line", () => {
  const usage = "usage: server --token TOKEN\n".repeat(3);
  expect(end(`Missing the variable TOKEN\n${usage}Error: exit 1`)).toMatch(
    /code 1: Error: exit 1 \(its first line: Missing the variable TOKEN\)$/,
  );
});

test("keeps the beginning of a flood", () => {
  const tail = new StderrTail(undefined);
  tail.push(Buffer.from("Missing the variable TOKEN\n"));
  expect(tail.head).toBe("");
  tail.push(Buffer.from("noise\n".repeat(100_000)));
  expect(tail.text).not.toContain("TOKEN");
  expect(tail.head).toMatch(/^Missing the variable TOKEN\nnoise\n/);
  expect(tail.head).toHaveLength(2_048);
  expect(exitError(target, "exited with code 1", tail).message).toMatch(
    /code 1: Missing the variable TOKEN \| … \| noise/,
  );
});

const requireStack = Array.from({ length: 6 }, (_, at) => `/srv/app/f${6 - at}.js`);
const frames = "    at Module._load (node:internal/modules/cjs/loader:1038:27)\n".repeat(9);
const tries = Array.from({ length: 13 }, (_, at) => `/srv/app/node_modules/sqlite3/build${at}/node_sqlite3.node`);
const list = (paths: readonly string[]) => paths.map((path) => `    '${path}'`).join(",\n");

/** Outputs as programs wrote them, and the cause that a person reads first. */
test.each([
  [
    "a missing module of Node.js",
    `node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module 'no-such-dep'
Require stack:
${requireStack.map((path) => `- ${path}`).join("\n")}
${frames}    at Module.require (node:internal/modules/cjs/loader:1289:19) {
  code: 'MODULE_NOT_FOUND',
  requireStack: [
${list(requireStack)}
  ]
}

Node.js v20.20.2
`,
    /^Error: Cannot find module 'no-such-dep' \| Require stack: \| - \/srv\/app\/f6\.js \| - \S+ \| - \S+$/,
  ],
  [
    "a missing binary of a native module",
    `/srv/app/node_modules/bindings/bindings.js:135
  throw err;
  ^

Error: Could not locate the bindings file. Tried:
${tries.map((path) => ` → ${path}`).join("\n")}
${frames}    at Module._compile (node:internal/modules/cjs/loader:1521:14) {
  tries: [
${list(tries)}
  ]
}

Node.js v20.20.2
`,
    /^Error: Could not locate the bindings file\. Tried: \| → \/srv/,
  ],
  [
    "a traceback of Python",
    `Traceback (most recent call last):
  File "/srv/py.py", line 4, in <module>
    main()
  File "/srv/py.py", line 3, in main
    return os.environ["API_KEY"]
           ~~~~~~~~~~^^^^^^^^^^^
  File "<frozen os>", line 679, in __getitem__
KeyError: 'API_KEY'
`,
    /^KeyError: 'API_KEY'$/,
  ],
  [
    "a panic of Rust",
    `thread 'main' (10716) panicked at p.rs:1:45:
API_KEY must be set: NotPresent
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
   1: core::panicking::panic_fmt
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:80:14
   2: p::main
note: Some details are omitted, run with \`RUST_BACKTRACE=full\` for a verbose backtrace.
`,
    /^thread 'main' \(10716\) panicked at p\.rs:1:45: \| API_KEY must be set: NotPresent$/,
  ],
  [
    "a stack of Java",
    `WARNING: starting
Exception in thread "main" java.lang.IllegalStateException: Server could not start
	at P.main(P.java:1)
Caused by: java.io.FileNotFoundException: /etc/app.yml (No such file or directory)
	at P.conf(P.java:2)
${"	at java.base/jdk.internal.reflect.NativeMethodAccessorImpl.invoke0(Native Method)\n".repeat(9)}`,
    /^Exception in thread "main" \S+: Server could not start \| Caused by: \S+FileNotFoundException: \/etc\/app\.yml/,
  ],
  [
    "a missing program of a shell",
    "npm warn exec The following package was not found and will be installed: x@1.0.0\nsh: 1: mcp-x: not found\n",
    /^sh: 1: mcp-x: not found$/,
  ],
  [
    "a package that npm cannot find",
    `npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@nosuch%2fpkg - Not found
npm error 404
npm error 404  '@nosuch/pkg@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-16T14_11_10_958Z-debug-0.log
`,
    /^npm error code E404 \| npm error 404 Not Found - GET \S+ - Not found \| npm error 404 {2}'@nosuch\/pkg@\*' is not/,
  ],
  [
    "a usage text after its reason",
    `error: required option '--token <token>' not specified

Usage: server [options]

Options:
${Array.from({ length: 20 }, (_, at) => `  --option-${at} <value>  sets option ${at}`).join("\n")}
`,
    /^error: required option '--token <token>' not specified \| Usage: server \[options\] \| Options: \|/,
  ],
])("names the cause of %s first", (_, stderr, cause) => {
  expect(end(stderr).split("exited with code 1: ")[1]).toMatch(cause);
});

test("ignores an error far back in the output", () => {
  expect(end(`Error: old\n${"working\n".repeat(20)}done`)).toMatch(/working \| done$/);
});

test("masks secrets of the environment and the arguments", () => {
  const secretive = { command: "run", args: ["--token", "t0ken"], env: { PIN: "12345678" } };
  expect(exitError(secretive, "exited with code 2", kept256("bad pin 12345678, token t0ken")).message).toBe(
    'The server "run --token ***" exited with code 2: bad pin ***, token ***',
  );
  const error = startError(secretive, Object.assign(systemError("ENOENT"), { spawnargs: secretive.args }), pathExists);
  expect(JSON.stringify([error.message, error.cause])).not.toContain("t0ken");
});

test.each([
  [{ command: "nope" }, "ENOENT", "there is no program nope on the PATH; install it, or give its path"],
  [
    { command: "node dist/nope.js --token s3cret" },
    "ENOENT",
    'there is no program of this name; give the program and its arguments apart: command "node" and args ["dist/nope.js","--token","***"]',
  ],
  [{ command: "./nope" }, "ENOENT", "there is no file ./nope; correct the path"],
  [{ command: "/bin/sh" }, "ENOENT", "the program in the first line of /bin/sh does not exist"],
  [{ command: "sh", cwd: "/no/such/dir" }, "ENOENT", "its working directory /no/such/dir does not exist"],
  [{ command: "/etc/hosts" }, "EACCES", "/etc/hosts is not executable; make it executable"],
  [{ command: "sh" }, "EMFILE", "too many processes or files (EMFILE)"],
  [{ command: "sh" }, "E2BIG", "arguments and environment are too long"],
  [
    { command: "sh" },
    "ERR_INVALID_ARG_VALUE",
    "the system refuses its command, arguments, cwd or environment (ERR_INVALID_ARG_VALUE)",
  ],
])("explains %j that fails to start with %s", (failing, code, advice) => {
  const { message } = startError(failing, systemError(code), pathExists);
  expect(message).toMatch(/^The server ".+" could not be started: /);
  expect(message).toContain(advice);
});

test.each([
  [["--token", "abc123"], "--token ***"],
  [["--github-token", "-abc"], "--github-token ***"],
  [["--api-key=abc123", "--port=80"], "--api-key=*** --port=80"],
  [["-e", "OPENAI_API_KEY=abc123"], "-e OPENAI_API_KEY=***"],
  [["--header", "Authorization: Bearer abc123"], "--header Authorization: Bearer ***"],
  [["https://host/?password=abc123&x=1"], "https://host/?password=***"],
  [["postgres://ada:p@ss:w@host/db?auth=x"], "postgres://ada:***@host/db?auth=***"],
  [["PASSWORD=abc\ndef"], "PASSWORD=***"],
  [["--author", "Ada", "/srv/files"], "--author Ada /srv/files"],
  [["a", "b", "c", "d"], "a b c d"],
  [["a", "b", "c", "d", "e"], "a b c d …"],
  [["\u001b[31mred\u202e\n"], "red\\u{202e}\\u{a}"],
  [["x".repeat(100)], `${"x".repeat(79)}…`],
])("shows the arguments %j as %s", (args, shown) => {
  expect(describeCommand({ command: "run", args })).toBe(`run ${shown}`);
});

test("masks the child's secrets in its output", () => {
  const mask = createMasker({
    command: "run",
    args: ["--token", "from-args", "postgres://ada:hunter2@host/db"],
    env: { API_KEY: "k3y", API_KEY_OLD: "k3y-and-more", DEBUG: "1", ENDPOINT: "https://internal.example" },
  });
  expect(mask("k3y k3y-and-more from-args hunter2 1 https://internal.example/x")).toBe("*** *** *** *** 1 ***/x");
});

test("escapes control and direction characters and removes colours", () => {
  expect(toVisible("\u001b[1;31mbad\u001b[0m\tline\u001b]0;title\u0007 \u202ecba\u200b")).toBe(
    "bad line\\u{1b}]0;title\\u{7} \\u{202e}cba\\u{200b}",
  );
});
