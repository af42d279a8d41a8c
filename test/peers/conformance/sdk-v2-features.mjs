// The resources and prompts of the conformance fixture on the official SDK, version 2.
import { acceptedContent, completable, inputRequired, ResourceTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";
import { picture } from "../../conformance/server/media.mjs";

const plain = { mimeType: "text/plain" };
const json = { mimeType: "application/json" };
const said = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) });
const text = (text) => ({ type: "text", text });

export function addFeatures(server) {
  server.registerResource("static-text", "test://static-text", plain, ({ href: uri }) => ({
    contents: [{ uri, ...plain, text: "This is the content of the static text resource." }],
  }));
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: picture }],
  }));
  server.registerResource("watched", "test://watched-resource", plain, ({ href: uri }) => ({
    contents: [{ uri, ...plain, text: "Watched resource content" }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, json, ({ href: uri }, { id }) => ({
    contents: [{ uri, ...json, text: JSON.stringify({ id, data: `Data for ID: ${id}` }) }],
  }));
  server.registerPrompt("test_simple_prompt", { description: "Says something simple" }, () =>
    said(text("This is a simple prompt for testing.")),
  );
  const argsSchema = z.object({
    arg1: completable(z.string(), (value) => ["testValue1", "otherValue1"].filter((known) => known.startsWith(value))),
    arg2: z.string(),
  });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Says what it is given", argsSchema },
    ({ arg1, arg2 }) => said(text(`arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "Shows a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => said({ type: "resource", resource: { uri, ...plain, text: "Embedded" } }, text("There")),
  );
  server.registerPrompt("test_prompt_with_image", { description: "Shows an image" }, () =>
    said({ type: "image", data: picture, mimeType: "image/png" }, text("There")),
  );
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks first" }, ({ mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, "user_context");
    if (answer) return said(text(`Please help with ${answer.context}`));
    const requestedSchema = { type: "object", properties: { context: { type: "string" } }, required: ["context"] };
    const question = inputRequired.elicit({ message: "What is this about?", requestedSchema });
    return inputRequired({ inputRequests: { user_context: question } });
  });
}
