import type { ContextTokens } from "../../api.ts";
import { ApiRefusal } from "../failure.ts";
import { list, map, name, object, oneOf, optional, text } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";
import type { Conversations } from "./conversations.ts";

export type ConversationVerb =
  | `conversation.${"create" | "blocks" | "change" | "remove" | "send" | "cancel" | "continue"}`
  | "preview";

const id = { id: name };
const message = text(500_000);

export function conversationVerbs(
  conversations: Conversations,
  hasModel: (id: string) => boolean,
): VerbTable<ConversationVerb> {
  return {
    "conversation.create": changes({ model: optional(name) }, async ({ model }) => ({
      id: await conversations.create(model),
    })),
    "conversation.blocks": reads(id, async (takes) => ({ blocks: (await conversations.get(takes.id)).blocks })),
    "conversation.change": changes(
      {
        ...id,
        title: optional(text(500)),
        model: optional(name),
        off: optional(list(text(500, 1), 5_000)),
        attached: optional(list(object({ server: name, uri: name, name }), 100)),
      },
      async ({ id: wanted, request: _, ...changed }) => {
        const conversation = await conversations.get(wanted);
        const { model } = changed;
        if (model !== undefined && !hasModel(model)) throw new ApiRefusal("not-found", "There is no such model.");
        const before = conversation.head.attached;
        const attached = changed.attached?.map(
          (one) => before.find(({ server, uri }) => server === one.server && uri === one.uri) ?? one,
        );
        await conversation.change({ ...changed, ...(attached && { attached }) });
        if (attached) conversations.measure(conversation);
        return {};
      },
    ),
    "conversation.remove": changes(id, async (takes) => {
      await conversations.remove(takes.id);
      return {};
    }),
    "conversation.send": changes(
      {
        ...id,
        text: optional(message),
        prompt: optional(object({ server: name, name, args: map(text()) })),
      },
      async ({ id: wanted, text: said, prompt }) => {
        const conversation = await conversations.get(wanted);
        if (!prompt && (said ?? "").trim() === "") {
          throw new ApiRefusal("invalid", "The message is empty.", { paths: [{ path: "text", message: "is empty" }] });
        }
        const more = said === undefined || said === "" ? {} : { text: said };
        await conversation.send(
          prompt ? { server: prompt.server, prompt: prompt.name, args: { ...prompt.args }, ...more } : (said ?? ""),
        );
        return {};
      },
    ),
    "conversation.cancel": changes(id, async (takes) => {
      (await conversations.get(takes.id)).cancel();
      return {};
    }),
    "conversation.continue": changes(
      { ...id, uncertain: optional(oneOf("ask-again", "tell-model")) },
      async ({ id: wanted, uncertain }) => {
        await (await conversations.get(wanted)).continue(uncertain);
        return {};
      },
    ),
    preview: reads(
      { ...id, text: optional(message) },
      async ({ id: wanted, text: said = "" }): Promise<ContextTokens> => {
        const conversation = await conversations.get(wanted);
        return conversation.preview(said);
      },
    ),
  };
}
