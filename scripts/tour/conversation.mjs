// @ts-check
// One conversation with a server that runs as a child process, in plain JSON-RPC over stdio.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/**
 * @typedef {Record<string, any>} Json
 * @typedef {{ whom: "user" | "model", question: string, answer: string }} Asked
 * @typedef {{ name: string, args: Json, asked: Asked[], progress: number, rounds: number, result?: Json, error?: Json }} Call
 */

const patienceMs = 20_000;
const clientInfo = { name: "tour", version: "1.0.0" };
const metaKey = (/** @type {string} */ name) => `io.modelcontextprotocol/${name}`;

/** Speaks one revision; the two ways there are to open a conversation and to be asked look the same from outside. */
export class Conversation {
  #version;
  #capabilities;
  #isStateless;
  #child;
  #exited;
  #errors = "";
  #lastId = 0;
  /** @type {Map<number, { settle: (response: Json) => void, fail: (reason: Error) => void }>} */
  #pending = new Map();
  /** @type {Call | undefined} */
  #call;

  /**
   * @param {string} script
   * @param {{ version: string, opening: string, capabilities: Json }} revision
   */
  constructor(script, { version, opening, capabilities }) {
    this.#version = version;
    this.#isStateless = opening === "server/discover";
    this.#capabilities = capabilities;
    this.#child = spawn(process.execPath, [script], { stdio: "pipe" });
    this.#exited = once(this.#child, "exit");
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#errors += text;
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#read(line));
    this.#exited.then(
      ([code]) => this.#fail(`the server left with code ${code}: ${this.#errors.trim()}`),
      (error) => this.#fail(`the server did not start: ${error.message}`),
    );
  }

  /** Opens the conversation; returns the version and what the server can do. */
  async open() {
    if (this.#isStateless) {
      const { result, error } = await this.#request("server/discover", {});
      if (!result) throw new Error(`server/discover: ${error?.message}`);
      const version = result.supportedVersions.includes(this.#version) ? this.#version : result.supportedVersions[0];
      return { version: String(version), capabilities: Object.keys(result.capabilities) };
    }
    const params = { protocolVersion: this.#version, capabilities: this.#capabilities, clientInfo };
    const { result, error } = await this.#request("initialize", params);
    if (!result) throw new Error(`initialize: ${error?.message}`);
    this.#send({ method: "notifications/initialized" });
    return { version: String(result.protocolVersion), capabilities: Object.keys(result.capabilities) };
  }

  /**
   * Calls a tool and answers whatever it asks, as requests of the server or in results that ask for more.
   * @param {string} name
   * @param {Json} args
   * @returns {Promise<Call>}
   */
  async call(name, args) {
    /** @type {Call} */
    const call = { name, args, asked: [], progress: 0, rounds: 1 };
    this.#call = call;
    const params = { name, arguments: args, _meta: { progressToken: name } };
    let { result, error } = await this.#request("tools/call", params);
    while (result?.resultType === "input_required") {
      const { inputRequests, requestState } = result;
      const answers = Object.entries(inputRequests).map(([key, question]) => [key, this.#answer(question)]);
      const inputResponses = Object.fromEntries(answers);
      call.rounds += 1;
      ({ result, error } = await this.#request("tools/call", { ...params, inputResponses, requestState }));
    }
    return { ...call, ...(result && { result }), ...(error && { error }) };
  }

  /** Ends the server by closing its input, and by force if it does not leave. */
  async close() {
    this.#child.stdin.end();
    const force = setTimeout(() => this.#child.kill("SIGKILL"), patienceMs);
    await this.#exited;
    clearTimeout(force);
  }

  /** @param {string} method @param {Json} params @returns {Promise<Json>} */
  #request(method, params) {
    const id = ++this.#lastId;
    const itself = {
      [metaKey("protocolVersion")]: this.#version,
      [metaKey("clientCapabilities")]: this.#capabilities,
      [metaKey("clientInfo")]: clientInfo,
    };
    const described = this.#isStateless ? { ...params, _meta: { ...params["_meta"], ...itself } } : params;
    return new Promise((resolve, reject) => {
      const late = () => fail(new Error(`${method}: no answer after ${patienceMs / 1_000} seconds`));
      const timer = setTimeout(late, patienceMs);
      const settle = (/** @type {Json} */ response) => {
        clearTimeout(timer);
        resolve(response);
      };
      const fail = (/** @type {Error} */ reason) => {
        clearTimeout(timer);
        reject(reason);
      };
      this.#pending.set(id, { settle, fail });
      this.#send({ id, method, params: described });
    });
  }

  #send(/** @type {Json} */ message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  #read(/** @type {string} */ line) {
    try {
      this.#receive(JSON.parse(line));
    } catch {
      this.#fail(`the server said what is no JSON-RPC: ${line.slice(0, 80)}`);
    }
  }

  #receive(/** @type {Json} */ message) {
    const { id, method } = message;
    if (method === undefined) {
      this.#pending.get(id)?.settle(message);
      this.#pending.delete(id);
    } else if (id !== undefined) this.#send({ id, result: this.#answer(message) });
    else if (method === "notifications/progress" && this.#call) this.#call.progress += 1;
  }

  /** Plays the user and the model. */
  #answer(/** @type {Json} */ { method, params }) {
    if (method === "sampling/createMessage") {
      const { text } = params.messages[0].content;
      const answer = "PT-101";
      this.#call?.asked.push({ whom: "model", question: text.split("\n")[0], answer });
      return { role: "assistant", content: { type: "text", text: answer }, model: "scripted" };
    }
    const fields = Object.keys(params.requestedSchema.properties);
    const content = fields.length === 0 ? {} : { name: "Ada", seat: "window" };
    const answer = Object.values(content).join(", ") || "yes";
    this.#call?.asked.push({ whom: "user", question: params.message, answer });
    return { action: "accept", content };
  }

  #fail(/** @type {string} */ why) {
    for (const { fail } of this.#pending.values()) fail(new Error(why));
    this.#pending.clear();
  }
}
