import { describe, expect, test } from "vitest";
import { encodeAnswer } from "./client-codec.ts";
import { revisions } from "./revisions/index.ts";

const revision = (version: string) => revisions.find((known) => known.version === version)!;
const all = revisions.map(({ version }) => version);

describe("encodeAnswer", () => {
  const sample = (content: unknown) => ({
    role: "assistant",
    model: "m",
    stopReason: "endTurn",
    content,
    _meta: { a: 1 },
  });
  const encodeSample = (version: string, content: unknown) =>
    encodeAnswer(revision(version), "sampling/createMessage", sample(content));
  const hello = { type: "text", text: "Hello" };
  const world = { type: "text", text: "World" };
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
  const use = { type: "tool_use", id: "1", name: "search", input: { q: "x" } };
  const oneBlock = all.filter((version) => version < "2025-11-25");
  const manyBlocks = all.filter((version) => version >= "2025-11-25");

  test.each(all)("returns the same object if nothing changes on %s", (version) => {
    const said = sample(hello);
    expect(encodeAnswer(revision(version), "sampling/createMessage", said)).toBe(said);
    const decline = { action: "decline" };
    expect(encodeAnswer(revision(version), "elicitation/create", decline)).toBe(decline);
    const roots = { roots: [{ uri: "file:///a", name: "a" }] };
    expect(encodeAnswer(revision(version), "roots/list", roots)).toBe(roots);
    expect(encodeAnswer(revision(version), "example.com/own", decline)).toBe(decline);
  });

  test.each(manyBlocks)("keeps several blocks and tool calls on %s", (version) => {
    const said = sample([hello, use]);
    expect(encodeAnswer(revision(version), "sampling/createMessage", said)).toBe(said);
  });

  test.each(oneBlock)("joins blocks to one on %s", (version) => {
    expect(encodeSample(version, [image])).toEqual(sample(image));
    expect(encodeSample(version, [hello, world])).toEqual(sample({ type: "text", text: "Hello\nWorld" }));
    expect(encodeSample(version, [])).toEqual(sample({ type: "text", text: "" }));
    expect(encodeSample(version, [hello, image])).toEqual(
      sample({ type: "text", text: "Hello\n[image/png: left out, this protocol version takes one block]" }),
    );
  });

  test.each(oneBlock)("describes tool calls in text on %s", (version) => {
    const text = '[calls the tool search with {"q":"x"}]';
    expect(encodeSample(version, use)).toEqual(sample({ type: "text", text }));
    expect(encodeSample(version, [hello, use])).toEqual(sample({ type: "text", text: `Hello\n${text}` }));
  });

  test("replaces audio for a server without audio", () => {
    const silence = { type: "text", text: "[audio/wav: no audio in this protocol version]" };
    expect(encodeSample("2024-11-05", audio)).toEqual(sample(silence));
    expect(encodeSample("2025-03-26", audio)).toEqual(sample(audio));
  });

  test("removes later members of blocks and roots", () => {
    const rich = {
      ...hello,
      _meta: { b: 2 },
      annotations: { priority: 1, lastModified: "1999-12-31T00:00:00Z" },
      own: 1,
    };
    const known = { ...hello, annotations: { priority: 1 }, own: 1 };
    const roots = { roots: [{ uri: "file:///a", _meta: { b: 2 }, own: 1 }] };
    for (const version of all) {
      const isOld = version < "2025-06-18";
      expect(encodeSample(version, rich)).toEqual(sample(isOld ? known : rich));
      const sent = encodeAnswer(revision(version), "roots/list", roots);
      expect(sent).toEqual(isOld ? { roots: [{ uri: "file:///a", own: 1 }] } : roots);
    }
  });

  test("removes `_meta` in a stateless request, except from a message", () => {
    const accept = { action: "accept", content: { a: 1 }, _meta: { a: 1 }, own: 1 };
    const { _meta, ...bare } = accept;
    for (const version of all) {
      const isBare = version === "2026-07-28";
      expect(encodeAnswer(revision(version), "elicitation/create", accept)).toEqual(isBare ? bare : accept);
      expect(encodeAnswer(revision(version), "roots/list", { roots: [], _meta })).toEqual(
        isBare ? { roots: [] } : { roots: [], _meta },
      );
      expect(encodeSample(version, hello)).toEqual(sample(hello));
    }
  });
});
