import { expect, test } from "vitest";
import { endOf, failedStart } from "./report.ts";

const target = { command: "node", args: ["server.mjs"] };
const end = (stderr: string) => endOf(target, "exited with code 1", stderr).message;
const systemError = (code: string) => Object.assign(new Error(`spawn ${code}`), { code });

test("an end without a word says what happened", () => {
  const error = endOf(target, "was ended by SIGKILL", "\n \n");
  expect(error.code).toBe("connection-closed");
  expect(error.message).toBe('The server "node server.mjs" was ended by SIGKILL');
});

test("of an uncaught error its message is told and its stack is not", () => {
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

test("without an error the last five lines are told, in at most 500 characters", () => {
  expect(end("1\n2\n3\n4\n5\n6\n7")).toMatch(/: 3 \| 4 \| 5 \| 6 \| 7$/);
  expect(end(`${"x".repeat(400)}\n${"y".repeat(400)}`).split("code 1: ")[1]).toHaveLength(500);
});

test("an error of long ago is not taken for the reason", () => {
  expect(end(`Error: old\n${"working\n".repeat(20)}done`)).toMatch(/working \| done$/);
});

test("neither the environment nor the arguments betray a secret", () => {
  const secretive = { command: "run", args: ["--token", "t0ken"], env: { PIN: "12345678" } };
  expect(endOf(secretive, "exited with code 2", "bad pin 12345678, token t0ken").message).toBe(
    'The server "run --token ***" exited with code 2: bad pin ***, token ***',
  );
  const error = failedStart(secretive, Object.assign(systemError("ENOENT"), { spawnargs: secretive.args }));
  expect(JSON.stringify([error.message, error.cause])).not.toContain("t0ken");
});

test.each([
  [{ command: "nope" }, "ENOENT", "there is no program nope on the PATH; install it, or give its full path"],
  [{ command: "./nope" }, "ENOENT", "there is no file ./nope; correct the path"],
  [{ command: "/bin/sh" }, "ENOENT", "names a program in its first line that is not there"],
  [{ command: "sh", cwd: "/no/such/dir" }, "ENOENT", "its working directory /no/such/dir does not exist"],
  [{ command: "/etc/hosts" }, "EACCES", "/etc/hosts may not be executed; make it executable"],
  [{ command: "sh" }, "EMFILE", "no more processes or open files to give (EMFILE)"],
  [{ command: "sh" }, "E2BIG", "arguments and environment are too long"],
  [{ command: "sh" }, "ERR_INVALID_ARG_VALUE", "not what the system takes (ERR_INVALID_ARG_VALUE)"],
])("starting %j that fails with %s says what to do", (failing, code, advice) => {
  const { message } = failedStart(failing, systemError(code));
  expect(message).toMatch(/^The server ".+" could not be started: /);
  expect(message).toContain(advice);
});
