// The official view in an app that offers tools: the script of its document.
import { App, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-with-deps";
import { z } from "zod";

const view = new App({ name: "official", version: "1.0.0" }, { tools: { listChanged: true } }, { autoResize: false });
const board = ["X", "-", "-"];

view.registerTool(
  "get_board",
  {
    description: "Returns the board",
    outputSchema: z.object({ board: z.array(z.string()) }),
    annotations: { readOnlyHint: true },
  },
  async () => ({ content: [{ type: "text", text: board.join("") }], structuredContent: { board } }),
);

view.registerTool(
  "make_move",
  { description: "Plays", inputSchema: z.object({ position: z.number().int().min(0).max(2) }) },
  async ({ position }) => {
    board[position] = "O";
    document.body.textContent = board.join("");
    // From now on there is something to undo.
    if (!undo.enabled) undo.enable();
    return { content: [{ type: "text", text: `Played at ${position}` }] };
  },
);

const undo = view.registerTool("undo", { description: "Takes the last move back" }, async () => ({
  content: [{ type: "text", text: "Undone" }],
}));
undo.disable();

view.onteardown = async () => ({});
await view.connect(new PostMessageTransport(window.parent, window.parent));
