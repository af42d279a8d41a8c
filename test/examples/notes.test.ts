import { describe, expect, test } from "vitest";
import type { RawPeer } from "../kit/raw-peer.ts";
import type { RevisionDate } from "../kit/revisions.ts";
import { oldestAndNewest, start, subscribe } from "./example.ts";

const startNotes = (revision: RevisionDate): Promise<RawPeer> => start("examples/notes/server.mjs", { revision });

async function listedNames(peer: RawPeer): Promise<string[]> {
  const { result } = await peer.request("resources/list");
  return result.resources.map(({ name }: { name: string }) => name);
}

const received = (peer: RawPeer, method: string) => peer.notifications.filter((message) => message.method === method);

describe.each(oldestAndNewest)("the notes server on %s", (revision) => {
  test("lists its tools with their JSON Schemas unchanged", async () => {
    const peer = await startNotes(revision);
    const { result } = await peer.request("tools/list");
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([
      "add_note",
      "delete_note",
      "edit_note",
      "find_notes",
    ]);
    expect(result.tools[0].inputSchema).toEqual({
      type: "object",
      properties: {
        title: { type: "string", minLength: 1, maxLength: 100 },
        text: { type: "string", maxLength: 100_000, description: "Markdown" },
      },
      required: ["title", "text"],
    });
  });

  test("announces, lists, reads and finds a new note", async () => {
    const peer = await startNotes(revision);
    await subscribe(peer, []);
    expect(await listedNames(peer)).toEqual(["All notes"]);
    await peer.callTool("add_note", { title: "Milk", text: "Two bottles" });
    await peer.notification("notifications/resources/list_changed");
    expect(await listedNames(peer)).toEqual(["All notes", "Milk"]);
    const { result: read } = await peer.request("resources/read", { uri: "notes:///all/note-1" });
    expect(read.contents[0]).toMatchObject({ mimeType: "text/markdown", text: "Two bottles" });
    const { result: all } = await peer.request("resources/read", { uri: "notes:///all" });
    expect(all.contents[0].text).toBe("# Milk\n\nTwo bottles\n");
    const { result: found } = await peer.callTool("find_notes", { word: "bottle" });
    expect(JSON.parse(found.content[0].text).notes).toMatchObject([{ id: "note-1", title: "Milk" }]);
    const { result: missed } = await peer.callTool("find_notes", { word: "bread" });
    expect(JSON.parse(missed.content[0].text)).toEqual({ notes: [] });
  });

  test("notifies of an edit of a subscribed note, and not of another note", async () => {
    const peer = await startNotes(revision);
    await peer.callTool("add_note", { title: "Milk", text: "Two bottles" });
    await peer.callTool("add_note", { title: "Bread", text: "One loaf" });
    await subscribe(peer, ["notes:///all/note-2"]);
    await peer.callTool("edit_note", { id: "note-1", text: "Three bottles" });
    await peer.callTool("edit_note", { id: "note-2", text: "Two loaves" });
    await peer.notification("notifications/resources/updated");
    const uris = received(peer, "notifications/resources/updated").map(({ params }) => params?.["uri"]);
    expect(uris).toEqual(["notes:///all/note-2"]);
  });

  test("notifies a subscriber of all notes of each change", async () => {
    const peer = await startNotes(revision);
    await subscribe(peer, ["notes:///all"]);
    await peer.callTool("add_note", { title: "Milk", text: "Two bottles" });
    await peer.callTool("edit_note", { id: "note-1", text: "Three bottles" });
    await peer.settled();
    const uris = received(peer, "notifications/resources/updated").map(({ params }) => params?.["uri"]);
    expect(uris).toEqual(["notes:///all", "notes:///all/note-1"]);
  });

  test("announces and removes a deleted note, and does not reuse its number", async () => {
    const peer = await startNotes(revision);
    await subscribe(peer, []);
    await peer.callTool("add_note", { title: "Milk", text: "Two bottles" });
    await peer.settled();
    const before = received(peer, "notifications/resources/list_changed").length;
    const { result: deleted } = await peer.callTool("delete_note", { id: "note-1" });
    expect(deleted.content[0].text).toBe('Deleted "Milk"');
    await peer.until(() => received(peer, "notifications/resources/list_changed").length > before);
    expect(await listedNames(peer)).toEqual(["All notes"]);
    const { error } = await peer.request("resources/read", { uri: "notes:///all/note-1" });
    expect(error?.code).toBe(revision === "2024-11-05" ? -32002 : -32602);
    const { result: again } = await peer.callTool("delete_note", { id: "note-1" });
    expect(again).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("There is no note-1") }] });
    const { result: added } = await peer.callTool("add_note", { title: "Bread", text: "One loaf" });
    expect(JSON.parse(added.content[0].text).id).toBe("note-2");
  });

  test("rejects arguments that do not fit the schema, and names the fields", async () => {
    const peer = await startNotes(revision);
    const { result } = await peer.callTool("add_note", { title: "", text: 5 });
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toMatch(/title.*text|text.*title/);
    expect(await listedNames(peer)).toEqual(["All notes"]);
  });
});
