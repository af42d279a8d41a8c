import { RpcError } from "portolan";
import { expect, test } from "vitest";
import { toFailure, withoutOptionNames } from "./failure.ts";

test.each([
  [-32_602, "usage", "no such thing (-32602)"],
  [-32_002, "usage", "no such thing (-32002)"],
  [-32_021, "denied", "no such thing (-32021)"],
  [-32_601, "protocol", "no such thing (-32601)"],
])("maps the error code %d of a server to the kind %s", (code, kind, message) => {
  expect(toFailure(new RpcError(code, "no such thing"))).toMatchObject({ kind, message });
});

test("does not repeat an error code that the message contains", () => {
  const said = "MCP error -32602: no such thing";
  expect(toFailure(new RpcError(-32_602, said)).message).toBe(said);
});

test.each([
  [
    "connect: the server did not answer within 60000 ms; raise connectMs if it starts slowly",
    "connect: the server did not answer within 60 s",
  ],
  [
    "files.read: no answer and no progress for 1500 ms; raise idleMs if it may take longer",
    "files.read: no answer and no progress for 1500 ms",
  ],
  [
    "https://a wants a person to sign in at https://b; give oauth() a redirect, such as loopback(), or a grant",
    "https://a wants a person to sign in at https://b",
  ],
  [
    "the user has not agreed to start it: give the host `answers.trust`, or call `host.trust`",
    "the user has not agreed to start it",
  ],
  [
    "files.read needs the user's approval, but this host cannot ask: give the host `answers.approve`, or a rule that allows the call",
    'files.read needs the user\'s approval, but there is no terminal. Run it in a terminal and answer "always".',
  ],
])("removes option names of the library from %j", (message, shown) => {
  expect(withoutOptionNames(message)).toBe(shown);
});
