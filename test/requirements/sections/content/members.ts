import { expect } from "vitest";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { type Entry, isFrom, members } from "../../results.ts";

/** The oldest revision of each member. */
const allowed: { [kind: string]: { [member: string]: RevisionDate } } = {
  implementation: {
    name: "2024-11-05",
    version: "2024-11-05",
    title: "2025-06-18",
    description: "2025-11-25",
    icons: "2025-11-25",
    websiteUrl: "2025-11-25",
  },
  capabilities: {
    tools: "2024-11-05",
    resources: "2024-11-05",
    prompts: "2024-11-05",
    logging: "2024-11-05",
    completions: "2025-03-26",
  },
  initialized: {
    protocolVersion: "2024-11-05",
    capabilities: "2024-11-05",
    serverInfo: "2024-11-05",
    instructions: "2024-11-05",
  },
  tool: {
    name: "2024-11-05",
    description: "2024-11-05",
    inputSchema: "2024-11-05",
    annotations: "2025-03-26",
    title: "2025-06-18",
    outputSchema: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
    execution: "2025-11-25",
    "example.com/extra": "2024-11-05",
  },
  resource: {
    uri: "2024-11-05",
    uriTemplate: "2024-11-05",
    name: "2024-11-05",
    description: "2024-11-05",
    mimeType: "2024-11-05",
    annotations: "2024-11-05",
    size: "2024-11-05",
    title: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  annotations: { audience: "2024-11-05", priority: "2024-11-05", lastModified: "2025-06-18" },
  prompt: {
    name: "2024-11-05",
    description: "2024-11-05",
    arguments: "2024-11-05",
    title: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  argument: { name: "2024-11-05", description: "2024-11-05", required: "2024-11-05", title: "2025-06-18" },
  called: {
    content: "2024-11-05",
    isError: "2024-11-05",
    _meta: "2024-11-05",
    "example.com/extra": "2024-11-05",
    structuredContent: "2025-06-18",
  },
  text: {
    type: "2024-11-05",
    text: "2024-11-05",
    annotations: "2024-11-05",
    "example.com/extra": "2024-11-05",
    _meta: "2025-06-18",
  },
  media: {
    type: "2024-11-05",
    data: "2024-11-05",
    mimeType: "2024-11-05",
    annotations: "2024-11-05",
    _meta: "2025-06-18",
  },
  embedded: { type: "2024-11-05", resource: "2024-11-05", annotations: "2024-11-05", _meta: "2025-06-18" },
  contents: {
    uri: "2024-11-05",
    mimeType: "2024-11-05",
    text: "2024-11-05",
    blob: "2024-11-05",
    "example.com/extra": "2024-11-05",
    _meta: "2025-06-18",
  },
  link: {
    type: "2025-06-18",
    uri: "2025-06-18",
    name: "2025-06-18",
    title: "2025-06-18",
    description: "2025-06-18",
    mimeType: "2025-06-18",
    size: "2025-06-18",
    annotations: "2025-06-18",
    _meta: "2025-06-18",
    icons: "2025-11-25",
  },
  read: { contents: "2024-11-05", _meta: "2024-11-05", "example.com/extra": "2024-11-05" },
  got: { description: "2024-11-05", messages: "2024-11-05", _meta: "2024-11-05", "example.com/extra": "2024-11-05" },
};

/** Expects that a value has all members of a revision except the absent ones, and no others. */
export function fits(kind: string, value: Entry, revision: RevisionDate, absent: string[] = []): void {
  const known = Object.entries(allowed[kind] ?? {}).filter(([, since]) => isFrom(revision, since));
  const wanted = known.map(([name]) => name).filter((name) => !absent.includes(name));
  expect(members(value), kind).toEqual(wanted.sort());
  if (value.annotations && "priority" in value.annotations) fits("annotations", value.annotations, revision);
}

/** Expects that content blocks have the form of a revision. */
export function blocksFit(blocks: Entry[], revision: RevisionDate): void {
  const [text, image, audio, link, embedded, blob] = blocks;
  expect(blocks).toHaveLength(6);
  fits("text", text, revision);
  fits("media", image, revision);
  expect([text.type, image.type, embedded.type, blob.type]).toEqual(["text", "image", "resource", "resource"]);
  if (isFrom(revision, "2025-03-26")) {
    expect(audio.type).toBe("audio");
    fits("media", audio, revision);
  } else {
    expect(audio).toMatchObject({ type: "resource", resource: { mimeType: "audio/wav", blob: "c291bmQ=" } });
    fits("embedded", audio, revision);
    fits("contents", audio.resource, revision, ["text", "example.com/extra"]);
  }
  if (isFrom(revision, "2025-06-18")) {
    expect(link.type).toBe("resource_link");
    fits("link", link, revision);
  } else {
    expect(link.type).toBe("text");
    expect(link.text).toContain("note:a");
    expect(members(link).filter((name) => !["type", "text", "annotations"].includes(name))).toEqual([]);
  }
  fits("embedded", embedded, revision);
  fits("contents", embedded.resource, revision, ["blob"]);
  expect(blob.resource).toEqual({ uri: "note:b", mimeType: "image/png", blob: "aW1hZ2U=" });
}
