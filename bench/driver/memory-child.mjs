import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { calls, check, initialize, initialized, paramsOf, request } from "./messages.mjs";
import { answerTasks, settings } from "./tasks.mjs";

/**
 * The export of each memory.mjs: serves the bench's tools in this process, calls `receive` with each message of the
 * server, and returns the function that sends one. Those of raw and portolan call `onDefined` before they begin to serve.
 * @typedef {(options: { extraTools: number, era: "stateful" | "stateless", schemaOf?: <S>(schema: S) => S,
 *   onDefined?: () => void },
 *   receive: (message: object) => void) => ((message: object) => unknown) | Promise<(message: object) => unknown>} Connect
 */

const { folder, name, era, extraTools = 0 } = settings;
const IN_FLIGHT = 64;

let conversions = 0;
/** Returns the schema unchanged, but counts each conversion to JSON Schema. */
function counted(schema) {
  const standard = schema["~standard"];
  const count =
    (convert) =>
    (...args) => {
      conversions++;
      return convert(...args);
    };
  const { input, output } = standard.jsonSchema;
  return { "~standard": { ...standard, jsonSchema: { input: count(input), output: count(output) } } };
}

let receive = (_message) => {};
const { connect } = await import(pathToFileURL(join(folder, "memory.mjs")).href);
const start = (options) => connect({ era, extraTools, ...options }, (message) => receive(message));

function exchange(send, message) {
  return new Promise((resolve, reject) => {
    receive = (response) => response.id === message.id && resolve(response);
    Promise.resolve(send(message)).catch(reject);
  });
}

async function hello(send) {
  if (era === "stateful") {
    await exchange(send, initialize);
    await send(initialized);
  }
}

let opened;
async function open() {
  if (opened) return opened;
  const send = await start({});
  await hello(send);
  for (const call of ["echo", "add"]) {
    check(name, call, await exchange(send, request(era, call, "tools/call", calls[call].params)));
  }
  opened = send;
  return send;
}

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

answerTasks({
  /** Makes `count` calls, 64 in flight: CPU µs of this process, driver included. */
  async pump({ call, count }) {
    const send = await open();
    const params = paramsOf(era, calls[call].params);
    const before = process.cpuUsage();
    await new Promise((resolve, reject) => {
      let sent = 0;
      let received = 0;
      let isPumping = false;
      // A server that answers synchronously must not cause recursion.
      const pump = () => {
        isPumping = true;
        while (sent < count && sent - received < IN_FLIGHT) {
          send({ jsonrpc: "2.0", id: sent++, method: "tools/call", params });
        }
        isPumping = false;
      };
      receive = (response) => {
        if (response.result === undefined) return reject(new Error(JSON.stringify(response).slice(0, 300)));
        received++;
        if (received === count) resolve(undefined);
        else if (!isPumping) pump();
      };
      pump();
    });
    const { user, system } = process.cpuUsage(before);
    return { cpu: user + system };
  },

  /** CPU µs from the defined server to the answer of its first handshake. A process can measure it once. */
  async firstInitialize() {
    let before;
    const onDefined = () => {
      // The garbage of the definition is not the handshake's.
      collectGarbage();
      before = process.cpuUsage();
    };
    const send = await start({ onDefined });
    const { result } = await exchange(send, initialize);
    const { user, system } = process.cpuUsage(before);
    if (result?.capabilities.tools === undefined) throw new Error(`${name} offers no tools`);
    return { cpu: user + system };
  },

  /** Counts the schema conversions after the start of the server, during two lists and a hundred calls. */
  async conversions() {
    const send = await start({ schemaOf: counted });
    await hello(send);
    const atStart = conversions;
    for (let i = 0; i < 2; i++) await exchange(send, request(era, `list-${i}`, "tools/list"));
    for (let i = 0; i < 100; i++) {
      const call = i % 2 === 0 ? "echo" : "add";
      check(name, call, await exchange(send, request(era, i, "tools/call", calls[call].params)));
    }
    return { atStart, later: conversions - atStart };
  },
});
