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
    "files.read: no answer and no progress for 1.5 s",
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
  [
    "POST http://127.0.0.1:9/mcp failed: connect ECONNREFUSED 127.0.0.1:9",
    "http://127.0.0.1:9/mcp cannot be reached: nothing listens at 127.0.0.1:9 (ECONNREFUSED)",
  ],
  [
    "POST http://nowhere.example/mcp failed: getaddrinfo ENOTFOUND nowhere.example",
    "http://nowhere.example/mcp cannot be reached: the host name nowhere.example is unknown (ENOTFOUND)",
  ],
  [
    "gpt-x at a.example answered 404. Check the name of the model and the baseUrl.",
    "gpt-x at a.example answered 404. Check the name of the model and the base URL (ANTHROPIC_BASE_URL or OPENAI_BASE_URL).",
  ],
  [
    "gpt-x at a.example answered 400: no. Check the request; the options quirks and extra change it.",
    "gpt-x at a.example answered 400: no. Another model may accept it: --model.",
  ],
  ["a answered with more than 9 bytes; `maxBytes` raises the limit", "a answered with more than 9 bytes"],
  [
    "url: expected an address without user name and password; send them in headers",
    "The address contains a user name or a password. Leave them out, and send them as a header of the server",
  ],
])("removes option names of the library from %j", (message, shown) => {
  expect(withoutOptionNames(message)).toBe(shown);
});
