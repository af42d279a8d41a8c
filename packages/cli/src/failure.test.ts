import { RpcError } from "portolan";
import { expect, test } from "vitest";
import { toFailure } from "./failure.ts";

test.each([
  [-32_602, "usage", "no such thing (-32602)"],
  [-32_002, "usage", "no such thing (-32002)"],
  [-32_021, "denied", "no such thing (-32021)"],
  [-32_601, "protocol", "no such thing (-32601)"],
])("a server's %d is a failure of the kind %s", (code, kind, message) => {
  expect(toFailure(new RpcError(code, "no such thing"))).toMatchObject({ kind, message });
});

test("a code that a server has written itself is not said twice", () => {
  const said = "MCP error -32602: no such thing";
  expect(toFailure(new RpcError(-32_602, said)).message).toBe(said);
});
