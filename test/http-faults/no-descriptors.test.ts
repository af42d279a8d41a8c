import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const fixture = fileURLToPath(new URL("./fixtures/no-descriptors.mjs", import.meta.url));

test.each(["listen", "node", "fetch"])(
  "a server behind %s answers every kind of request although no file descriptor is free",
  async (adapter) => {
    const limited = 'ulimit -n 200 && exec "$0" "$@"';
    const run = promisify(execFile)("sh", ["-c", limited, process.execPath, fixture, adapter], { timeout: 40_000 });
    const { answers, errors } = JSON.parse((await run).stdout) as {
      answers: { [request: string]: { status: number; text: string } };
      errors: string[];
    };
    expect(errors).toEqual([]);
    expect(Object.fromEntries(Object.entries(answers).map(([request, { status }]) => [request, status]))).toEqual({
      "a call": 200,
      "a call that asks": 200,
      "a resource": 200,
      "a prompt": 200,
      "a handshake": 200,
      "a broken body": 400,
      "a foreign origin": 403,
    });
    expect(answers["a call that asks"]?.text).toContain("input_required");
  },
);
