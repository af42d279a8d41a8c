import type { AttachedResource, ConversationHead, Verbs } from "../../api.ts";
import { type ConsolePage, usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";

/** A prompt of a server with its arguments. */
export type ChosenPrompt = NonNullable<Verbs["conversation.send"]["takes"]["prompt"]>;

/** The choices for a conversation. */
export interface TalkChoices {
  readonly model?: string;
  readonly off: readonly string[];
  readonly attached: readonly AttachedResource[];
}

/** A conversation, or one that begins with its first message. */
export interface Talk extends TalkChoices {
  readonly head: ConversationHead | undefined;
  change(choices: Partial<TalkChoices>): Promise<void>;
  send(message: { readonly text?: string; readonly prompt?: ChosenPrompt }): Promise<void>;
}

const nothing: TalkChoices = { off: [], attached: [] };

/** The conversation with this id, or a new one. */
export function useTalk(id: string | undefined): Talk {
  const page = usePage();
  if (id === undefined) return newTalk(page);
  const head = page.store.conversations.get(id).value;
  return {
    head,
    ...(head?.model === undefined ? {} : { model: head.model }),
    off: head?.off ?? [],
    attached: head?.attached ?? [],
    async change({ model, off, attached }) {
      await page.api.change("conversation.change", {
        id,
        ...(model === undefined ? {} : { model }),
        ...(off === undefined ? {} : { off }),
        ...(attached === undefined ? {} : { attached: attached.map(toPlain) }),
      });
    },
    async send(message) {
      await page.api.change("conversation.send", { id, ...message });
    },
  };
}

/** A conversation that does not exist yet: its choices are kept here until the first message creates it. */
function newTalk(page: ConsolePage): Talk {
  const choices = page.drafts.get<TalkChoices>("new conversation", nothing);
  const model = choices.value.model ?? page.store.settings.value.model ?? page.store.models.value[0]?.id;
  return {
    head: undefined,
    ...(model === undefined ? {} : { model }),
    off: choices.value.off,
    attached: choices.value.attached,
    async change(changed) {
      choices.value = { ...choices.peek(), ...changed };
    },
    async send(message) {
      const { off, attached } = choices.peek();
      const { id } = await page.api.change("conversation.create", model === undefined ? {} : { model });
      if (off.length > 0 || attached.length > 0) {
        await page.api.change("conversation.change", { id, off, attached: attached.map(toPlain) });
      }
      await page.api.change("conversation.send", { id, ...message });
      page.drafts.drop("new conversation");
      goTo(hrefOf("chat", id));
    },
  };
}

function toPlain({ server, uri, name }: AttachedResource): Omit<AttachedResource, "tokens" | "isChanged"> {
  return { server, uri, name };
}

/** True if a tool is switched off. */
export function isOff(off: readonly string[], server: string, tool: string): boolean {
  return off.includes(`${server}.*`) || off.includes(`${server}.${tool}`);
}
