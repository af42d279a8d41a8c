import type { ModelTool } from "../../models/model.ts";

/** Lets a model look for tools when there are too many to show. */
export const findTools: ModelTool = {
  name: "find_tools",
  description:
    "There are more tools than are listed here. Looks for tools by what they do, in a few words; those it names can be called from then on.",
  inputSchema: {
    type: "object",
    properties: { query: { type: "string", description: "What the tool should do, in a few words" } },
    required: ["query"],
  },
};

/** Lets a model read on in a result that was too long. */
export const readMore: ModelTool = {
  name: "read_more",
  description: "Reads on in a result that was too long to show whole.",
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name given where the result was cut" },
      from: { type: "integer", description: "The character to read from" },
    },
    required: ["name", "from"],
  },
};

/** Let a model find and, with the user's consent, read resources. */
export const readResource: readonly ModelTool[] = [
  {
    name: "find_resources",
    description: "Lists resources of the servers whose names, addresses or descriptions hold all words of a query.",
    inputSchema: {
      type: "object",
      properties: { query: { type: "string", description: "Words to look for; none for the first ones" } },
    },
  },
  {
    name: "read_resource",
    description: "Reads a resource of a server. The user may be asked first.",
    inputSchema: {
      type: "object",
      properties: {
        server: { type: "string", description: "The server's name" },
        uri: { type: "string", description: "The resource's address" },
      },
      required: ["server", "uri"],
    },
  },
];
