import type { JsonSchema } from "portolan/server";
import { count, string } from "portolan-server-kit";

export function fetchInput(maxLength: number, defaultLength: number): JsonSchema {
  const most = Math.min(defaultLength, maxLength);
  return {
    type: "object",
    properties: {
      url: { type: "string", minLength: 1, maxLength: 4_000, description: "The address: https://example.com/page" },
      from: { type: "integer", minimum: 0, description: "The character to begin with: `next` of the part before" },
      length: {
        type: "integer",
        minimum: 1,
        maximum: maxLength,
        description: `How many characters; ${most} unless given`,
      },
      format: {
        enum: ["markdown", "text", "raw"],
        description: "How a page is shown; raw is its source. markdown unless given",
      },
    },
    required: ["url"],
    additionalProperties: false,
  };
}

export const fetchOutput: JsonSchema = {
  type: "object",
  properties: {
    url: string("Who gave the page, after all redirects"),
    contentType: string("Such as text/html"),
    title: string("The title of a page"),
    text: string("This part; empty for an image"),
    from: count("The character it begins with"),
    total: count("How many characters there are in all"),
    next: count("Give it as `from` to go on; absent at the end"),
    links: {
      type: "array",
      description: "The main links of the page, with its first part",
      items: {
        type: "object",
        properties: { url: string("Where it leads"), text: string("What it says") },
        required: ["url", "text"],
      },
    },
  },
  required: ["url", "contentType", "text", "from", "total", "links"],
};
