import type { CallToolResult, SamplingContent, SamplingMessage } from "portolan";
import { checkOptions } from "portolan/internal";
import { explainAbsence, type Host } from "../api.ts";
import { display } from "../display/index.ts";
import { maxRunResultChars } from "../limits.ts";
import type { Model } from "../models/model.ts";
import { estimateTokens } from "../models/tokens.ts";
import { servesSkills } from "../skills/skills.ts";
import { LongResults, presentResult, type SeenResult, toAppWords } from "./present.ts";
import { messagesOf, Requests } from "./prompt.ts";
import type { RunInput, RunOptions, RunPreview } from "./run.ts";
import { withTasks } from "./turn-calls.ts";

/** Parts of the host that a preview uses. */
export interface PreviewHost extends Pick<Host, "catalog" | "servers" | "tasks"> {
  /** True if the features of a server are known. */
  readonly isKnown: (server: string) => boolean;
}

/** A model of which nothing is known. */
const anyModel: Pick<Model, "capabilities"> = { capabilities: { tools: true, images: false } };

/** Returns the first request of a run, without the parts that only the servers know. */
export function previewRun(
  input: RunInput,
  options: RunOptions,
  host: PreviewHost,
  model: Pick<Model, "capabilities"> = anyModel,
): RunPreview {
  const { history = [], attach = [] } = options;
  const before = "messages" in history ? withTasks(history, host) : undefined;
  const requests = new Requests(host, model, options, before);
  const leftOut = [...unknownServers(options, host, requests.toolbox.isWanted)];
  const messages: SamplingMessage[] = [...messagesOf(before ?? history)];
  if (typeof input !== "string") {
    const { server, prompt } = input;
    leftOut.push({ server, text: `The prompt ${display(prompt)} of ${display(server)} is read when the run begins.` });
  }
  const content: SamplingContent[] = [];
  for (const item of attach) {
    const { server } = item;
    if ("app" in item) content.push(...toAppWords(item, requests.presentation));
    else {
      const text = `The resource ${display(item.uri)} of ${display(server)} is read when the run begins.`;
      leftOut.push({ server, text });
    }
  }
  requests.resourceTokens += estimateTokens(content);
  const text = typeof input === "string" ? input : input.text;
  if (text !== undefined) content.push({ type: "text", text });
  if (content.length > 0) messages.push({ role: "user", content });
  const next = requests.next(messages);
  return { ...next, messages: next.messages ?? messages, leftOut };
}

function* unknownServers(
  { servers: wanted }: RunOptions,
  { servers, isKnown }: PreviewHost,
  isWanted: (server: string) => boolean,
): Generator<RunPreview["leftOut"][number]> {
  for (const server of wanted ?? []) {
    if (!servers.some(({ name }) => name === server)) yield { server, text: explainAbsence(server) };
  }
  for (const status of servers) {
    const { name: server, state } = status;
    if (!isWanted(server) || state === "disabled") continue;
    const shown = display(server);
    if (!isKnown(server)) yield { server, text: `The tools of ${shown} are not known: it is ${state}.` };
    if (servesSkills(status)) yield { server, text: `The skills of ${shown} are listed when the run begins.` };
  }
}

/** Options of `host.present`. */
export interface PresentOptions {
  /** The server and the tool that returned the result. They are named in the text. */
  readonly server?: string;
  /** The tool that returned the result. */
  readonly tool?: string;
  /** Default: the host's first model. */
  readonly model?: Model;
  /** Default: 20,000. */
  readonly maxResultChars?: number;
}

/** Returns what a model gets of a result in a run. */
export function presentFor(
  result: CallToolResult,
  options: PresentOptions,
  model: Pick<Model, "capabilities"> = anyModel,
): SeenResult {
  checkOptions(options, { server: 1, tool: 1, model: 1, maxResultChars: 1 }, "present");
  const { server, tool, maxResultChars: maxChars = maxRunResultChars } = options;
  const of = server === undefined ? "" : ` of server "${display(server)}"`;
  const from = `${tool === undefined ? "a tool" : `tool ${display(tool)}`}${of}`;
  return presentResult("", from, result, { model, maxChars, longResults: new LongResults({}) }).seen;
}
