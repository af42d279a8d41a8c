import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { bounded } from "./bounded.mjs";

/** The path of wrk; undefined if it is not installed. */
export const wrk = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "wrk"))
  .find((file) => existsSync(file));

/** Which program creates the load of the HTTP workloads. */
export const loadGenerator = wrk === undefined ? "node (wrk is not installed)" : "wrk";

/**
 * Sends the requests in turn over a number of connections for some seconds, one at a time on each: the number of answers,
 * and the wall ms that they took. Rejects if one of them failed.
 * @param {string} url
 * @param {{ headers: Record<string, string>, body: string }[]} requests
 */
export async function runWrk(url, requests, { connections, seconds }) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-bench-wrk-"));
  try {
    const script = join(folder, "requests.lua");
    writeFileSync(script, luaOf(requests));
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script, url];
    const text = await bounded(run(args), (seconds + 20) * 1000, "wrk");
    const [, answers, us, wrong, lost] = /^bench (\d+) (\d+) (\d+) (\d+)$/m.exec(text) ?? [];
    if (answers === undefined) throw new Error(`wrk said: ${text.slice(0, 200)}`);
    if (Number(wrong) + Number(lost) > 0) throw new Error(`wrk: ${wrong} answers with an error status, ${lost} lost`);
    return { answers: Number(answers), wall: Number(us) / 1000 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function luaOf(requests) {
  const formatted = requests.map(({ headers, body }) => {
    const fields = Object.entries(headers).map(([name, value]) => `[${quoted(name)}]=${quoted(value)}`);
    return `  requests[#requests + 1] = wrk.format("POST", nil, {${fields.join(",")}}, ${quoted(body)})`;
  });
  return `local requests = {}
local last = 0
function init()
${formatted.join("\n")}
end
function request()
  last = last % #requests + 1
  return requests[last]
end
function done(summary)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("bench %d %d %d %d\\n", summary.requests, summary.duration, errors.status, lost))
end
`;
}

/** A JSON string is also a string of Lua, as long as it is ASCII. */
const quoted = (text) => JSON.stringify(text);

function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(wrk, args, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const output of [child.stdout, child.stderr]) {
      output.on("data", (chunk) => {
        text = (text + chunk).slice(-4000);
      });
    }
    child.on("error", reject);
    child.on("exit", () => resolve(text));
  });
}
