import { describe, expect, test } from "vitest";
import type { PreparedResponse } from "../../jsonrpc/channel.ts";
import { type RpcRequest, type RpcResponse, serialize } from "../../jsonrpc/message.ts";
import { Callers } from "../callers.ts";
import { createServer, runtimeOf } from "../define/server.ts";
import { maxKeptBytesPerCaller } from "../limits.ts";
import { collectResponses } from "./batch.ts";

type Response = RpcResponse | PreparedResponse;

function begin(count: number, send: (responses: Response[]) => void, connection = {}) {
  const errors: unknown[] = [];
  const server = createServer({ name: "test", version: "1.0.0" }, { onError: (error) => errors.push(error) });
  const messages = Array.from({ length: count }, (_, id): RpcRequest => ({ jsonrpc: "2.0", id, method: "ping" }));
  const runtime = runtimeOf(server);
  const more = (n: number, to: typeof send) => collectResponses(runtime, connection, messages.slice(0, n), to);
  return { collect: more(count, send), more, errors };
}

const isError = (response: Response) => "error" in response;
const half = "x".repeat(maxKeptBytesPerCaller / 2 - 10);

describe("the responses to a batch", () => {
  test("are kept up to the limit of their caller; the others are errors under their ids", () => {
    const sent: Response[][] = [];
    const { collect, errors } = begin(4, (responses) => sent.push(responses));
    for (let id = 0; id < 3; id += 1) collect({ id, resultText: half });
    expect(sent).toEqual([]);
    collect({ id: 3, resultText: "{}" });
    expect(sent.map((responses) => responses.map(isError))).toEqual([[false, false, true, false]]);
    expect(sent[0]?.[2]).toMatchObject({
      id: 2,
      error: { code: -31429, message: expect.stringContaining("an answer until its batch is complete") },
    });
    expect(errors).toEqual([]);
  });

  test("count together with those of other batches of the connection, until they are sent", () => {
    const sent: Response[][] = [];
    const send = (responses: Response[]) => sent.push(responses);
    const { collect, more } = begin(3, send);
    collect({ id: 0, resultText: half });
    collect({ id: 1, resultText: half });
    const second = more(2, send);
    second({ id: 0, resultText: half });
    second({ id: 1, resultText: "{}" });
    collect();
    const third = more(2, send);
    third({ id: 0, resultText: half });
    third();
    expect(sent.map((responses) => responses.map(isError))).toEqual([[true, false], [false, false], [false]]);
  });

  test("are never refused if there is only one", () => {
    const sent: Response[][] = [];
    const { collect } = begin(1, (responses) => sent.push(responses));
    collect({ id: 0, resultText: `${half}${half}${half}` });
    expect(sent.map((responses) => responses.map(isError))).toEqual([[false]]);
  });

  test("are all errors if they cannot be sent together", () => {
    const texts: string[] = [];
    const unlimited = new Callers({ atOnce: {}, perMinute: {} }).get("raised limits");
    const send = (responses: Response[]) => texts.push(serialize(responses));
    const { collect, errors } = begin(20, send, { caller: unlimited });
    // 640 MiB are longer than any string.
    for (let id = 0; id < 20; id += 1) collect({ id, resultText: half });
    expect(texts).toHaveLength(1);
    expect(JSON.parse(texts[0] ?? "")).toHaveLength(20);
    expect(JSON.parse(texts[0] ?? "")[19]).toMatchObject({ id: 19, error: { code: -32603 } });
    expect(errors).toMatchObject([{ message: "Invalid string length" }]);
  });
});
