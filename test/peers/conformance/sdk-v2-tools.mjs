// The tools of the conformance fixture on the official SDK, version 2.
import { setTimeout as pause } from "node:timers/promises";
import { acceptedContent, fromJsonSchema, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { z } from "zod";
import { picture, sound } from "../../conformance/server/media.mjs";
import { account, choices, contact, defaults, place } from "../../conformance/server/schemas.mjs";
import { toText } from "../http/listen.mjs";

const stepMs = 50;
const image = { type: "image", data: picture, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";

const elicit = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const sample = (text) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 });
const field = (name, type = "string") => ({
  type: "object",
  properties: { [name]: { type } },
  required: [name],
});
const nameQuestion = () => elicit("What is your name?", field("name"));

/** Adds the tools; `mint` seals a state, `notify` notifies subscribers without a session. */
export function addTools(server, { mint, notify }) {
  const add = (name, run, inputSchema) =>
    server.registerTool(name, { description: name, ...(inputSchema && { inputSchema }) }, (...given) =>
      // Without a schema there are no arguments, so the context is the first parameter.
      inputSchema ? run(...given) : run({}, given[0]),
    );
  addContent(add);
  addNotices(add, notify);
  addQuestions(add);
  addRounds(add, mint);
}

function addContent(add) {
  add("test_simple_text", () => toText("This is a simple text response for testing."));
  add("test_image_content", () => ({ content: [image] }));
  add("test_audio_content", () => ({ content: [{ type: "audio", data: sound, mimeType: "audio/wav" }] }));
  add("test_embedded_resource", () => ({ content: [embedded("test://embedded-resource", "text/plain", "Embedded")] }));
  add("test_multiple_content_types", () => ({
    content: [
      { type: "text", text: "Several" },
      image,
      embedded("test://mixed-content-resource", "application/json", '{"value":123}'),
    ],
  }));
  add("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  add("test_x_mcp_header", ({ region }) => toText(`The region is ${region}`), fromJsonSchema(place));
  add("json_schema_2020_12_tool", (args) => toText(JSON.stringify(args)), fromJsonSchema(contact));
}

function addNotices(add, notify) {
  add("test_tool_with_progress", async (_, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
      await pause(stepMs);
    }
    return toText("Progress was told");
  });
  add("test_tool_with_logging", async (_, { mcpReq }) => {
    for (const message of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", message);
      await pause(stepMs);
    }
    return toText("Logged three times");
  });
  add("test_logging_tool", async (_, { mcpReq }) => {
    await mcpReq.log("info", "Somebody wants to hear this");
    return toText("Logged");
  });
  add("test_reconnection", async (_, { http }) => {
    http.closeSSE?.();
    await pause(2 * stepMs);
    return toText("You came back");
  });
  add("test_trigger_tool_change", () => {
    notify.toolsChanged();
    return toText("Told");
  });
  add("test_trigger_prompt_change", () => {
    notify.promptsChanged();
    return toText("Told");
  });
}

function addQuestions(add) {
  const ask = (name, question, inputSchema) =>
    add(
      name,
      (args, { mcpReq }) => {
        const answer = mcpReq.inputResponses?.answer;
        return answer
          ? toText(`The answer: ${JSON.stringify(answer)}`)
          : inputRequired({ inputRequests: { answer: question(args) } });
      },
      inputSchema,
    );
  ask("test_sampling", ({ prompt }) => sample(prompt), z.object({ prompt: z.string() }));
  ask("test_elicitation", ({ message }) => elicit(message, account), z.object({ message: z.string() }));
  ask("test_elicitation_sep1034_defaults", () => elicit("Please review the values", defaults));
  ask("test_elicitation_sep1330_enums", () => elicit("Please choose", choices));
  // The SDK refuses to ask a client without the sampling capability.
  ask("test_missing_capability", () => sample("Are you there?"));
  add("test_streaming_elicitation", () => toText("Nobody was asked"));
}

function addRounds(add, mint) {
  add("test_input_required_result_elicitation", (_, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "user_name", z.object({ name: z.string() }));
    return answer ? toText(`Hello, ${answer.name}!`) : inputRequired({ inputRequests: { user_name: nameQuestion() } });
  });
  const askFor = (name, key, kind, question) =>
    add(name, (_, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, key);
      return answer.kind === kind
        ? toText(JSON.stringify(answer))
        : inputRequired({ inputRequests: { [key]: question() } });
    });
  askFor("test_input_required_result_sampling", "capital_question", "sampling", () => sample("Which capital?"));
  askFor("test_input_required_result_list_roots", "client_roots", "roots", () => inputRequired.listRoots());
  for (const name of ["test_input_required_result_request_state", "test_input_required_result_tampered_state"]) {
    add(name, async (_, context) => {
      const { inputResponses, requestState } = context.mcpReq;
      if (acceptedContent(inputResponses, "confirm") && requestState() === "asked") return toText("state-ok");
      const inputRequests = { confirm: elicit("Shall I go on?", field("ok", "boolean")) };
      return inputRequired({ inputRequests, requestState: await mint("asked", context) });
    });
  }
  add("test_input_required_result_multiple_inputs", async (_, context) => {
    const { user_name, greeting, client_roots } = context.mcpReq.inputResponses ?? {};
    if (user_name && greeting && client_roots) return toText("All is known");
    const inputRequests = {
      user_name: nameQuestion(),
      greeting: sample("Greet"),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await mint("asked", context) });
  });
  add("test_input_required_result_multi_round", async (_, context) => {
    const { inputResponses, requestState } = context.mcpReq;
    const first = acceptedContent(inputResponses, "step1");
    const second = acceptedContent(inputResponses, "step2");
    if (second && requestState()?.first) return toText(JSON.stringify([requestState().first, second]));
    if (first) {
      const inputRequests = { step2: elicit("What is your favorite color?", field("color")) };
      return inputRequired({ inputRequests, requestState: await mint({ first }, context) });
    }
    return inputRequired({ inputRequests: { step1: nameQuestion() }, requestState: await mint({}, context) });
  });
  add("test_input_required_result_capabilities", (_, { mcpReq }) => {
    if (Object.keys(mcpReq.inputResponses ?? {}).length > 0) return toText("Asked");
    const { sampling, elicitation } = mcpReq.envelope?.[capabilitiesKey] ?? {};
    if (sampling) return inputRequired({ inputRequests: { model: sample("Who are you?") } });
    return elicitation ? inputRequired({ inputRequests: { user_name: nameQuestion() } }) : toText("Nobody is there");
  });
}
